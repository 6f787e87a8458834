"""Files that fairc has stored and that are not what they were: bits, ends, kinds; then the same
command again.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from functools import cache
from pathlib import Path

from fairc.compiler.record import FILES
from fairc.runtime.store import occupant
from torture import inspection
from torture.fault import Try, fault, require, stage
from torture.sandbox import Sandbox, no_report

from .documents import finished


def damage(rng: random.Random, path: Path) -> str:
    """Damage a file; return what was done."""
    size = path.stat().st_size
    kind = rng.choice(
        ["a bit", "a bit", "cut off", "cut off", "emptied", "zeros", "longer", "gone", "odd"]
    )
    if size == 0 and kind in ("a bit", "cut off", "zeros"):
        kind = "longer"
    at = rng.randrange(size) if size else 0
    match kind:
        case "a bit":
            with path.open("r+b") as file:
                file.seek(at)
                byte = file.read(1)[0] ^ 1 << rng.randrange(8)
                file.seek(at)
                file.write(bytes([byte]))
            return f"a bit of {path.name} flipped"
        case "cut off":
            os.truncate(path, at)
        case "emptied":
            os.truncate(path, 0)
        case "zeros":
            with path.open("r+b") as file:
                file.seek(at)
                file.write(bytes(min(4096, size - at)))
        case "longer":
            with path.open("ab") as file:
                file.write(rng.randbytes(100))
        case "gone":
            path.unlink()
        case _:
            return _odd(rng, path)
    return f"{path.name} {kind}"


def _odd(rng: random.Random, path: Path) -> str:
    """Put something else where a file is."""
    path.unlink()
    kind = rng.choice(["a pipe", "a folder", "a dangling link", "a file that cannot be read"])
    match kind:
        case "a pipe":
            os.mkfifo(path)
        case "a folder":
            path.mkdir()
        case "a dangling link":
            path.symlink_to("/nonexistent/x")
        case _:
            path.write_bytes(b"")
            path.chmod(0)
    return f"{path.name} is {kind}"


@fault("damage.run", weight=2, short=5, wanted=5_000)
def results(one: Try) -> str:
    """Flip a bit of a file of a run, truncate, zero, extend or empty it, or replace it by a pipe, a
    folder or a link; in three of four tries `table`, `report` or `compare`; then the command that
    made the run: harmless or repaired, the same hashes, the same table (an unreadable lock.json is
    refused until it is removed: only it records when metrics were declared; so is the copy of
    the spec, which a user may have edited; and a damaged files.json until the report is removed:
    only it tells whose that is).
    """
    rng, sandbox = one.rng, Sandbox(one.folder)
    run = sandbox.work / "run"
    shutil.copytree(finished() / "run", run)
    known = inspection.hashes(run)
    spec = shutil.copy(finished() / "sandbox/work/tiny.fexp", sandbox.work)
    again = ("run", Path(spec).name, "-o", "run")
    raw = rng.random() < 0.7  # what is computed is computed again: less of it
    found = [p for p in inspection.files(run) if p.suffix not in (".svg", ".pdf")]
    chosen = [p for p in found if "cells" in p.parts or p.suffix == ".json"] if raw else found
    path = rng.choice(chosen)
    one.what = damage(rng, path)
    reading = rng.choice(
        [(), ("table", "run", "goodput"), ("report", "run"), ("compare", "run", "run")]
    )
    if reading:
        with stage(reading[0]):
            sandbox.call(*reading, patch=no_report).require(0, 1, 2, 3)
    with stage("run again"):
        ended = sandbox.call(*again, patch=None if one.number % 10 == 0 else no_report)
        ended.require(0, 1, 2, 3)
        sandbox.require_nothing_left()
        if ended.status == 2 and one.what.endswith(
            ("a folder", "a pipe", "a dangling link", "read")
        ):
            return "refused: not a file"
        if ended.status == 2 and path == run / FILES:
            # Only it tells that the page and the figures are fairc's, so they are not replaced
            # until they are gone.
            for name in (FILES, *occupant.REPORTS):
                (run / name).unlink(missing_ok=True)
            shutil.rmtree(run / "figures", ignore_errors=True)
            ended = sandbox.call(*again, patch=no_report)
        if ended.status == 2 and path.name == "lock.json":
            # It knows when metrics were declared, and nothing else does: `fairc verify` says what
            # to do.
            path.unlink(missing_ok=True)
            ended = sandbox.call(*again, patch=no_report)
        if ended.status == 2 and run / "spec" in path.parents:
            # A user may have edited it, so it is not replaced until it is gone.
            path.unlink(missing_ok=True)
            ended = sandbox.call(*again, patch=no_report)
        ended.require(0)
        sandbox.require_results(known, "run")
    tables = sandbox.call("table", "run", "goodput").require(0)
    require(tables.out == table(), "another table")
    return "harmless, or repaired"


@cache
def table() -> str:
    """Return what `fairc table` says of the run that was not damaged."""
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        sandbox = Sandbox(Path(folder))
        shutil.copytree(finished() / "run", sandbox.work / "run")
        return sandbox.call("table", "run", "goodput").out

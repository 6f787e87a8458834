"""Files that fairc has stored and that are not what they were: bits, ends, kinds; then the same command again."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from functools import cache
from pathlib import Path

from . import inspection
from .documents import finished
from .kills import lacks
from .sandbox import Sandbox, no_report, preload
from .strategy import Outcome, Strategy, dice


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


def results(seed: int, number: int, folder: Path) -> Outcome:
    """Damage a file of a finished run; run again; every cell's result is what it was."""
    rng, sandbox = dice(seed, number, "damage.run"), Sandbox(folder)
    run = sandbox.work / "run"
    shutil.copytree(finished() / "run", run)
    known = inspection.hashes(run)
    spec = shutil.copy(finished() / "sandbox/work/tiny.fexp", sandbox.work)
    raw = rng.random() < 0.7  # what is computed is computed again: less of it
    found = [p for p in inspection.files(run) if p.suffix not in (".svg", ".pdf")]
    chosen = [p for p in found if "cells" in p.parts or p.suffix == ".json"] if raw else found
    path = rng.choice(chosen)
    what = damage(rng, path)
    reading = rng.choice(
        [(), ("table", "run", "goodput"), ("report", "run"), ("compare", "run", "run")]
    )
    if reading:
        ended = sandbox.call(*reading, patch=no_report)
        if problem := ended.problem(0, 1, 2, 3):
            return Outcome("problem", f"{reading[0]}: {problem} ({what})")
    ended = sandbox.call(
        "run", Path(spec).name, "-o", "run", patch=None if number % 10 == 0 else no_report
    )
    problem = ended.problem(0, 1, 2, 3) or sandbox.leftovers()
    if problem:
        return Outcome("problem", f"run again: {problem} ({what})")
    if ended.status == 2 and what.endswith(("a folder", "a pipe", "a dangling link", "read")):
        return Outcome("refused: not a file")
    if ended.status != 0:
        return Outcome("problem", f"run again: status {ended.status}: {ended.err[-200:]} ({what})")
    if inspection.hashes(run) != known:
        return Outcome("problem", f"run again: other results ({what})")
    tables = sandbox.call("table", "run", "goodput")
    if tables.status != 0 or tables.out != table():
        return Outcome("problem", f"another table, status {tables.status}: {tables.last} ({what})")
    return Outcome("harmless, or repaired")


@cache
def table() -> str:
    """Return what `fairc table` says of the run that was not damaged."""
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        sandbox = Sandbox(Path(folder))
        shutil.copytree(finished() / "run", sandbox.work / "run")
        return sandbox.call("table", "run", "goodput").out


def cache_of(engine: str, seed: int, number: int, folder: Path) -> Outcome:
    """Damage a file of a cache of our own that an engine needs; it is noticed, or harmless."""
    from fairc.runtime.uml import kernel
    from fairc.runtime.vm import image, recipe

    from .kills import CASES, reference

    preload()
    known = reference(engine)
    rng, sandbox = dice(seed, number, f"damage.{engine}"), Sandbox(folder, engine)
    real, own = recipe.cache_directory(), folder / "cache" / "fairc"
    kernel_folder, image_folder = (
        kernel.require().program.parent,
        image.require(recipe.PLAIN).root.parent,
    )
    for source in (kernel_folder, image_folder):
        target = own / source.relative_to(real)
        target.mkdir(parents=True)
        for path in inspection.files(source):
            (target / path.relative_to(source)).parent.mkdir(exist_ok=True)
            (target / path.relative_to(source)).symlink_to(path)
    sandbox.cache = own.parent
    names = (
        ["manifest.json", "kernel"] if engine == "uml" else ["manifest.json", "vmlinuz", "busybox"]
    )
    links = [p for p in sorted(own.rglob("*")) if p.is_symlink() and p.name in names]
    path = rng.choice(links)
    whole = path.resolve()
    path.unlink()
    shutil.copy(whole, path)
    what = damage(rng, path)
    case = CASES[engine]
    from . import network

    network.write(case.spec, sandbox.work)
    ended = sandbox.call(*case.command, patch=no_report)
    problem = ended.problem(0, 1, 3) or sandbox.leftovers()
    if not problem and ended.status in (0, 1):
        if inspection.hashes(sandbox.work / "out") != known.hashes:
            problem = f"not noticed, and other results or failed cells: {ended.out.strip()[-100:]}"
        ending = "harmless"
    else:
        ending = "noticed"
    return Outcome("problem" if problem else ending, problem and f"{problem} ({what})")


def _cache_strategy(engine: str) -> Strategy:
    def attempt(seed: int, number: int, folder: Path) -> Outcome:
        return cache_of(engine, seed, number, folder)

    return Strategy(
        f"damage.{engine}",
        f"a file of the kernel or image of {engine} in a cache of its own damaged, then a run: noticed (exit status 3)"
        " or harmless (the same hashes)",
        attempt,
        lacking=lambda: lacks(engine),
        weight=0.5,
        wanted=1000,
    )


STRATEGIES = (
    Strategy(
        "damage.run",
        "a bit flipped, the end cut off, zeros, more, nothing, a pipe, a folder or a link in place of a file of a run;"
        " in three of four tries `table`, `report` or `compare`; then the command that made the run: harmless or"
        " repaired, the same hashes, the same table",
        results,
        weight=2,
        short=8,
        wanted=5_000,
    ),
    _cache_strategy("uml"),
)

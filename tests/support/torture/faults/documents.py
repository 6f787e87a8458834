"""Plans, runs and job folders from a stranger: every string, number and list of their documents, on
the fake engine.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import hostile
from specs import compilation_of

from fairc.cell.seeds import canonical, identity
from fairc.compiler.plan import cell_json, parse_cell
from fairc.compiler.plan.identity import identity_of
from torture import inspection, network
from torture.fault import Try, fault
from torture.sandbox import Sandbox, no_report, preload

LIMIT_S = 60.0
COMPILED = ("tiny", "rich", "policed", "pages")
READING = (
    ("table", "run", "goodput"),
    ("report", "run"),
    ("compare", "run", "run"),
    ("run", "run", "-o", "run"),
    ("clean", "--raw", "run"),
    ("table", "run", "goodput", "--format", "csv"),
)


@cache
def plan(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header and the cells of a compiled spec."""
    preload()
    compilation = compilation_of(network.SPECS[name], f"{name}.fexp", "fake")
    cells = [json.loads(cell_json(cell)) for cell in compilation.cells()]
    return json.loads(compilation.plan.model_dump_json()), cells


def genuine(text: str) -> str:
    """Give a cell the names that are the hashes of its content, as whoever changes one can."""
    try:
        cell = parse_cell(text)
    except ValueError:
        return text
    cell = replace(cell, configuration=identity(canonical(cell.bindings)))
    return cell_json(replace(cell, id=identity_of(cell)))


def _tried(one: Try, sandbox: Sandbox, *command: str) -> str:
    """Give something hostile to a command, every tenth time with a report; return how it ended."""
    own = (sandbox.work / name for name in ("out", "run", "bad", "plan", "fresh"))
    patch = None if one.number % 10 == 0 else no_report
    with inspection.untouched(one.folder, *own, sandbox.said):
        ended = sandbox.call(*command, patch=patch).require(0, 1, 2)
        sandbox.require_nothing_left()
    return {0: "taken", 1: "taken, not all valid"}.get(ended.status or 0, "refused")


@fault("documents.plan", short=15, wanted=20_000)
def plans(one: Try) -> str:
    """Replace a string, number, list or line of plan.json or cells.jsonl, in 4 plans, on the fake
    engine: accepted or refused, no internal error, no hang, no control character, nothing written
    outside the run.
    """
    rng, sandbox = one.rng, Sandbox(one.folder)
    header, cells = plan(rng.choice(COMPILED))
    bad = sandbox.work / "bad"
    bad.mkdir()
    texts = [json.dumps(header), *(json.dumps(cell) for cell in cells)]
    if rng.random() < 0.1:
        one.what, texts[1:] = _lines(rng, texts[1:])
    else:
        which = rng.choice([0, rng.randrange(1, len(texts))])
        one.what, texts[which] = hostile.mutant(rng, cells[which - 1] if which else header)
        if which and rng.random() < 0.7:
            texts[which] = genuine(texts[which])
    _write(bad / "plan.json", texts[0])
    _write(bad / "cells.jsonl", "".join(f"{text}\n" for text in texts[1:]))
    return _tried(one, sandbox, "run", "bad", "-o", "out")


def _lines(rng: random.Random, lines: list[str]) -> tuple[str, list[str]]:
    """Return what was done to the lines of cells.jsonl, and what they are now."""
    return rng.choice(
        [
            ("a line twice", [*lines, lines[0]]),
            ("a line less", lines[1:]),
            ("no lines", []),
            ("empty lines", [*lines, "", ""]),
            ("another order", lines[::-1]),
            ("a thousand times", lines * 1000),
            ("one long line", ["".join(lines)]),
            ("nulls", ["\0" * 1000, *lines]),
        ]
    )


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="surrogatepass")


@cache
def finished() -> Path:
    """Return a folder with a run, `run`, and a plan whose cells have been run as jobs, `plan`."""
    preload()
    made = Path(
        tempfile.mkdtemp(prefix="torture-")
    )  # whoever tries has a temporary folder that goes
    inside = made / "sandbox"
    inside.mkdir()
    sandbox = Sandbox(inside)
    network.write("tiny", sandbox.work)
    for arguments in (
        ("run", "tiny.fexp", "-o", "run", "-q"),
        ("compile", "tiny.fexp", "-o", "plan", "--target", "json"),
        ("cell", "plan", "--index", "0-3"),
    ):
        ended = sandbox.call(*arguments)
        assert ended.status == 0, ended.err
    for name in ("run", "plan"):
        (sandbox.work / name).rename(made / name)
    return made


@fault("documents.run", short=15, wanted=20_000)
def runs(one: Try) -> str:
    """The same in lock.json, result.json, plan.json or cells.jsonl of a run; then `table`,
    `report`, `compare`, `run` or `clean`.
    """
    rng, sandbox = one.rng, Sandbox(one.folder)
    run = sandbox.work / "run"
    shutil.copytree(finished() / "run", run)
    chosen = rng.choice(["lock.json", "plan.json", "cells.jsonl", "result.json", "result.json"])
    path = rng.choice([*run.glob(chosen), *sorted(run.glob(f"cells/*/{chosen}"))])
    lines = path.read_text().splitlines() if chosen == "cells.jsonl" else [path.read_text()]
    at = rng.randrange(len(lines))
    what, lines[at] = hostile.mutant(rng, json.loads(lines[at]))
    _write(path, "".join(f"{line}\n" for line in lines))
    command = rng.choice(READING)
    one.what = f"{chosen}: {what}; {' '.join(command)}"
    return _tried(one, sandbox, *command)


@fault("documents.job", short=10, wanted=20_000)
def jobs(one: Try) -> str:
    """The same in made.json or result.json of a job's result, or put a pipe, a link, a folder or a
    device in their place; then `run --collect`.
    """
    rng, sandbox = one.rng, Sandbox(one.folder)
    shutil.copytree(finished() / "plan", sandbox.work / "plan")
    cell = rng.choice(sorted((sandbox.work / "plan/results").glob("*/made.json"))).parent
    path = cell / rng.choice(["made.json", "result.json"])
    if rng.random() < 0.15:
        what = _odd(rng, path)
    else:
        what, text = hostile.mutant(rng, json.loads(path.read_text()))
        _write(path, text)
    one.what = f"{path.name}: {what}"
    return _tried(one, sandbox, "run", "plan", "--collect", "-o", "out")


def _odd(rng: random.Random, path: Path) -> str:
    """Put something else where a file is; return what."""
    what = rng.choice(["pipe", "folder", "link out", "link to itself", "device", "more"])
    if what != "more":
        path.unlink()
    match what:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link out":
            path.symlink_to("/etc/hostname")
        case "link to itself":
            path.symlink_to(path.name)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            (path.parent / "x\n\x1b[2J").mkdir()
            (path.parent / "raw.tar.zst").unlink()
            (path.parent / "raw.tar.zst").symlink_to("/dev/zero")
    return what

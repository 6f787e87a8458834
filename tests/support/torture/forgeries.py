"""Packs and runs of somebody who forges results: cells exchanged, the worst deleted, values and
pages rewritten; every hash mended.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import forgery

from . import network
from .sandbox import Ended, Sandbox, no_report, preload
from .strategy import Outcome, Strategy, dice

CLAIM = '  claim "a arrives" { holds = median(goodput, flow: a) > 1kbit/s }\n'
PAGES = ("page", "figure", "pdf")
RENAMED = "exchanged and renamed"  # only raw artefacts, or the cells run again, show it


def _made(patch: Callable[[], None] | None) -> Path:
    """Return a folder with a finished run of eight repetitions, `run`, and its packs without and
    with raw artefacts.
    """
    preload()
    sandbox = Sandbox(Path(tempfile.mkdtemp(prefix="torture-")))
    text = network.SPECS["tiny"]
    sandbox.spec(text[: text.rindex("}")] + CLAIM + "}\n")
    for arguments in (
        ("run", "tiny.fexp", "-o", "run", "--set", "repeat=8", "-q"),
        ("pack", "run", "-o", "p.zip"),
        ("pack", "run", "-o", "raw.zip", "--with-raw"),
    ):
        ended = sandbox.call(*arguments, patch=patch)
        assert ended.status == 0, ended.err
    return sandbox.work


@cache
def without_page() -> Path:
    """Return these of a fairc that writes no report, which takes longest."""
    return _made(no_report)


@cache
def with_page() -> Path:
    """Return these with the report."""
    return _made(None)


def _forged(rng: random.Random, name: str, files: forgery.Files) -> None:
    forgery.FORGERIES[name](rng, files)
    forgery.mend(files)


def _first(ended: Ended) -> str:
    return ended.out.splitlines()[0] if ended.out else ""


def _pack(rng: random.Random, sandbox: Sandbox, name: str) -> str:
    """Verify a forged pack; return what is wrong about the answer."""
    page = name in PAGES
    home = with_page() if page else without_page()
    files = forgery.read(home / rng.choice(["p.zip", "raw.zip"]))
    if name != "nothing":
        _forged(rng, name, files)
    else:
        forgery.mend(files)
    forgery.write(sandbox.work / "p.zip", files)
    ended = sandbox.call("verify", "p.zip", "--all", patch=None if page else no_report)
    if problem := ended.problem(0, 1) or sandbox.leftovers():
        return problem
    holds = name == "nothing"
    said = "p.zip holds: " if holds else "p.zip does not hold: "
    if ended.status != (0 if holds else 1) or not _first(ended).startswith(said):
        return f"status {ended.status}: {_first(ended)}"
    return ""


def _run(rng: random.Random, sandbox: Sandbox, name: str) -> str:
    """Verify a forged run directory, and make a table of it; return what is wrong about the
    answers.
    """
    run = sandbox.work / "run"
    shutil.copytree(without_page() / "run", run)
    files = forgery.folder_files(run)
    _forged(rng, name, files)
    forgery.write_folder(run, files)
    ended = sandbox.call("verify", "run", "--format", "json")
    if problem := ended.problem(0, 1) or sandbox.leftovers():
        return problem
    if ended.status != 1 or json.loads(ended.out)["whole"]:
        return f"the run is whole: status {ended.status}"
    if name not in forgery.EXCHANGED or name == RENAMED:
        return ""
    command = rng.choice(
        [("table", "run", "goodput"), ("report", "run"), ("compare", "run", "run")]
    )
    read = sandbox.call(*command, patch=no_report)
    return read.problem(2) and f"{command[0]}: {read.problem(2)}"


def _tried(group: str, names: list[str], runs: list[str]) -> Callable[[int, int, Path], Outcome]:
    """Return the attempts of a class of forgeries.

    names: of forgeries of packs; runs: those that are made of runs, too.
    """

    def attempt(seed: int, number: int, folder: Path) -> Outcome:
        rng, sandbox = dice(seed, number, f"forgeries.{group}"), Sandbox(folder)
        if number % 20 == 19:  # who forges nothing is not accused
            problem = _pack(rng, sandbox, "nothing")
            return Outcome("nothing forged: holds", problem)
        in_run = bool(runs) and rng.random() < 0.5
        name = rng.choice(runs if in_run else names)
        problem = (_run if in_run else _pack)(rng, sandbox, name)
        what = f"{name}, in a {'run' if in_run else 'pack'}"
        return Outcome(
            "problem" if problem else f"found: {name}", problem and f"{problem} ({what})"
        )

    return attempt


STRATEGIES = (
    Strategy(
        "forgeries.exchanged",
        "exchanges results between cells of a pack or a run: their folders, with or without"
        " the names inside, their ids in the plan, what"
        " configurations are called, with or without its hash; all hashes mended: `verify`"
        " does not hold, and `report`, `table` and"
        " `compare` of a run refuse",
        _tried("exchanged", [*forgery.EXCHANGED], [*forgery.EXCHANGED]),
        short=3,
        wanted=1000,
    ),
    Strategy(
        "forgeries.cherry-picked",
        "deletes the five worst cells of a configuration from a pack or a run, in its plan"
        " too or not, or has them count as invalid or"
        " failed; all hashes mended: `verify` does not hold",
        _tried("cherry-picked", [*forgery.CHERRY_PICKED], [*forgery.CHERRY_PICKED]),
        short=3,
        wanted=1000,
    ),
    Strategy(
        "forgeries.rewritten",
        f"rewrites one of {len(forgery.REWRITTEN)} things in a pack: each field of a result, a"
        f" metric twice or not a number, series, tables, report,"
        " figures, README, citation, metadata, claims and their bounds, records of hashes, a"
        " file more; all hashes mended: `verify --all`"
        " does not hold; every 20th pack is not forged and holds",
        _tried(
            "rewritten", [*forgery.REWRITTEN], ["better", "series", "table", "no records", "twice"]
        ),
        weight=1.5,
        short=4,
        wanted=2000,
    ),
)

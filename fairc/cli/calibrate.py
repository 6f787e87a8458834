"""`fairc calibrate`: run a fixed suite on an engine and compare it with theory."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

from fairc.compiler.engine_choice import VIRTUAL_TIME
from fairc.runtime import engines
from fairc.runtime.calibration.cases import CASES
from fairc.runtime.calibration.suite import SPEED, Bench, obstacle, slower_than
from fairc.runtime.calibration.suite import calibrate as measure
from fairc.runtime.calibration.table import as_json, as_markdown, as_text
from fairc.runtime.engines.kept_calibration import keep

from . import console, interruption
from .failures import Status, UsageError
from .sources import requested_engine

RESULTS = Path("results") / "calibration"

ELSEWHERE = "name another engine: `fairc calibrate --engine NAME --case NAME`"


def calibrate(
    engine: str | None, output: Path | None, jobs: int, chosen: tuple[str, ...], form: str
) -> int:
    """Run a fixed suite on an engine and compare it with theory."""
    known = [*(case.name for case in CASES), SPEED]
    if unknown := [name for name in chosen if name not in known]:
        raise UsageError(f"there is no case `{unknown[0]}`; known: {', '.join(known)}")
    tested = engines.make(requested_engine(engine) or VIRTUAL_TIME[0], console.say)
    cases = [case for case in CASES if not chosen or case.name in chosen]
    obstacles = [obstacle(case, tested) for case in cases]
    slower = slower_than(tested.name, console.say) if not chosen or SPEED in chosen else None
    if SPEED in chosen and slower is None:
        obstacles.append("it has no processor whose speed could be halved")
    if obstacles and all(obstacles):
        raise UsageError(
            f"{tested.name} cannot run {' or '.join(chosen)}: {obstacles[0]}", ELSEWHERE
        )
    folder = output or RESULTS.with_name(f"{RESULTS.name}-{tested.name}")
    bench = Bench(folder, console.progress, jobs)
    with ExitStack() as stack:
        stack.enter_context(closing(tested))
        tested.prepare()
        if slower is not None:
            stack.enter_context(closing(slower))
            slower.prepare()
        interruption.keeps("finished cells are kept; the same command resumes")
        found = measure(tested, slower, bench, cases, console.say)
    if not chosen:
        console.say(f"kept as {keep(found.engine, found.identity, as_json(found))}")
    lines = {
        "text": lambda: "\n".join(as_text(found)),
        "md": lambda: "\n".join(as_markdown(found)),
        "json": lambda: as_json(found),
    }
    console.result(lines[form]())
    return Status.WELL if found.holds else Status.NOT_ALL_VALID

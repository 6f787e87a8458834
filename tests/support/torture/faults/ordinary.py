"""Nothing wrong at all: ordinary experiments, of which every cell has to be valid."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fairc import dsl
from fairc.compiler import compile
from fairc.dsl import CompileError, Source
from fairc.runtime.analysis.cells import ArtefactError, analyse
from fairc.runtime.engines.uml import UmlEngine
from torture.drawn import Drawn, draw
from torture.fault import Problem, Try, fault

from .kills import lacks


@cache
def engine() -> UmlEngine:
    """The engine of this process, prepared; the machines of several share the cores."""
    made = UmlEngine()
    made.pinned = False
    made.prepare()
    return made


@fault("ordinary.drawn", lacking=lambda: lacks("uml"), short=1, wanted=500)
def drawn(one: Try) -> str:
    """An ordinary experiment, drawn at random: one to three flows of common CCAs over TCP, MPTCP
    and QUIC, downloads and uploads, calls, pings, pages, videos, over presets and other networks,
    with all queues, and jitter, losses, a step or an outage now and then: it is not refused, and
    its cell is valid, or the reason is the author's and says so.
    """
    experiment = draw(one.rng)
    try:
        return judged(experiment, one.folder)
    except Problem as problem:
        print(f"\n--- {one.number}: {problem}\n{experiment.text}---", flush=True)
        raise


def judged(experiment: Drawn, folder: Path) -> str:
    """Check, run and analyse an experiment of one cell; return how that ended. Raises Problem."""
    try:
        found, said = dsl.load(Source("drawn.fexp", experiment.text), {})
        if found is None:
            errors = [each for each in said if each.severity is dsl.Severity.ERROR]
            if all(any(told in each.message for told in experiment.told) for each in errors):
                return "refused, by the author's doing"
            raise Problem("refused: " + "; ".join(f"{e.code}: {e.message}" for e in errors))
        compilation = compile(found, "uml")
        (cell,) = compilation.cells()
    except CompileError as error:
        raise Problem(f"refused: {error}") from None
    ran = engine().run(cell, folder)
    if ran.error:
        raise Problem(f"failed: {ran.error}")
    try:
        analysis = analyse(cell, ran.artefacts, compilation.plan.requests)
    except ArtefactError as error:
        raise Problem(f"failed: {error}") from None
    others = [r for r in analysis.reasons if not any(told in r for told in experiment.told)]
    if others:
        raise Problem(f"{analysis.verdict}: {' | '.join(others)}")
    return "valid" if analysis.verdict == "valid" else f"{analysis.verdict}, by the author's doing"

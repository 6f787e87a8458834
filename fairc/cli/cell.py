"""`fairc cell`: run single cells of the compiled plan in DIR, and store their results in
DIR/results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fairc.compiler.plan import Plan
from fairc.compiler.record import SPEC
from fairc.runtime.engines.base import PinningEngine
from fairc.runtime.host.clean import remove_temporary
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.run import cluster
from fairc.runtime.store.folder import read_cells, read_plan, runs_in

from . import console, interruption
from .failures import Status, UsageError
from .sources import engine_named, offering
from .targets import Allowed, refuse_unrequested


def cell(
    plan: Path,
    indices: str,
    chunk: int,
    engine: str | None,
    fresh: bool,
    allow_module: bool,
    allow_program: bool,
) -> int:
    """Run single cells of the compiled plan in DIR, and store their results in DIR/results."""
    if not plan.is_dir():
        raise UsageError(
            f"{plan} is not the folder of a compiled plan", "fairc compile FILE -o DIR"
        )
    plans = [(folder, read_plan(folder)) for folder in runs_in(plan).values()]
    wanted = list(chosen(indices, chunk, sum(header.cells for _, header in plans)))
    allowed = Allowed(modules=allow_module, programs=allow_program)
    parts = list(parts_of(plans, wanted))
    for part in parts:
        last = part.indices[-1:]
        list(cluster.cells_at(part.folder, part.plan, last))  # before anything is prepared
        part.refuse_engine(engine)
    interruption.end_on_sigterm()
    interruption.keeps("the cell is not finished; the same command runs it again")
    return max(part.run(allowed, fresh) for part in parts)


@dataclass(frozen=True, slots=True)
class Part:
    """Cells of one compiled plan, by their numbers in it, from 0; first: the number of its first
    cell among those of all experiments.
    """

    folder: Path
    plan: Plan
    first: int
    indices: Sequence[int]

    def refuse_engine(self, engine: str | None) -> None:
        """Raise UsageError if the plan is for another engine, or for one that must be named."""
        if engine and engine_named(engine).name != self.plan.engine:
            raise UsageError(
                f"{self.folder} is a plan for the engine {self.plan.engine}, and an experiment"
                " has one engine",
                f"compile it for the other one: fairc compile FILE -o DIR --engine {engine}",
            )
        if engine is None:
            refuse_unrequested(self.plan.engine, "plan")

    def run(self, allowed: Allowed, fresh: bool) -> int:
        """Run the cells, and store their results; return the exit status."""
        runner = engine_named(self.plan.engine).make(console.say)
        if isinstance(runner, PinningEngine):
            runner.pinned = False  # others like this one may be on the same machine
        allowed.tell(runner, self.folder / SPEC)
        status = Status.WELL

        def told(index: int, result: CellResult, ran: bool) -> None:
            nonlocal status
            word = result.verdict or result.status
            there = "" if ran else ", already done"
            tell = console.outcome if word == "valid" else console.result
            tell(f"cell {self.first + index} ({result.cell}): {word}{there}")
            for reason in filter(None, (result.error, *result.reasons)):
                console.complain(f"  {reason}")
            if word != "valid":
                status = Status.NOT_ALL_VALID

        again = "compile it again, into another folder, with `--engine {}`"
        cells = partial(read_cells, self.folder)
        with offering(self.plan.engine, cells, again), closing(runner):
            remove_temporary()  # left over from killed runs
            runner.prepare()
            cluster.run(self.folder, self.plan, self.indices, runner, told, fresh)
        return status


def parts_of(plans: Iterable[tuple[Path, Plan]], wanted: Sequence[int]) -> Iterator[Part]:
    """Yield what is wanted of each plan, if anything is: numbers count from 0 through all plans."""
    first = 0
    for folder, plan in plans:
        own = [index - first for index in wanted if first <= index < first + plan.cells]
        if own:
            yield Part(folder, plan, first, own)
        first += plan.cells


def chosen(indices: str, chunk: int, cells: int) -> Iterator[int]:
    """Yield the numbers of the cells that `--index` and `--chunk` mean. Raises UsageError."""
    for part in indices.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if first > last:
            raise UsageError(f"{part!r} in --index is neither a number nor a range such as 0-7")
        if last * chunk >= cells:
            what = "cells" if chunk == 1 else f"cells in chunks of {chunk}"
            end = (cells - 1) // chunk
            raise UsageError(f"there is no index {last}: the plan has {cells} {what}, 0 to {end}")
        yield from range(first * chunk, min((last + 1) * chunk, cells))

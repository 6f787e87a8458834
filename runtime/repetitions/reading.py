"""What the cells of a run measured: which of them count, and their values, read from the run's tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from fairc.compiler.plan import Plan
from fairc.runtime.statistics.repeated import repeated
from fairc.runtime.store import verdicts
from fairc.runtime.store.opened import Opened

# The columns of `cells` that begin an Outcome, in its order; swept names follow.
_CELL = (
    "cell, configuration, repetition, seed, status, verdict, coalesce(reasons, []), result_sha256"
)
_FIELDS = 8


class UnknownName(Exception):
    """A metric, a statistic or an axis that does not exist; `kind` says which."""

    def __init__(self, kind: str, name: str, choices: Iterable[str]) -> None:
        self.kind, self.name, self.choices = kind, name, tuple(choices)
        super().__init__(f"no {kind} is called `{name}`; known: {', '.join(self.choices)}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One cell of the run, finished or failed.

    verdict: None when it failed. result_sha256: of its raw artefacts. bindings: its swept values in file order.
    """

    cell: str
    configuration: str
    repetition: int
    seed: str
    status: str
    verdict: str | None
    reasons: Sequence[str]
    result_sha256: str = ""
    bindings: tuple[tuple[str, str], ...] = ()

    @property
    def counts(self) -> bool:
        """Whether the cell enters summaries."""
        return verdicts.counts(self)

    @property
    def verdict_word(self) -> str:
        """`valid`, `flagged`, `invalid` or `failed`."""
        return verdicts.word(self)


class Measure(NamedTuple):
    """One number of each cell: its metric, its flow (or None), its SI base unit.

    load: number of the page load that it is of, or None: loads of a cell are not independent, so each
    is summarised by itself.
    """

    metric: str
    flow: str | None
    unit: str
    load: int | None = None

    @property
    def label(self) -> str:
        """Name it: `plt of web, load 2`."""
        of = f" of {self.flow}" if self.flow else ""
        return f"{self.metric}{of}{'' if self.load is None else f', load {self.load}'}"


class Value(NamedTuple):
    """What a finished cell has of a measure.

    number: None where it is not defined; then `reason` may say why. protocol: HTTP version of a page load.
    """

    measure: Measure
    outcome: Outcome
    number: float | None
    reason: str = ""
    protocol: str | None = None


class Measured:
    """What the cells of a plan measured, by the tables of its run. Whatever reads them raises TableError."""

    def __init__(self, opened: Opened, plan: Plan) -> None:
        self._tables = opened
        self.plan = plan
        self.axes = tuple(axis.name for axis in plan.axes)
        self.repeated = repeated(plan)
        # Whether the configurations are a random sample: of those that draw alike the cells are paired.
        self.sampled = plan.unsampled > 0 and not plan.common

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Every cell of the tables, in their order, which is the plan's."""
        from fairc.runtime.store.tables import axis_columns, quoted  # loads numpy

        columns = "".join(f", {quoted(name)}" for name in axis_columns(self.axes).values())
        found = []
        for row in self._tables.rows(f"SELECT {_CELL}{columns} FROM cells"):
            bindings = tuple(zip(self.axes, map(str, row[_FIELDS:]), strict=True))
            fields: Any = (*row[:_FIELDS], bindings)  # in the order of Outcome's
            found.append(Outcome(*fields))
        return tuple(found)

    @cached_property
    def units(self) -> dict[str, str]:
        """Full name -> unit of everything that was measured."""
        return dict(self._tables.rows("SELECT DISTINCT metric, unit FROM metrics ORDER BY ALL"))

    def named(self, metric: str) -> tuple[str, str]:
        """Return the full name and the unit of a metric; one of several values stands for its first.

        Raises UnknownName if there is none, or the run has not measured it.
        """
        from fairc.runtime.metrics.registry import value_named  # loads numpy

        try:
            value = value_named(metric)
        except KeyError:
            raise UnknownName("metric", metric, self.units) from None
        if self.units and value.name not in self.units:
            raise UnknownName("metric of this run", metric, self.units)
        return value.name, value.unit

    def values(self, metric: str | None = None) -> list[Value]:
        """Return the values of all finished cells, invalid ones included, in the order of the tables.

        metric: full name; None: of all metrics.
        """
        where, which = ("", ()) if metric is None else (" WHERE metric = ?", (metric,))
        rows = self._tables.rows(
            f"SELECT metric, flow, unit, load, cell, value, reason, protocol FROM metrics{where}",
            which,
        )
        finished = {o.cell: o for o in self.outcomes if o.status == "ok"}
        found = []
        for *of, cell, number, reason, protocol in rows:
            if (outcome := finished.get(cell)) is not None:
                known = number is not None and math.isfinite(number)
                number = number if known else None
                found.append(Value(Measure(*of), outcome, number, reason or "", protocol))
        return found


def measured(folder: Path, plan: Plan) -> Measured:
    """Return what the cells of a plan measured. folder: of the tables."""
    return Measured(Opened(folder), plan)

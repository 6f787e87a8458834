"""The results of a cell."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, model_validator

from fairc.cell.part import unless
from fairc.compiler.plan import Model


class MetricValue(Model):
    """One number of one metric of one cell, in SI base units; None where it is not defined.

    reason: why it is not defined; empty where it is. load: number of its page load, from 1; None if
    it does not belong to a single one.
    censored: of the `started` transfers, loads or videos that it is of, those that had not ended. A
    number leaves them out, or counts them as far as they went; without a number they make it larger
    than any that was observed. Where something was started, and there is no number and nothing
    censored, it may be anything.
    links: of a value that follows from baselines as well, the links that had another mean rate
    while it was measured than the plan says: node, interface, bit/s. None of any other value.
    """

    metric: str
    flow: str | None
    value: float | None
    unit: str
    reason: str = ""
    load: int | None = None
    censored: int = 0
    started: int = 0
    links: Annotated[tuple[tuple[str, str, float], ...] | None, Field(**unless(None))] = None

    @property
    def size(self) -> float | None:
        """The number; infinite where it is larger than any that was observed; None where it is not
        defined.
        """
        return math.inf if self.value is None and self.censored else self.value


def replaced(values: Iterable[MetricValue], new: Iterable[MetricValue]) -> tuple[MetricValue, ...]:
    """Return values, of which new ones take the places of those of the same name, flow and load;
    the rest of the new ones follow.
    """
    left = {(value.metric, value.flow, value.load): value for value in new}
    there = [left.pop((value.metric, value.flow, value.load), value) for value in values]
    return (*there, *left.values())


class FlowResult(Model):
    """The results of one flow; times in s after the epoch, goodput in bit/s of application bytes.

    given_up: connections that ended by themselves, with the time and the reason.
    rate_from_s, rate_until_s: the time that `goodput_bps` is over; None where there is none.
    stationarity_p: of the test that its throughput keeps its level (metric `stationarity`); None of
    a flow that does not take all it gets or moved all it had, and where there is no test.
    declared_change: what changes as declared in the time of this test; None: nothing, or no test.
    """

    flow: str
    transport: str
    cca: str | None
    connections: int
    start_s: float
    first_byte_s: float | None
    end_s: float | None
    completed: bool
    bytes: int
    goodput_bps: float | None
    rate_from_s: float | None = None
    rate_until_s: float | None = None
    stationarity_p: float | None = None
    declared_change: str | None = None
    given_up: tuple[str, ...] = ()


class FlowCondition(Model):
    """A condition of a flow that transports may differ in, as text
    (runtime/analysis/conditions.py).

    transport: the one it holds for; page loads have both. Empty only in results of versions that
    did not record it; these are recomputed.
    """

    flow: str
    condition: str
    value: str
    transport: str = ""


class FlowLimit(Model):
    """A limit that held a flow back for a share of its time: a value of the metric `limited`
    without its name.
    """

    flow: str
    limit: str
    share: float


class CellResult(Model):
    """Everything that is stored of a finished cell except its series and raw artefacts.

    series: the tables beside it (`slots.parquet`) that have rows; None of cells that failed.

    verdict: judges the set-up, never the outcome; None when the cell failed.
    image: identity of what the engine ran it on. emitted: hash of what it gave the cell's
    conductor.
    reasons: why the verdict is not `valid`, as text. analysis: hash of what was measured and of the
    code that measured it; a result with a different one is recomputed from the raw artefacts. A
    field that is added has a default, so that older results can still be read for this.
    """

    cell: str
    key: str
    status: Literal["ok", "failed"]
    error: str = ""
    verdict: Literal["valid", "flagged", "invalid"] | None = None
    reasons: tuple[str, ...] = ()
    ended_by: str = ""
    virtual_s: float
    wall_s: float
    engine: str
    image: str
    emitted: str = ""
    result_sha256: str = ""
    analysis: str = ""
    flows: tuple[FlowResult, ...] = ()
    metrics: tuple[MetricValue, ...] = ()
    conditions: tuple[FlowCondition, ...] = ()
    limits: tuple[FlowLimit, ...] = ()
    series: tuple[str, ...] | None = None

    @property
    def why(self) -> tuple[str, ...]:
        """The reasons why the verdict is not `valid`, or why the cell failed."""
        return self.reasons or tuple(filter(None, (self.error,)))

    @model_validator(mode="after")
    def _names_its_series(self) -> CellResult:
        if self.status == "ok" and self.series is None:
            raise ValueError("`series` is missing")
        return self

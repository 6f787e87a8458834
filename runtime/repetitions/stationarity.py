"""Flows whose throughput still moves: a mean over time then depends on when it was taken.

Every cell has the KPSS test of its bulk flows (column `stationarity_p` of the table `flows`). It
rejects a level that does not move with a probability of 5 %, so a flow of a configuration is said
to move only where more of its repetitions reject than that explains: the probability of as many is
at most 5 %. Where something changes as declared meanwhile (column `declared_change`), this is said
instead of "still", for no longer warm-up would end it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from fairc.dsl.model.metric_names import metric_of, unmarked
from fairc.dsl.model.requests import Formula
from fairc.words.metrics import METRICS

LEVEL = 0.05
"""Below it a p-value rejects; at or below it as many rejections are no chance."""


@dataclass(frozen=True, slots=True)
class StationarityTests:
    """How many of a flow's repetitions reject that it keeps its level, of how many that have the
    test; none: it has no test.

    change: what changes as declared in the time of the tests; empty: nothing.
    """

    rejections: int
    tests: int
    change: str = ""

    @property
    def is_found(self) -> bool:
        """Whether the flow moves: P(B >= rejections) <= 5 %, B ~ Binomial(tests, 0.05)."""
        return self.rejections > 0 and _at_least(self.rejections, self.tests) <= LEVEL + 1e-12


def _at_least(k: int, n: int) -> float:
    return math.fsum(math.comb(n, i) * LEVEL**i * (1 - LEVEL) ** (n - i) for i in range(k, n + 1))


Nonstationary = Mapping[str, Mapping[str, StationarityTests]]
"""Configuration -> flow -> its tests, for all flows."""


def nonstationary(tests: Iterable[tuple[str, str, float | None, str | None]]) -> Nonstationary:
    """Count the rejections. tests: configuration and flow of each cell that counts, with p (None:
    no test) and what changes as declared meanwhile.
    """
    found: dict[str, dict[str, StationarityTests]] = {}
    for configuration, flow, p, change in tests:
        flows = found.setdefault(configuration, {})
        before = flows.get(flow, StationarityTests(0, 0))
        rejects, tested = p is not None and p < LEVEL, p is not None
        flows[flow] = StationarityTests(
            before.rejections + rejects, before.tests + tested, before.change or change or ""
        )
    return found


def is_level(metric: str) -> bool:
    """Return whether a value is a mean over time.

    metric: full name, or `NAME` for its first value.
    """
    name, value = metric_of(metric), unmarked(metric)
    return name in METRICS and METRICS[name].is_level and value not in METRICS[name].not_levels


def moved(
    metric: str,
    flows: Collection[str],
    configurations: Collection[str],
    found: Nonstationary,
    formulas: Iterable[Formula] = (),
) -> dict[str, set[str]]:
    """Return the flows that move, by what changes as declared meanwhile (empty: nothing); none if
    the metric does not depend on it.

    flows: the flow of the value; empty: of a whole cell, on which all of its flows have an
    influence. A name that is not a flow's, as that of a group of users, stands for all. A flow
    without a test, which offers less than it could get or moved all it had, sets its rate itself;
    its other values, such as delays, depend on all flows. The table `flows` has the test of each.
    formulas: the metrics of the file's own, which depend on what they are made of.
    """
    by_change: dict[str, set[str]] = {}
    if own_metric := next((each for each in formulas if each.name == metric), None):
        for part in own_metric.operands:
            whose = flows if part.is_each else part.flows
            of_part = moved(part.metric, whose, configurations, found, formulas)
            for change, moving in of_part.items():
                by_change.setdefault(change, set()).update(moving)
    if not is_level(metric):
        return by_change
    is_rate = METRICS[metric_of(metric)].unit == "bit/s"
    for configuration in configurations:
        of = found.get(configuration, {})
        own = [flow for flow in of if flow in flows and (is_rate or of[flow].tests)] or of
        for flow in own:
            if of[flow].is_found:
                by_change.setdefault(of[flow].change, set()).add(flow)
    return by_change


EVERY = "flows are "
"""The beginning of a sentence that is not of the value's own flow."""


def sentence(
    metric: str,
    flows: Collection[str],
    configurations: Collection[str],
    found: Nonstationary,
    formulas: Iterable[Formula] = (),
) -> str:
    """Say whether flows move; empty if none does. The arguments are those of `moved`."""
    by_change = moved(metric, flows, configurations, found, formulas)
    return "; ".join(
        f"{'' if by_change[change] <= set(flows) else EVERY}{_what(change)}"
        for change in sorted(by_change)
    )


def _what(change: str) -> str:
    if not change:
        return "still moving (KPSS): it depends on when it was taken"
    return f"moving while {change} changes as declared (KPSS): it is a mean over these changes"

"""Flows whose throughput still moves: a mean over time then depends on when it was taken.

Every cell has the KPSS test of its bulk flows (column `stationarity_p` of the table `flows`). It
rejects a level that does not move with a probability of 5 %, so a flow of a configuration is said
to move only where more of its repetitions reject than that explains: the probability of as many is
at most 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from fairc.dsl.model.metric_names import metric_of, unmarked
from fairc.words.metrics import METRICS

LEVEL = 0.05
"""Below it a p-value rejects; at or below it as many rejections are no chance."""


@dataclass(frozen=True, slots=True)
class StationarityTests:
    """How many of a flow's repetitions reject that it keeps its level, of how many that have the
    test.
    """

    rejections: int
    tests: int

    @property
    def is_found(self) -> bool:
        """Whether the flow moves: P(B >= rejections) <= 5 %, B ~ Binomial(tests, 0.05)."""
        return self.rejections > 0 and _at_least(self.rejections, self.tests) <= LEVEL + 1e-12


def _at_least(k: int, n: int) -> float:
    return math.fsum(math.comb(n, i) * LEVEL**i * (1 - LEVEL) ** (n - i) for i in range(k, n + 1))


Moving = Mapping[str, Mapping[str, StationarityTests]]
"""Configuration -> flow -> its moves, for all that have the test."""


def moving(tests: Iterable[tuple[str, str, float]]) -> Moving:
    """Count the rejections. tests: configuration, flow and p of each cell that counts."""
    found: dict[str, dict[str, StationarityTests]] = {}
    for configuration, flow, p in tests:
        flows = found.setdefault(configuration, {})
        before = flows.get(flow, StationarityTests(0, 0))
        flows[flow] = StationarityTests(before.rejections + (p < LEVEL), before.tests + 1)
    return found


def is_level(metric: str) -> bool:
    """Return whether a value is a mean over time.

    metric: full name, or `NAME` for its first value.
    """
    name, value = metric_of(metric), unmarked(metric)
    return name in METRICS and METRICS[name].is_level and value not in METRICS[name].not_levels


def sentence(
    metric: str, flows: Collection[str], configurations: Iterable[str], found: Moving
) -> str:
    """Say whether flows still move; empty if none does, or the metric does not depend on it.

    flows: the flow of the value; empty: of a whole cell, on which all of its flows have an
    influence. A name that is not a flow's, as that of a group of users, stands for all. The table
    `flows` has the test of each.
    """
    if not is_level(metric):
        return ""
    moved: set[str] = set()
    for configuration in configurations:
        of = found.get(configuration, {})
        own = [flow for flow in of if flow in flows] or of
        moved |= {flow for flow in own if of[flow].is_found}
    if not moved:
        return ""
    whose = "" if moved <= set(flows) else "flows are "
    return f"{whose}still moving (KPSS): it depends on when it was taken"

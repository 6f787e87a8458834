"""The part of a plan that is `requests`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from fairc.cell.model import Flow
from fairc.cell.numbers import Seed
from fairc.cell.part import UNLESS_ABSENT
from fairc.cell.workloads import WORKLOAD_KINDS, Distribution, SharedArrivals, Workload

LEAST_PART = 0.99e-6
"""Least share of a flow in shared arrivals: the language's limit, less rounding."""


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsWorkload(Workload):
    """Requests for answers of `size` (bytes), at random intervals `every` (s), the first at the
    start.

    seed: of both streams of random numbers; each connection has its own pair. shared: the flow's
    share of an arrival process, of which `every` is then the interval; left out where there is
    none.
    """

    records = "transfers"
    of_payload = True
    kind: Literal["requests"] = "requests"
    size: Distribution
    every: Distribution
    seed: Seed
    shared: SharedArrivals | None = field(default=None, metadata=UNLESS_ABSENT)

    def contradiction(self, flow: Flow, intercepted: Collection[int]) -> str:
        """Report a share of an arrival process that is too small, because each stream draws all of
        it.
        """
        if self.shared is None:
            return ""
        part = (self.shared.high - self.shared.low) / flow.connections
        if part < LEAST_PART:
            return f"the streams of `{flow.name}` have too small a part of their arrivals"
        return ""

    def offered_bps(self, connections: int, rate_bps: int | None) -> float:
        """Return the mean size of answers over their mean interval, bit/s."""
        each = 8 * self.size.mean / self.every.mean
        if self.shared is not None:  # of all connections together
            return each * (self.shared.high - self.shared.low)
        return each * connections

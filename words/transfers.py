"""Percentiles of completion times that a configuration has too few transfers for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

from fairc.dsl.core.diagnostics import Diagnostic, Severity
from fairc.dsl.model import MetricRequest
from fairc.dsl.model.names import group_of, users_of

from .metric_entry import FlowTiming

_PERCENTILE = re.compile(r"(group_)?p(\d+)")


def needed(percent: int) -> int:
    """Return how many transfers a percentile needs: with fewer it is the sample's extreme.

    >>> needed(99), needed(95), needed(50), needed(5)
    (100, 20, 2, 20)
    """
    return -(-100 // min(percent, 100 - percent))


def check_transfers(request: MetricRequest, flows: Sequence[FlowTiming]) -> Iterator[Diagnostic]:
    """Yield which percentiles have too few transfers of flows, or of groups of users."""
    each: dict[str, Fraction] = defaultdict(Fraction)
    together: dict[str, Fraction] = defaultdict(Fraction)
    groups: dict[str, str] = {}
    for timing in flows:
        flow, count = timing.flow, expected(timing)
        if count is not None:
            each[flow.label] += count
            if (group := users_of(flow) or group_of(flow)) is not None:
                together[group] += count
                groups[flow.label] = group
    for value in request.values:
        found = _PERCENTILE.fullmatch(value.partition(".")[2])
        if found is None:
            continue
        percent, counts = int(found[2]), together if found[1] else each
        least = needed(percent)
        few = {name: count for name, count in counts.items() if count < least}
        if not few:
            continue
        name, count = min(few.items(), key=lambda item: item[1])
        others = f" (and {len(few) - 1} more)" if len(few) > 1 else ""
        lower = [p for p in (95, 90, 75, 50) if p < percent and needed(p) <= count]
        instead = f", or name `{value.removesuffix(str(percent))}{lower[0]}`" if lower else ""
        group = None if found[1] else groups.get(name)
        pooled = [
            p for p in (99, 95, 90, 75, 50) if p <= percent and needed(p) <= together[group or ""]
        ]
        if group is not None and pooled:
            name_of_all = f"{request.name}.group_p{pooled[0]}"
            instead = f", or name `{name_of_all}`, which is that of all flows of `{group}` together"
        made = f"about {float(count):.3g} are made"
        yield Diagnostic(
            "few-transfers",
            f"`{value}` has no value for `{name}`{others}",
            note=f"it needs {least} transfers after the warm-up, and {made}",
            help="add transfers, with a larger `count`, more requests or a longer duration"
            f"{instead}",
            severity=Severity.WARNING,
        )


def expected(timing: FlowTiming) -> Fraction | None:
    """Return how many transfers of a flow begin after the warm-up, on average; None if it makes
    none with an end.
    """
    flow, begins_ns, ends_ns = timing.flow, timing.begins_ns, timing.ends_ns
    if flow.workload.part.records != "transfers":
        return None
    lasts_s = None if ends_ns is None else Fraction(max(0, ends_ns - begins_ns), 10**9)
    return flow.workload.transfers(flow.connections, (flow.start_ns or 0) == begins_ns, lasts_s)

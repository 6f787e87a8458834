"""Requirements of percentiles over transfers: how many a percentile needs, and about how many a
flow makes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from fairc.compiler.passes.routing import Traffic
from fairc.dsl import model
from fairc.dsl.core.diagnostics import Diagnostic, Severity
from fairc.dsl.core.source import Span
from fairc.dsl.model.names import called, group_of, users_of
from fairc.words.metrics import METRICS

_PERCENTILE = re.compile(r"(group_)?p(\d+)")


def needed(percent: int) -> int:
    """Return how many transfers a percentile needs: with fewer it is the sample's extreme.

    >>> needed(99), needed(95), needed(50), needed(5)
    (100, 20, 2, 20)
    """
    return -(-100 // min(percent, 100 - percent))


def check_transfers(
    scenario: model.Scenario,
    traffic: Traffic,
    requests: Iterable[model.MetricRequest],
    places: Mapping[str, Span],
    report: Callable[[Diagnostic], None],
) -> None:
    """Report which percentiles of `fct` a configuration has too few transfers for."""
    for request in requests:
        if not METRICS[request.name].of_transfers:
            continue
        for value in request.values:
            found = _PERCENTILE.fullmatch(value.partition(".")[2])
            if found is not None:
                at = places[request.label]
                report_few(
                    scenario, traffic, request, at, value, bool(found[1]), int(found[2]), report
                )


def report_few(
    scenario: model.Scenario,
    traffic: Traffic,
    request: model.MetricRequest,
    at: Span,
    value: str,
    grouped: bool,
    percent: int,
    report: Callable[[Diagnostic], None],
) -> None:
    """Report a percentile that flows, or groups of users, have too few transfers for."""
    each: dict[str, Fraction] = defaultdict(Fraction)
    together: dict[str, Fraction] = defaultdict(Fraction)
    groups: dict[str, str] = {}
    for flow, _ in traffic:
        if request.sessions and called(flow).isdisjoint(request.sessions):
            continue
        count, group = expected(scenario, flow), users_of(flow) or group_of(flow)
        if count is None:
            continue
        each[flow.label] += count
        if group is not None:
            together[group] += count
            groups[flow.label] = group
    counts = together if grouped else each
    least = needed(percent)
    few = {name: count for name, count in counts.items() if count < least}
    if not few:
        return
    name, count = min(few.items(), key=lambda item: item[1])
    others = f" (and {len(few) - 1} more)" if len(few) > 1 else ""
    lower = [p for p in (95, 90, 75, 50) if p < percent and needed(p) <= count]
    measure = "add transfers, with a larger `count`, more requests or a longer duration"
    instead = f", or name `{value.removesuffix(str(percent))}{lower[0]}`" if lower else ""
    group = None if grouped else groups.get(name)
    pooled = [
        p for p in (99, 95, 90, 75, 50) if p <= percent and needed(p) <= together[group or ""]
    ]
    if group is not None and pooled:
        name_of_all = f"{request.name}.group_p{pooled[0]}"
        instead = f", or name `{name_of_all}`, which is that of all flows of `{group}` together"
    report(
        Diagnostic(
            "few-transfers",
            f"`{value}` has no value for `{name}`{others}",
            at,
            note=(
                f"it needs {least} transfers after the warm-up, and about {float(count):.3g} are"
                f" made"
            ),
            help=f"{measure}{instead}",
            severity=Severity.WARNING,
        )
    )


def expected(scenario: model.Scenario, flow: model.Flow) -> Fraction | None:
    """Return how many transfers of a flow begin after the warm-up, on average; None if it makes
    none with an end.
    """
    warmup_ns, start_ns = scenario.warmup_ns, flow.start_ns or 0
    if flow.workload.planned.records != "transfers":
        return None
    ends = [ns for ns in (scenario.duration_ns, flow.stop_ns) if ns is not None]
    lasts_ns = max(0, min(ends) - max(warmup_ns, start_ns)) if ends else None
    lasts_s = None if lasts_ns is None else Fraction(lasts_ns, 10**9)
    return flow.workload.transfers(flow.connections, start_ns >= warmup_ns, lasts_s)

"""Share of a flow: its part of what several flows get, and what it gets of its fair share.

    share           = B_k / sum over j of B_j
    share.competing = C_k / sum over j of C_j
    share.fair      = 8 * W_k / (T * R_k)

B: application bytes delivered while the cell is measured, from the end of the warm-up (or `from`)
to the end of the cell (or `to`); a flow that is idle in some of this time has so much less. The sum
is over the flows that are named; over all flows of the cell if one flow or none is. The shares of
the flows of a sum add up to 1. A flow that got nothing has 0; where nobody got anything nobody has
a share. Of files that all arrive, `share` is the ratio of their sizes, however they shared the
link.

C: B in the time in which all flows of the sum are active: from the latest first data to the
earliest end (measurement.md, rule 15).

W: frame bytes at the bottleneck's exit while the flow is active in this time (as for `goodput`); T:
that time. R: the flow's max-min fair rate on the wire, its mean over T: other flows of the cell
compete only while they run, each link has the rate that it then has. A flow that wants less than an
equal share (`rate`, `onoff`, `requests`, `ping`: the mean load) has what it wants, and the others
split the rest. `requests` want no less than they got, as handshakes and small packets come on top
of their load. What a flow of videos or page loads wants is W / T of its baseline: a cell with the
same network and draws in which it is alone (as for `harm`); beside such a flow all flows of the
cell compete in all of T. The plan has these baselines where `measure`, a metric of the file's own,
a claim or a figure names `share.fair`; `share` alone has none. Each such flow of a configuration is
alone by itself, one of an index or of a group of users, too. Where a baseline failed, is not valid,
or has no throughput in the same window, nobody in the cell has a fair share. In a cell of its own
such a flow has 1, as it wants what it gets. Where a flow of the cell can take several paths
(Multipath TCP; routers move it around a link that is down) nobody has a fair share: R is that of
one path. A policer is no link: R does not know what it lets through. 1: the flow has its fair
share; above 1, more.

Unit: 1. Source: RFC 5166, section 2.3 (ratios of throughputs, max-min fairness); Bertsekas and
Gallager, Data Networks, 1992, section 6.5.2 (max-min fairness); measurement.md, rule 17.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.dsl.model.names import label_of
from fairc.runtime.measurement import SLOT_S, FlowRecord, Measurement
from fairc.runtime.measurement.demand import demand_bps
from fairc.runtime.measurement.paths import Paths, Place, max_min
from fairc.runtime.measurement.record import Floats
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, Sides, Value, declared, inactive, window
from .sharing import competition, on_several_paths

Flows = tuple[FlowRecord, ...]

SHARE = declared("share", "of the bytes that the flows together got")
COMPETING = declared(
    "share.competing", "of the bytes that the flows got while all of them were active"
)
FAIR = declared("share.fair", "throughput over the max-min fair one")


def _fair(measurement: Measurement, flow: FlowRecord) -> MetricValue:
    begin, end = window(measurement, flow)
    if end <= begin:
        return FAIR.of(None, flow.name, inactive(measurement))
    edges_s = np.array([begin, end])
    if several := on_several_paths(measurement.flows):
        return FAIR.of(None, flow.name, several)
    rate_bps = 8 * float(flow.frame_bytes(edges_s)[0]) / (end - begin)
    unknown = [other.name for other in measurement.flows if other.demand_bps is None]
    if not unknown:
        fair = measurement.fair_share_bps(edges_s, of_running=True)
        return _over(FAIR, flow.name, rate_bps, fair[flow.name][0])
    if len(measurement.flows) == 1:  # alone it wants what it gets
        return _over(FAIR, flow.name, rate_bps, rate_bps)
    reason = (
        f"it is not known how much {', '.join(unknown)} would take, so fair shares are not;"
        " baselines tell where something names `share.fair`"
    )
    return FAIR.of(None, flow.name, reason).model_copy(
        update={"links": _changed(measurement, edges_s)}
    )


def _over(value: Value, flow: str, rate_bps: float, fair_bps: float) -> MetricValue:
    """Return a flow's rate over its fair one."""
    if not 0 < fair_bps < math.inf:
        return value.of(None, flow, "no link limits the flow, or one that carries nothing")
    return value.of(rate_bps / float(fair_bps), flow)


def _changed(measurement: Measurement, edges_s: Floats) -> tuple[tuple[str, str, float], ...]:
    """Return the links with another mean rate in the one slot than the plan says."""
    planned = _planned_bps(measurement.paths)
    found = {place: float(rates[0]) for place, rates in measurement.rates_bps(edges_s).items()}
    return tuple(
        (*place, rate_bps)
        for place, rate_bps in found.items()
        if not math.isclose(rate_bps, planned[place])
    )


def _planned_bps(paths: Paths) -> dict[Place, float]:
    """Return the rates of links that the plan begins with, by the interfaces where they begin."""
    every = paths.interfaces.items()
    return {place: float(one.shaper.rate_bps) for place, one in every if one.shaper is not None}


def compare(sides: Sides) -> Iterator[MetricValue]:
    """Yield the share of each flow in a cell with flows of which only baselines tell what they
    want.
    """
    paths = Paths(sides.cell)
    planned = _planned_bps(paths)
    ways = {label_of(flow): paths.of(flow) for flow in sides.cell.flows}
    wanted = {
        label_of(flow): demand_bps(flow, paths.interfaces[flow.bottleneck].framing)
        for flow in sides.cell.flows
    }
    alone = {name: sides.alone(name, name, None) for name, bps in wanted.items() if bps is None}
    unknown, demands = [], {name: bps for name, bps in wanted.items() if bps is not None}
    for name, solo in alone.items():
        if solo is None or solo.value is None or solo.value.value is None:
            unknown.append(f"{name} alone: {solo.reason if solo is not None else 'no baseline'}")
        else:
            demands[name] = solo.value.value
    rates = {value.flow: value for value in sides.beside}
    for flow in sides.cell.flows:
        name, rate = label_of(flow), rates.get(label_of(flow))
        if flow.workload.of_payload and rate is not None and rate.value is not None:
            demands[name] = max(demands[name], rate.value)  # as of `FlowRecord.demand_bps`
    for own in sides.own:
        rate = rates.get(own.flow)
        if own.links is None or own.flow is None:
            continue  # the cell decides it
        if unknown:
            yield sides.value.of(None, own.flow, "; ".join(unknown))
        elif rate is None or rate.value is None:
            reason = rate.reason if rate is not None else "no throughput"
            yield sides.value.of(None, own.flow, reason)
        else:
            links = planned | {(node, interface): bps for node, interface, bps in own.links}
            fair_bps = max_min(ways, links, demands)[own.flow]
            yield _over(sides.value, own.flow, rate.value, fair_bps)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the share of each requested flow (default: all flows)."""
    flows = measurement.sessions(request.sessions)
    rivals = flows if len(flows) > 1 else measurement.flows
    edges_s = np.array([measurement.begin_s, min(measurement.until_s, measurement.ended_s)])
    values: list[MetricValue] = []
    got = {f.name: float(f.delivered_bytes(edges_s)[0]) for f in (*rivals, *flows)}
    total = sum(got[rival.name] for rival in rivals)
    for flow in flows:
        if edges_s[1] <= edges_s[0]:
            values.append(SHARE.of(None, flow.name, "the cell ended before it was measured"))
        else:
            part = got[flow.name] / total if total else None
            values.append(SHARE.of(part, flow.name, "no flow got anything"))
        values.append(_fair(measurement, flow))
    return (*values, *_competing(measurement, flows, rivals))


def _competing(measurement: Measurement, flows: Flows, rivals: Flows) -> Iterator[MetricValue]:
    """Yield the share of each flow while all rivals are active."""
    if len(rivals) < 2:
        reason = "it is alone: nobody competes"
        yield from (COMPETING.of(None, flow.name, reason) for flow in flows)
        return
    time = competition(rivals, SLOT_S, measurement.begin_s, measurement.until_s)
    if isinstance(time, str):
        yield from (COMPETING.of(None, flow.name, time) for flow in flows)
        return
    edges_s = np.array([time.begin_s, time.end_s])
    got = {f.name: float(f.delivered_bytes(edges_s)[0]) for f in (*rivals, *flows)}
    total = sum(got[rival.name] for rival in rivals)
    for flow in flows:
        part = got[flow.name] / total if total else None
        yield COMPETING.of(part, flow.name, "no flow got anything")


METRIC = Metric("share", (SHARE, COMPETING, FAIR), compute, compare=compare)

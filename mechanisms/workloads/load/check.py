"""Page loads were made as planned: by the client and over the protocol that were asked for."""

from __future__ import annotations

from collections.abc import Iterator

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.artefacts import NS
from fairc.runtime.validity.finding import Finding, flagged, invalid, see

from .cell import LoadWorkload


def check(measurement: Measurement, flow: FlowRecord) -> Iterator[Finding]:
    """Rule 20: every load was made by the planned client, over the HTTP version that the plan asks
    for.

    A load that fails for another reason is an outcome (a network can be too bad for a page) and
    never makes a cell invalid; if all loads fail, or the deadline came first, the cell is flagged
    for inspection.
    """
    workload, loads = flow.plan.workload, flow.endpoints.loads
    assert isinstance(workload, LoadWorkload), "as its folder is called"
    name = f"flow {flow.name}"
    if len(loads) < len(workload.protocols):
        count = f"{name}: {len(loads)} of {len(workload.protocols)} loads were reported"
        if flow.endpoints.unended:
            yield invalid(
                f"{count}, and its client did not report why; {see(f'{flow.plan.name}.client.err')}"
            )
        else:
            yield flagged(
                f"{count}: its client was stopped before the others; raise `deadline` or `duration`"
            )
    for event in flow.endpoints.reports["listening"]:
        used = (event.get("quic") or {}).get("parameters", workload.quic_parameters)
        if used != workload.quic_parameters:
            wanted = workload.quic_parameters
            yield invalid(
                f"{name} has QUIC parameters of {used}, not of {wanted}: its server runs with"
                f" others; {see(f'{flow.plan.name}.server.ndjson')}"
            )
    clients = {load.client for load in loads} - {workload.client}
    if clients:
        yield invalid(
            f"{name}: pages were loaded by {', '.join(sorted(clients))}, not by {workload.client}"
        )
    for load in loads:
        if load.protocol not in (None, load.wanted):
            yield invalid(
                f"{name}: load {load.number} used {load.protocol}, not {load.wanted}: the handshake"
                f" of {load.wanted} failed; {see(f'{flow.plan.name}.client.ndjson')}"
            )
    if loads and all(load.error for load in loads):
        yield flagged(f"{name}: every load failed; the first: {loads[0].error}")


def late_s(measurement: Measurement, flow: FlowRecord) -> float:
    """Return how late a client without a browser began a load at worst, s.

    A browser starts a load with a delay by nature; its loads count from connectStart.
    """
    begins_s, worst, workload = flow.start_s, 0.0, flow.plan.workload
    assert isinstance(workload, LoadWorkload), "as its folder is called"
    if workload.client != "plain":
        return 0.0
    for load in flow.endpoints.loads:
        worst = max(worst, load.begin_s - begins_s)
        if load.number < len(workload.idle_ns):
            start_ns, ended_ns = round(flow.start_s / NS), round(load.end_s / NS)
            begins_s = workload.load_begin_ns(load.number, start_ns, ended_ns) * NS
    return worst

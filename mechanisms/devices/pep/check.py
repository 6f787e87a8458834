"""Proxies split the connections that they should, and begin them as planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairc.runtime.measurement import Measurement
from fairc.runtime.validity.finding import Finding, invalid, see

from .record import ENDS, PepRecord


def check(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: both proxies of a pair ran, with the plan's CCA and window, and split every
    connection.
    """
    for pep in measurement.devices["pep"]:
        assert isinstance(pep, PepRecord)
        for end in ENDS:
            if f"{pep.plan.name}.{end}" not in measurement.ending.processes:
                yield invalid(
                    f"{pep.plan.name}.{end} is not among the processes that ran: the cell ended"
                    f" before it could start; {see('cell.json')}"
                )
        for error in pep.errors:
            yield invalid(error)
        yield from _pool(pep)
        accepted = sum(
            _over_tcp(flow.endpoints.transports, flow.endpoints.accepted_s)
            for flow in measurement.flows
            if flow.plan.port in pep.plan.ports
        )
        if pep.joined["gateway"] < accepted:
            yield invalid(
                f"the proxies of {pep.plan.name} split {pep.joined['gateway']} connections, and"
                f" servers accepted {accepted}: the others went past the proxies, as the rules that"
                f" divert them were not in force; {see(f'{pep.plan.name}.gateway.err')}"
            )


def _over_tcp(transports: Mapping[int, str], accepted: Mapping[int, float]) -> int:
    """Return how many connections a server accepted over TCP."""
    return sum(transports.get(connection, "tcp") == "tcp" for connection in accepted)


def _pool(pep: PepRecord) -> Iterator[Finding]:
    """Yield what is wrong with the connections that are kept open."""
    packets = -(-pep.plan.window_bytes // pep.plan.mtu)
    for end in ENDS:
        ready = pep.ready.get(end)
        name = f"{pep.plan.name}.{end}"
        if ready is None:
            yield invalid(f"{name} was never ready: {see(f'{name}.err')}")
            continue
        if ready.cca != pep.plan.cca:
            yield invalid(
                f"{name} used {ready.cca}, not {pep.plan.cca}: the kernel replaced it;"
                f" {see('system.json')}"
            )
        if ready.window_packets < packets:
            yield invalid(
                f"connections of {name} began with {ready.window_packets} packets, not {packets}:"
                f" the route's initial window was not in force; {see(f'{name}.ndjson')}"
            )
        if ready.connections < pep.plan.pool:
            yield invalid(
                f"{name} kept {ready.connections} connections open, not {pep.plan.pool}: some could"
                f" not be opened; {see(f'{name}.err')}"
            )

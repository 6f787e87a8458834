"""Hosts and links give packets the code points and the bits of ECN that are planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import Flow, Interface, Tunnel
from fairc.runtime.arrays import Bools
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.paths import Paths, Place
from fairc.runtime.measurement.pcap import Packets
from fairc.runtime.measurement.selection import acks_of, packets_of

from .finding import Finding, invalid, see

ECN = 3
"""The two lower bits of the byte; both set: CE, none: not ECN-capable (RFC 3168, section 5)."""


def marked(tos: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the byte of DSCP and ECN of packets after all that are ECN-capable were marked."""
    return np.where(tos & ECN, tos | ECN, tos)


def rewritten(tos: NDArray[np.int64], arrival: Interface | None) -> NDArray[np.int64]:
    """Return the byte of DSCP and ECN of packets behind a link, from that in front of it.

    arrival: the interface at the link's end.
    """
    if arrival is None:
        return tos
    if arrival.arriving_ecn == "bleach":
        tos = tos & ~ECN
    elif arrival.arriving_ecn == "mark":
        tos = marked(tos)
    if arrival.arriving_dscp is not None:
        tos = (arrival.arriving_dscp << 2) | (tos & ECN)
    return tos


def marking(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: behind each bottleneck, DSCP and ECN of every packet are as the link leaves them."""
    for queue in measurement.seen_queues:
        sent = np.flatnonzero((queue.behind.found >= 0) & (queue.left.ip_bytes > 0))
        before, after = queue.left.tos[sent], queue.delivered.tos[queue.behind.found[sent]]
        wrong = int((rewritten(before, measurement.paths.arrival(queue.place)) != after).sum())
        if wrong:
            yield invalid(
                f"{wrong} of {len(sent)} packets have another DSCP or ECN behind {queue.name} than"
                f" its link gives them: its filter was not in force; {see('cell.json')}"
            )


def code_points(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: packets of a flow come to its bottlenecks with the code point that it has, or that
    the last link before gave them, both ways.

    Flows without one are left alone: Linux answers a packet that it has no socket for with the
    code point of that packet.
    """
    for flow in measurement.flows:
        if flow.plan.dscp:
            cell, plan, paths = measurement.cell, flow.plan, measurement.paths
            yield from _come(measurement, plan, paths.of(plan), partial(packets_of, cell, plan))
            yield from _come(measurement, plan, paths.back(plan), partial(acks_of, plan))


def _come(
    measurement: Measurement, flow: Flow, way: Sequence[Place], of: Callable[[Packets], Bools]
) -> Iterator[Finding]:
    """Yield what is wrong with a flow's packets at the bottlenecks of one of its ways.

    of: which of some packets go this way.
    """
    for queue in measurement.seen_queues:
        if queue.place not in way:
            continue
        expected = _given(measurement.paths, way[: way.index(queue.place)], flow.dscp)
        found = queue.left.tos[of(queue.left)] >> 2
        wrong = int((found != expected).sum())
        if wrong:
            yield invalid(
                f"{wrong} of {len(found)} packets of {flow.name} come to {queue.name} with another"
                f" code point than {expected}; {see('cell.json')}"
            )


def _given(paths: Paths, way: Sequence[Place], dscp: int) -> int:
    """Return the code point with which packets come out of a way from a host, who gave them one.

    What carries them through a tunnel begins with theirs, and they come out with their own.
    """
    found = [dscp]
    inside: list[Tunnel] = []
    for place in way:
        tunnel, arrival = paths.tunnel_at(place), paths.arrival(place)
        if tunnel is not None and tunnel in inside:
            inside.remove(tunnel)
            found.pop()
        elif tunnel is not None:
            inside.append(tunnel)
            found.append(found[-1])
        if arrival is not None and arrival.arriving_dscp is not None:
            found[-1] = arrival.arriving_dscp
    return found[-1]

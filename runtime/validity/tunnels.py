"""Tunnels carry every packet, and give what carries it the bits that they should."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fairc.compiler.plan import Tunnel
from fairc.runtime.arrays import Bools, Int64s
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.paths import Paths, Place
from fairc.runtime.measurement.queues import QueueRecord
from fairc.runtime.measurement.selection import acks_of, packets_of

from .finding import Finding, busy, invalid, see, unread
from .marking import ECN, marked, rewritten
from .schedule import LATE_S


def tunnels(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: the ends of tunnels lost nothing and held nothing up; what carries packets past a
    bottleneck has their code point and the bits of ECN of the tunnel's mode (RFC 6040).
    """
    for end in measurement.tunnels:
        if end.missed:
            yield invalid(f"{end.name} missed {end.missed} packets: {unread(measurement)}")
        if end.refused:
            yield invalid(f"{end.name} could not send {end.refused} packets; {see('cell.json')}")
        if end.oversized:
            yield invalid(
                f"{end.oversized} packets were too large for {end.name}: their host does not know"
                " the path's MTU; give the host's own link this `mtu`"
            )
        if end.late_s > LATE_S:
            yield invalid(
                f"a packet waited {end.late_s * 1e3:.3g} ms in {end.name}: {busy(measurement)}"
            )
    if not measurement.cell.tunnels:
        return
    for queue in measurement.seen_queues:
        wrong = int(_wrong(measurement, queue).sum())
        if wrong:
            yield invalid(
                f"{wrong} of {len(queue.entered)} packets came to {queue.name} in a packet with"
                f" another DSCP or ECN than the tunnel gives it; {see('cell.json')}"
            )


def _wrong(measurement: Measurement, queue: QueueRecord) -> Bools:
    """Return which packets came to a queue in a packet with other bits than they should."""
    packets = queue.entered
    wrong = np.zeros(len(packets), np.bool_)
    for flow in measurement.flows:
        plan, paths = flow.plan, measurement.paths
        for way, ours in (
            (paths.of(plan), packets_of(measurement.cell, plan, packets)),
            (paths.back(plan), acks_of(plan, packets)),
        ):
            if queue.place in way:
                bits = _bits(paths, way[: way.index(queue.place)], packets.own_tos[ours])
                wrong[ours] |= np.all([packets.tos[ours] != each for each in bits], axis=0)
    return wrong


def _bits(paths: Paths, way: Sequence[Place], own: Int64s) -> tuple[Int64s, Int64s]:
    """Return the byte of DSCP and ECN of what carries packets after a way from a host: where no
    queue has marked it, and where one has. In no tunnel it is their own.

    own: of the packets.
    """
    levels = [(own, own)]
    inside: list[Tunnel] = []
    for place in way:
        tunnel, (never, once) = paths.tunnel_at(place), levels[-1]
        if tunnel is None:
            if inside:
                arrival = paths.arrival(place)
                levels[-1] = rewritten(never, arrival), rewritten(marked(once), arrival)
        elif tunnel not in inside:
            inside.append(tunnel)
            kept = ~ECN if tunnel.ecn == "clear" else ~0
            levels.append((never & kept, once & kept))
        else:
            inside.remove(tunnel)
            levels.pop()
            if inside:
                levels[-1] = levels[-1][0], marked(levels[-1][1])
    return levels[-1]

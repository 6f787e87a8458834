"""What packets pass below an interface: a host's processing time, and the transmitter of a link.

An emulated host whose computation takes no time answers at the instant at which a request arrives.
Packets of several hosts then arrive at the same nanosecond, and the order of events in the kernel
decides which one gets the last place in a full queue, always in the same way. A real host takes a
few microseconds, and never the same time: a random delay after its link's queue and shaper, in
order.

Both are netem's, on a separate interface below the one through which the packets leave, so that a
packet waits for its link first, as it would without them: TCP counts packets in the host's queue,
and netem removes them from that account (skb_orphan_partial() in the kernel's sch_netem.c) as the
wire does. The upper interface is a macvlan in passthru mode: it uses the lower one exclusively,
with its MAC address.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairc.cell.expansion import processing_netem
from fairc.cell.links import lower_name
from fairc.compiler.plan import Cell, Flow, Impairment, Interface, OnOffWorkload
from fairc.dsl.core.seeds import stream_seed

DEFAULT_NS = 10_000
"""Bound if computing takes no time and the file sets none: uniform in [0, 10 us]."""


@dataclass(frozen=True, slots=True)
class Nic:
    """The lower interface: its name, whose it is, and what it does to packets.

    delay: the host's processing; None: there is none. rate_bps: of the link that it transmits for,
    before any change; None: it transmits for none.
    """

    node: str
    upper: Interface
    name: str
    delay: Impairment | None
    rate_bps: int | None


def describe(bounds_ns: tuple[int, ...], computing_is_free: bool) -> str:
    """Describe how long a host takes per packet; bounds_ns: the limits in the file, none where it
    sets none.

    >>> describe((0, 2_500_000), True)
    'none or up to 2500us for each packet that a host sends'
    >>> describe((), False), describe((0,), True)
    ('what computing takes on this engine, nothing added', 'none')
    """
    if not bounds_ns and not computing_is_free:
        return "what computing takes on this engine, nothing added"
    if bounds_ns == (0,):
        return "none"
    limits = [f"up to {ns / 1e3:.7g}us" if ns else "none" for ns in bounds_ns or (DEFAULT_NS,)]
    return f"{' or '.join(limits)} for each packet that a host sends"


def resolved(cell: Cell, computing_is_free: bool) -> Cell:
    """Return the cell with its hosts' processing time, ns, written out."""
    if cell.processing_ns is not None:
        return cell
    return cell.model_copy(update={"processing_ns": DEFAULT_NS if computing_is_free else 0})


def nics(cell: Cell) -> dict[tuple[str, str], Nic]:
    """Return (node, interface) -> what is below it, in a resolved cell; interfaces without are left
    out.

    Every interface of a host has a random stream of its own, named after the host and the
    interface's number.
    """
    found = {}
    for node in cell.nodes:
        for number, upper in enumerate(node.interfaces):
            delay, rate_bps = None, None
            if node.kind == "host" and cell.processing_ns:
                seed = stream_seed(cell.seed, "processing", node.name, str(number))
                delay = processing_netem(cell.processing_ns, seed)
            if upper.shaper is not None and upper.shaper.transmitter == "below":
                rate_bps = upper.shaper.rate_bps
            if delay is not None or rate_bps is not None:
                name = lower_name(upper.name)
                found[node.name, upper.name] = Nic(node.name, upper, name, delay, rate_bps)
    return found


def gaps_seed(flow: Flow, cell: Cell) -> int | None:
    """Return the seed by which a source over UDP at a constant rate varies its gaps; None: it does
    not.
    """
    if not cell.processing_ns or isinstance(flow.workload, OnOffWorkload):
        return None
    return stream_seed(cell.seed, "gaps", flow.name)

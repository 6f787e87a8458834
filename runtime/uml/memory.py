"""The memory of a cell's machine, whose artefacts stay in a memory file system until its end."""

from __future__ import annotations

import math

from fairc.cell import frames
from fairc.cell.queues import queue_bytes
from fairc.cell.reading import datagrams_per_s, reading
from fairc.cell.roles import snaplen
from fairc.compiler import estimate
from fairc.compiler.plan import Cell, Interface, interfaces_of
from fairc.runtime.host import faults
from fairc.runtime.vm import recipe

# Estimates leave out small or rare contributions: small packets, events, output of programs.
MARGIN, OTHER_BYTES = 1.25, 64 << 20
# The part of memory that the file system may fill (`guest/agent.py`).
FILES_SHARE = 0.5
STEP_BYTES = 1 << 30
# A machine with less than the variant's memory, for cells that surely need no more: Linux spends a
# sixty-fourth of it on a list of its pages. The kernel can use SMALL_USABLE_BYTES of it; it, the
# image's files and the conductor take SYSTEM_BYTES, a program of the endpoints with its rings
# PROGRAM_BYTES, an emulated node NODE_BYTES. A socket takes at most twice its buffer (socket(7),
# SO_SNDBUF); where nothing limits it, what may wait behind lost packets.
SMALL_BYTES, SMALL_USABLE_BYTES = 256 << 20, 240 << 20
SYSTEM_BYTES, PROGRAM_BYTES, NODE_BYTES = 40 << 20, 5 << 20, 1 << 20
# Of a program of the user's own, with the Python that watches it and its files.
OWN_PROGRAM_BYTES = 160 << 20
# Of a ring in PROGRAM_BYTES; what a packet takes in a longer one beside its first bytes
# (endpoints/src/packet_ring.rs).
PROGRAM_RING_PACKETS, RING_PLACE_BYTES = 25_000, 80
COPIES = 3
"""Of a segment: on its way, at its sender until it is acknowledged, and at its receiver while one
before it is missing.
"""
NS = 10**9
# Up to here the packets that hosts hold (`processing`) need no memory worth counting.
SHORT_PROCESSING_NS = 50_000_000

NODES, PACKETS, RESULTS = (
    "for its nodes, flows and programs",
    "for packets under way, in queues and in sockets",
    "for captures and samples",
)
REMEDIES = {
    NODES: "use fewer nodes or flows, or a computer with more memory",
    PACKETS: "use lower rates, delays or queues, or a computer with more memory",
    RESULTS: "make it shorter or slower, choose `captures = none`, or use a computer with more"
    " memory",
}

# Values that a kernel derives from its memory and the size of its initramfs, and that could affect
# cells. Every machine except the one with a browser has Linux's values for 1 GiB.
LIKE_1_GIB = (
    "thash_entries=8192",
    "uhash_entries=512",
    'sysctl.net.ipv4.tcp_rmem="4096 131072 8091616"',
)


def machine_bytes(cell: Cell, variant: recipe.Variant) -> int:
    """Return the memory of a cell's machine, bytes: its variant's, more if it needs it, less if all
    is small.

    Page loads are short, so a machine with a browser is never larger.
    """
    if variant == recipe.BROWSER:
        return variant.memory_bytes
    files_bytes = MARGIN * estimate.results_bytes(cell) + OTHER_BYTES
    system_bytes = own_bytes(cell)
    fits = files_bytes <= FILES_SHARE * SMALL_USABLE_BYTES
    most_bytes = files_bytes + system_bytes + sockets_bytes(cell)
    if fits and is_steady(cell) and most_bytes <= SMALL_USABLE_BYTES:
        return SMALL_BYTES
    needed_bytes = max(files_bytes / FILES_SHARE, files_bytes + system_bytes + carried_bytes(cell))
    return max(variant.memory_bytes, math.ceil(needed_bytes / STEP_BYTES) * STEP_BYTES)


def needs(cell: Cell) -> faults.MemoryNeed:
    """Return what a cell needs of this computer's memory, without the margin that its machine
    gets. Bottlenecks count as busy all the time.
    """
    parts = {
        NODES: own_bytes(cell),
        PACKETS: carried_bytes(cell),
        RESULTS: estimate.results_bytes(cell),
    }
    most = max(parts, key=parts.__getitem__)
    return faults.MemoryNeed(math.ceil(sum(parts.values())), most, REMEDIES[most])


def require(cell: Cell, there_bytes: int | None = None) -> None:
    """Check that this computer has the memory that a cell needs; there_bytes: what it has.

    Raises MachineFault.
    """
    there_bytes = faults.memory_bytes() if there_bytes is None else there_bytes
    needed = needs(cell)
    if needed.memory_bytes > there_bytes:
        has = f"this computer has {there_bytes / 2**30:.1f} GiB"
        raise faults.MachineFault((f"the cell {cell.id} needs {needed}, and {has}",), needed.remedy)


def is_steady(cell: Cell) -> bool:
    """Return whether all that a cell's machine holds at once is surely counted here.

    It is not where connections open on the way (requests, page loads, proxies), where records of
    packets are kept (devices, tunnels, qlog), or where more packets may be sent than `estimate`
    expects: over UDP, or where a link changes.
    """
    changing = any(interface.changes for interface in interfaces_of(cell).values())
    if cell.devices or cell.tunnels or changing:
        return False
    if (cell.processing_ns or 0) > SHORT_PROCESSING_NS:
        return False
    return all(
        not flow.qlog and flow.transport != "udp" and flow.workload.steady for flow in cell.flows
    )


def own_bytes(cell: Cell) -> int:
    """Return the memory of the system, its programs and its nodes, bytes."""
    own_programs = 2 * sum(flow.workload.own_code is not None for flow in cell.flows)
    ring_packets = reading(cell).ring_packets
    beyond = max(0, ring_packets - PROGRAM_RING_PACKETS)
    rings_bytes = len(cell.captures) * beyond * (RING_PLACE_BYTES + snaplen(cell))
    if cell.captures_whole:
        rings_bytes += len(cell.captures) * ring_packets * snaplen(cell)
    own = SYSTEM_BYTES + PROGRAM_BYTES * programs(cell) + NODE_BYTES * len(cell.nodes)
    of_files = sum(f.workload.own_code.memory_bytes for f in cell.flows if f.workload.own_code)
    return own + rings_bytes + own_programs * OWN_PROGRAM_BYTES + of_files


def programs(cell: Cell) -> int:
    """Return how many programs run in a cell's machine at once."""
    return 1 + len(cell.captures) + 2 * len(cell.flows)


def sockets_bytes(cell: Cell) -> float:
    """Return the most memory that packets take in sockets, queues and on the way, bytes."""
    sockets = sum(
        f.connections
        * sum(
            f.waiting_bytes if limit is None else 2 * limit
            for limit in (f.sender_bytes, f.receive_buffer_bytes)
        )
        for f in cell.flows
    )
    queues = map(waiting_bytes, interfaces_of(cell).values())
    full = frames.memory_bytes(frames.MTU) / frames.FRAME_BYTES
    return sockets + sum(queues) + full * under_way_bytes(cell)


def waiting_bytes(interface: Interface) -> float:
    """Return the most memory that packets take which wait in a queue, bytes."""
    if interface.queue is None:
        return 0
    smallest = 1 + frames.SEGMENT_MEMORY_BYTES / frames.SMALLEST_FRAME_BYTES  # for a frame's byte
    return (interface.queue.limit_bytes or 0) * smallest + (
        interface.queue.limit_packets or 0
    ) * frames.memory_bytes(interface.mtu)


def under_way_bytes(cell: Cell) -> float:
    """Return the most bytes of frames that links with a delay hold at once: rate x delay.

    A link without a rate of its own carries what the fastest link does.
    """
    peers = {here: there for c in cell.cables for here, there in ((c.a, c.b), (c.b, c.a))}
    rates = {
        place: max([each.shaper.rate_bps, *(change.rate_bps or 0 for change in each.changes)])
        for place, each in interfaces_of(cell).items()
        if each.shaper is not None
    }
    fastest_bps = max(rates.values(), default=0)
    total = 0.0
    for node in cell.nodes:
        ends = [(node.name, each.name) for each in node.interfaces]
        for end, interface in zip(ends, node.interfaces, strict=True):
            states = [change.impairment for change in interface.changes]
            delays_ns = [state.delay_ns for state in (interface.impairment, *states) if state]
            coming = (rates.get(peers[other], fastest_bps) for other in ends if other != end)
            if any(delays_ns):
                total += max(coming, default=fastest_bps) * max(delays_ns) / (8 * NS)
    return total


def carried_bytes(cell: Cell) -> float:
    """Return the memory of packets that bottlenecks hold, that are under way, and that hosts keep
    until they are acknowledged, in order, or read, bytes.

    A queue that is larger than what its link carries in the whole cell counts as that.
    """
    full = frames.memory_bytes(frames.MTU) / frames.FRAME_BYTES  # for a frame's byte
    length_s = estimate.length(cell)
    waiting = sum(
        min(queue_bytes(each.queue, each.frame_bytes), each.shaper.rate_bps * length_s / 8)
        for each in interfaces_of(cell).values()
        if each.bottleneck and each.queue is not None and each.shaper is not None
    )
    datagrams, every_ns = 0.0, reading(cell).every_ns
    for flow in cell.flows:
        if flow.transport == "udp":
            kept_s = (flow.base_rtt_ns + every_ns) / NS
            memory = frames.datagram_memory_bytes(flow.packet_bytes)
            datagrams += datagrams_per_s(flow) * kept_s * memory
    copies = 1 if all(flow.transport == "udp" for flow in cell.flows) else COPIES
    return datagrams + copies * full * (waiting + under_way_bytes(cell))


def arguments(memory_bytes: int, variant: recipe.Variant) -> list[str]:
    """Return the kernel's arguments for a machine with this much memory."""
    size = f"mem={memory_bytes >> 20}M"
    return [size] if variant == recipe.BROWSER else [size, *LIKE_1_GIB]

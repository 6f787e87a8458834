"""The memory of a cell's machine, whose artefacts stay in a memory file system until its end."""

from __future__ import annotations

import math
import os

from fairc.cell import frames
from fairc.compiler import estimate
from fairc.compiler.plan import (
    BulkWorkload,
    Cell,
    FileWorkload,
    Interface,
    VideoWorkload,
)
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
# PROGRAM_BYTES, an emulated node NODE_BYTES, and a socket at most twice its buffer (socket(7),
# SO_SNDBUF).
SMALL_BYTES, SMALL_USABLE_BYTES = 256 << 20, 240 << 20
SYSTEM_BYTES, PROGRAM_BYTES, NODE_BYTES, SOCKET_SHARE = 56 << 20, 5 << 20, 1 << 20, 2
SMALLEST_FRAME_BYTES = 64
# Workloads that open all of a flow's connections at once, and send full packets.
STEADY = (BulkWorkload, FileWorkload, VideoWorkload)
# Up to here the packets that hosts hold (`processing`) need no memory worth counting.
SHORT_PROCESSING_NS = 50_000_000

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
    needed_bytes = max(files_bytes / FILES_SHARE, files_bytes + system_bytes)
    return max(variant.memory_bytes, math.ceil(needed_bytes / STEP_BYTES) * STEP_BYTES)


def require(cell: Cell, there_bytes: int | None = None) -> None:
    """Check that this host has the memory of a cell's nodes and programs; there_bytes: what it has.

    What a cell leaves behind is not counted: that estimate is an upper bound. Raises MachineFault.
    """
    if there_bytes is None:
        there_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    own = own_bytes(cell)
    if own > there_bytes:
        needs, has = (f"{each / 2**30:.1f} GiB" for each in (own, there_bytes))
        why = (
            f"the machine of the cell {cell.id} needs {needs} of memory for {len(cell.nodes)}"
            f" nodes and {len(cell.flows)} flows, and this computer has {has}"
        )
        raise faults.MachineFault(
            (why,), "use fewer nodes or flows, or a computer with more memory"
        )


def is_steady(cell: Cell) -> bool:
    """Return whether all that a cell's machine holds at once is surely counted here.

    It is not where connections open on the way (requests, page loads, proxies), where records of
    packets are kept (policers, tunnels, qlog), or where more packets may be sent than `estimate`
    expects: over UDP, or where a link changes.
    """
    changing = any(interface.changes for node in cell.nodes for interface in node.interfaces)
    if cell.peps or cell.policers or cell.tunnels or changing:
        return False
    if (cell.processing_ns or 0) > SHORT_PROCESSING_NS:
        return False
    return all(
        not flow.qlog and flow.transport != "udp" and isinstance(flow.workload, STEADY)
        for flow in cell.flows
    )


def own_bytes(cell: Cell) -> int:
    """Return the memory of the system, its programs and its nodes, bytes."""
    programs = 1 + len(cell.captures) + 2 * len(cell.flows)
    return SYSTEM_BYTES + PROGRAM_BYTES * programs + NODE_BYTES * len(cell.nodes)


def sockets_bytes(cell: Cell) -> float:
    """Return the most memory that packets take in sockets, queues and on the way, bytes."""
    buffers = sum(f.connections * (f.sender_bytes + f.receiver_bytes) for f in cell.flows)
    interfaces = [interface for node in cell.nodes for interface in node.interfaces]
    return SOCKET_SHARE * buffers + sum(held_bytes(interface) for interface in interfaces)


def held_bytes(interface: Interface) -> float:
    """Return the most memory that packets take which wait in a queue, or travel over a delay hop,
    bytes.
    """
    if interface.impairment is not None:
        return interface.impairment.limit_packets * frames.memory_bytes(interface.mtu)
    if interface.queue is None:
        return 0
    smallest = 1 + frames.SEGMENT_MEMORY_BYTES / SMALLEST_FRAME_BYTES  # memory per byte of a frame
    return (interface.queue.limit_bytes or 0) * smallest + (
        interface.queue.limit_packets or 0
    ) * frames.memory_bytes(interface.mtu)


def arguments(memory_bytes: int, variant: recipe.Variant) -> list[str]:
    """Return the kernel's arguments for a machine with this much memory."""
    size = f"mem={memory_bytes >> 20}M"
    return [size] if variant == recipe.BROWSER else [size, *LIKE_1_GIB]

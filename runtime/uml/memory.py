"""The memory of a cell's machine, whose artefacts stay in a memory file system until its end."""

from __future__ import annotations

import math

from fairc.compiler import estimate
from fairc.compiler.plan import (
    BulkWorkload,
    Cell,
    FileWorkload,
    Interface,
    VideoWorkload,
    frames,
)
from fairc.runtime.vm import recipe

# Estimates leave out small or rare contributions: small packets, events, output of programs.
MARGIN, OTHER_BYTES = 1.25, 64 << 20
# The part of memory that the file system may fill (`guest/agent.py`).
FILES_SHARE = 0.5
STEP_BYTES = 1 << 30
# A machine with less than the variant's memory, for cells that surely need no more: Linux spends a sixty-fourth of
# it on a list of its pages. The kernel can use SMALL_USABLE_BYTES of it; it, the image's files and the conductor
# take SYSTEM_BYTES, a program of the endpoints with its rings PROGRAM_BYTES, an emulated node NODE_BYTES, and a
# socket at most twice its buffer (socket(7), SO_SNDBUF).
SMALL_BYTES, SMALL_USABLE_BYTES = 256 << 20, 240 << 20
SYSTEM_BYTES, PROGRAM_BYTES, NODE_BYTES, SOCKET_SHARE = 56 << 20, 5 << 20, 1 << 20, 2
SMALLEST_FRAME_BYTES = 64
# Workloads that open all of a flow's connections at once, and send full packets.
STEADY = (BulkWorkload, FileWorkload, VideoWorkload)
# Up to here the packets that hosts hold (`processing`) need no memory worth counting.
SHORT_PROCESSING_NS = 50_000_000

# Values that a kernel derives from its memory and the size of its initramfs, and that could affect cells.
# Every machine except the one with a browser has Linux's values for 1 GiB.
LIKE_1_GIB = (
    "thash_entries=8192",
    "uhash_entries=512",
    'sysctl.net.ipv4.tcp_rmem="4096 131072 8091616"',
)


def machine_bytes(cell: Cell, variant: recipe.Variant) -> int:
    """Return the memory of a cell's machine, bytes: its variant's, more if its results need it, less if all is small.

    Page loads are short, so a machine with a browser is never larger.
    """
    if variant != recipe.PLAIN:
        return variant.memory_bytes
    files_bytes = MARGIN * estimate.results_bytes(cell) + OTHER_BYTES
    fits = files_bytes <= FILES_SHARE * SMALL_USABLE_BYTES
    if fits and is_small(cell, SMALL_USABLE_BYTES - files_bytes):
        return SMALL_BYTES
    steps = math.ceil(files_bytes / FILES_SHARE / STEP_BYTES)
    return max(variant.memory_bytes, steps * STEP_BYTES)


def is_small(cell: Cell, most_bytes: float) -> bool:
    """Return whether everything but a cell's files surely takes no more than most_bytes.

    Not small is what opens connections as it goes (requests, page loads, proxies), keeps records of packets
    (policers, qlog), or may send more packets than `estimate` expects: over UDP, or where a link changes.
    """
    changing = any(interface.changes for node in cell.nodes for interface in node.interfaces)
    if cell.peps or cell.policers or changing:
        return False
    if (cell.processing_ns or 0) > SHORT_PROCESSING_NS:
        return False
    for flow in cell.flows:
        if flow.qlog or flow.transport == "udp" or not isinstance(flow.workload, STEADY):
            return False
    programs = 1 + len(cell.captures) + 2 * len(cell.flows)
    sockets_bytes = sum(
        flow.connections * (flow.sender_bytes + flow.receiver_bytes) for flow in cell.flows
    )
    waiting_bytes = sum(
        held_bytes(interface) for node in cell.nodes for interface in node.interfaces
    )
    network_bytes = SOCKET_SHARE * sockets_bytes + waiting_bytes
    own_bytes = SYSTEM_BYTES + PROGRAM_BYTES * programs + NODE_BYTES * len(cell.nodes)
    return own_bytes + network_bytes <= most_bytes


def held_bytes(interface: Interface) -> float:
    """Return the most memory that packets take which wait in a queue, or travel over a delay hop, bytes."""
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
    return [size, *LIKE_1_GIB] if variant == recipe.PLAIN else [size]

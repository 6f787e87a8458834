"""The parts of the workload `iperf3` that matter outside the cell's program (`cell/iperf3.py` has
its commands).
"""

from __future__ import annotations

from fairc.cell import iperf3 as commands
from fairc.cell.iperf3 import LINUX_BUFFER_MAX, PROGRAM, START_UP_NS, UDP_IP_BYTES
from fairc.compiler.plan import Cell, Flow, Iperf3Workload

from .values import flow as as_value

__all__ = [
    "LINUX_BUFFER_MAX",
    "PROGRAM",
    "START_UP_NS",
    "UDP_IP_BYTES",
    "begin_ns",
    "uses",
    "window_bytes",
]


def uses(flow: Flow) -> bool:
    """Whether a flow's programs are iperf3."""
    return isinstance(flow.workload, Iperf3Workload)


def begin_ns(flow: Flow) -> int:
    """Return when the client of a flow is started, ns after the epoch."""
    return commands.begin_ns(as_value(flow))


def window_bytes(cell: Cell) -> int:
    """Return the largest window of a cell that the kernel has to allow first, bytes; 0: none."""
    return commands.window_bytes([as_value(flow) for flow in cell.flows if uses(flow)])

"""`iperf3`: the program, with `count` parallel streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fairc.cell.workloads import Iperf3Workload
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_SIZE, A_SWITCH, Quantities
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.units import DATA, TIME
from fairc.dsl.model import OnPath, Workload
from fairc.words.sizes import A_PACKET_SIZE, whole_bytes

from .workload import WorkloadEntry

BLOCK_BYTES = 4096
"""What iperf3 writes and reads at a time over TCP (`--length`); `--bytes` ends after a whole block.

A receiver of 3.18 counts only whole blocks: its default of 128 KiB takes a second at 1 Mbit/s.
"""

# What iperf3 accepts (iperf.h: MAX_TIME, MAX_TCP_BUFFER).
A_TEST_TIME = Quantities((TIME,), low=1, high=86_400)
A_TEST_BUFFER = Quantities((DATA,), low=8 * 4096, high=8 * 2**29)

LASTS = Parameter(
    "time", A_TEST_TIME, "how long it sends, in whole seconds", otherwise="as long as the flow"
)
BYTES = Parameter("bytes", A_SIZE, "bytes of all streams together, in whole blocks of 4KiB")
WINDOW = Parameter(
    "window", A_TEST_BUFFER, "socket buffers of both ends", otherwise="as the kernel tunes"
)
PACKET = Parameter(
    "packet", A_PACKET_SIZE, "IP bytes of a datagram over UDP", otherwise="the path's MTU"
)
REVERSE = Parameter("reverse", A_SWITCH, "whether the receiver is iperf3's client (-R)", "on")


@dataclass(frozen=True)
class Iperf3(Workload):
    """The workload `iperf3`; without a datagram size it takes the path's MTU."""

    plan: Iperf3Workload
    kind = "iperf3"
    noun = "iperf3"
    only_in_packets = "iperf3"

    @property
    def programs(self) -> frozenset[str]:
        """The program itself."""
        return self.plan.programs

    @property
    def ends(self) -> bool:
        """Whether it ends by itself."""
        return self.plan.time_s is not None or self.plan.bytes is not None

    def total_bytes(self, connections: int) -> int | None:
        """Return the bytes of all streams together."""
        return self.plan.bytes

    def lower(self, path: OnPath, seed: int, shared: Mapping[str, Any]) -> Iperf3Workload:
        """Return its part of the plan."""
        if path.flow.transport != "udp" or self.plan.packet_bytes is not None:
            return self.plan
        return replace(self.plan, packet_bytes=path.mtu)


def _build(use: Use[WorkloadEntry]) -> Iperf3:
    gather, time, size = Gather(), use.given(LASTS), use.given(BYTES)
    with gather.attempt():
        if time is not None and time.number.denominator != 1:
            fail(
                "out-of-range",
                "iperf3 counts `time` in whole seconds",
                time.span,
                note=f"this is {time.canonical}",
                help="take whole seconds, or leave `time` out and give the flow a `stop`",
            )
    with gather.attempt():
        if time is not None and size is not None:
            fail(
                "impossible-pair",
                "iperf3 ends after a time or after a number of bytes, not after both",
                size.span,
                help="leave one of them out",
            )
    gather.finish()
    window, packet = use.given(WINDOW), use.given(PACKET)
    return Iperf3(
        Iperf3Workload(
            time_s=None if time is None else time.whole,
            bytes=None if size is None else whole_bytes(size),
            window_bytes=None if window is None else whole_bytes(window),
            packet_bytes=None if packet is None else whole_bytes(packet),
            reverse=use[REVERSE],
        )
    )


IPERF3 = WorkloadEntry(
    name="iperf3",
    summary="The program iperf3, with `count` parallel streams",
    parameters=(LASTS, BYTES, WINDOW, PACKET, REVERSE),
    build=_build,
    over_udp=True,
)

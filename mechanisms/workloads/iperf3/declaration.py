"""Declaration of `iperf3`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fairc.cell.frames import UDP_IP_BYTES
from fairc.dsl.core.diagnostics import Diagnostic
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_SIZE, A_SWITCH, Quantities
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.units import DATA, TIME
from fairc.dsl.model import Flow, Path, Refusal, Workload
from fairc.mechanisms.workloads.workload import Quantify, WorkloadEntry
from fairc.words.ccas import TCP_CCAS
from fairc.words.sizes import A_PACKET_SIZE, whole_bytes

from .cell import BLOCK_BYTES, MAX_TCP_BUFFER, MAX_TIME_S, MOST_STREAMS, Iperf3Workload

A_TEST_TIME = Quantities((TIME,), low=1, high=MAX_TIME_S)
A_TEST_BUFFER = Quantities((DATA,), low=8 * 4096, high=8 * MAX_TCP_BUFFER)

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

    part: Iperf3Workload
    noun = "iperf3"
    only_in_packets = "iperf3"

    @property
    def ends(self) -> bool:
        """Whether it ends by itself."""
        return self.part.time_s is not None or self.part.bytes is not None

    def refused(self, flow: Flow, given: Collection[str]) -> Iterator[Refusal]:
        """Yield what iperf3 (3.12, Debian 12) does not support, and would silently ignore or
        change.
        """
        if flow.transport == "quic":
            key = "over" if "over" in given else "cca"
            use = "use TCP or UDP; over QUIC, use `bulk`"
            yield Refusal(key, "iperf3 does not support QUIC", use)
            return
        if flow.random_start is not None:
            yield Refusal(
                "start",
                "iperf3 cannot start its connections at random times",
                "it opens all of them at once, after its own handshake: give a fixed `start`,"
                " or leave it out for a seeded offset of the flow; `bulk` and `file` can start at"
                " random times",
            )
        if flow.connections > MOST_STREAMS:
            streams = f"iperf3 has at most {MOST_STREAMS} parallel streams"
            yield Refusal("count", streams, "reduce `count`")
        if "window" in given:
            yield Refusal(
                "window",
                "iperf3 cannot limit the receive window alone",
                "`iperf3(window: 256kB)` sets the socket buffers of both ends",
            )
        for word, help in self._senseless(flow.transport == "udp"):
            over = flow.transport.upper()
            yield Refusal("workload", f"`{word}` of `iperf3` is not available over {over}", help)
        if flow.transport != "udp":
            yield from self._refused_over_tcp(flow, given)

    def unsplittable(self, flow: Flow, proxies: str) -> Iterator[Diagnostic]:
        """Yield that its data could not be told from its control connection."""
        yield Diagnostic(
            "iperf3-over-pep",
            f"iperf3 of the flow `{flow.label}` cannot run over the proxies of `{proxies}`",
            flow.span,
            notes=(
                "they would also split its control connection, so its data could not be identified",
            ),
            help="use `bulk` or `file`, or check the link without its `pep`",
        )

    def doubts(self, flow: Flow, path: Path) -> Iterator[Diagnostic]:
        """Yield that its bytes are no whole number of datagrams."""
        size, payload = self.part.bytes, (self.part.packet_bytes or path.mtu) - UDP_IP_BYTES
        if flow.transport == "udp" and size is not None and size % payload:
            whole = -(-size // payload) * payload
            yield Diagnostic(
                "inexact-iperf3",
                f"iperf3 cannot send exactly {size} bytes: it would send {whole}",
                flow.span,
                notes=(f"it sends whole datagrams of {payload} bytes",),
                help=f"write `bytes: {whole}B`; for an exact size, use `file(...)`",
            )

    def _senseless(self, udp: bool) -> Iterator[tuple[str, str]]:
        """Yield the parameters that a transport has no use for, and what to do about each."""
        if udp and self.part.window_bytes:
            yield "window", "leave it out: UDP has no window"
        if not udp and self.part.packet_bytes:
            yield "packet", "leave it out: TCP sizes its segments by the path"
        if udp and self.part.reverse and self.part.bytes:
            waits = "by default its client waits for every byte, and hangs after a loss"
            yield "bytes", f"{waits}: write `reverse: off`, or use `time`"

    def _refused_over_tcp(self, flow: Flow, given: Collection[str]) -> Iterator[Refusal]:
        size = self.part.bytes
        if size is not None and size % BLOCK_BYTES:
            blocks = -(-size // BLOCK_BYTES)
            yield Refusal(
                "workload",
                f"iperf3 cannot send exactly {size} bytes: it would send {blocks * BLOCK_BYTES}",
                f"it sends whole blocks of {BLOCK_BYTES} bytes: write `bytes:"
                f" {blocks * BLOCK_BYTES // 1024}KiB`; for an exact size, use `file(...)`",
            )
        if size is not None and not self.part.reverse:
            yield Refusal(
                "workload",
                "`bytes` of `iperf3` does not work with `reverse: off` over TCP",
                "its server stops counting when its client has sent everything, before everything"
                " has arrived: leave `reverse` out, or write `time`",
            )
        if "rate" in given and self.part.reverse:
            yield Refusal(
                "rate",
                "over TCP, iperf3 paces at a `rate` only at its client",
                "write `iperf3(reverse: off)`: the sender is the client then"
                " (3.12 forgets `--fq-rate` at a server)",
            )
        cca = flow.cca or ""
        if flow.options.pacing and not (cca in TCP_CCAS and TCP_CCAS[cca].paces):
            yield Refusal(
                "pacing",
                "iperf3 paces only at a given `rate`",
                "give the flow a `rate`, or leave it out",
            )
        if flow.options.fast_open:
            yield Refusal("fast_open", "iperf3 does not support TCP Fast Open", "leave it out")
        if (flow.send_buffer_bytes or flow.receive_buffer_bytes) and not self.part.window_bytes:
            yield Refusal(
                "workload",
                "iperf3 cannot use the buffers of `hosts`: it sets both sockets to one size",
                "write `iperf3(window: 256kB)`, or leave them out of `hosts`",
            )

    def lower(self, flow: Flow, path: Path, seed: int, shared: Mapping[str, Any]) -> Iperf3Workload:
        """Return its part of the plan."""
        if flow.transport != "udp" or self.part.packet_bytes is not None:
            return self.part
        return replace(self.part, packet_bytes=path.mtu)


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


def _sentence(test: Iperf3Workload, quantity: Quantify) -> str:
    if test.time_s is not None:
        return f"iperf3 for {quantity(float(test.time_s), 's')}"
    return f"iperf3 of {quantity(test.bytes, 'B')}" if test.bytes is not None else "iperf3"


DECLARATION = WorkloadEntry(
    name="iperf3",
    summary="The program iperf3, with `count` parallel streams",
    parameters=(LASTS, BYTES, WINDOW, PACKET, REVERSE),
    build=_build,
    over_udp=True,
    sentence=_sentence,
)

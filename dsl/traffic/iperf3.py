"""The workload `iperf3(...)`: what the program can be told, and what it cannot, with the reason.

What is refused here would be ignored or changed by iperf3 without a word (3.12, Debian 12).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairc.dsl import model
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Quantity, Value

from .transports import Control

BLOCK_BYTES = 4096
"""What iperf3 writes and reads at a time over TCP (`--length`); `--bytes` ends after one.

A receiver of 3.18 counts whole blocks only: its own 128 KiB are a second at 1 Mbit/s.
"""
MOST_STREAMS = 128
"""iperf.h, MAX_STREAMS."""


_Refuse = Callable[[str, str, str], None]


def check_iperf3(
    made: model.Iperf3,
    control: Control,
    options: model.Options,
    values: Mapping[str, Value | None],
    places: Mapping[str, Span],
    flow: Span,
) -> None:
    """Refuse what iperf3 cannot be told, or would not do.

    options: of the flow, those of `hosts` included. values, places: the value of each key that is
    given, and where it stands. flow: the flow's name. Raises CompileError.
    """
    gather = Gather()

    def refuse(message: str, key: str, help: str) -> None:
        with gather.attempt():
            fail("impossible-pair", message, places.get(key, flow), help=help)

    udp = control.transport == "udp"
    if control.transport == "quic":
        refuse(
            "iperf3 has no QUIC",
            "over" if "over" in places else "cca",
            "take TCP or UDP; over QUIC there is `bulk`",
        )
        gather.finish()
    if "start" in values and not isinstance(values["start"], Quantity):
        refuse(
            "iperf3 cannot start its connections at drawn times",
            "start",
            "it opens all of them at once, after a handshake of its own: give a fixed `start`,"
            " or leave it out for a seeded offset of the flow; `bulk` and `file` can be drawn",
        )
    count = values.get("count")
    if isinstance(count, Quantity) and count.number > MOST_STREAMS:
        refuse(
            f"iperf3 has at most {MOST_STREAMS} parallel streams", "count", "make `count` smaller"
        )
    if "window" in values:
        refuse(
            "iperf3 cannot limit the receive window alone",
            "window",
            "`iperf3(window: 256kB)` sets the socket buffers of both ends",
        )
    for wrong, word, help in (
        (udp and made.window_bytes, "window", "leave it out: UDP has no window"),
        (not udp and made.packet_bytes, "packet", "TCP's segments are what the path takes: leave it out"),
        (
            udp and made.reverse and made.size_bytes,
            "bytes",
            "its client waits for all to arrive, and never ends after a loss: `reverse: off`, or `time`",
        ),
    ):  # fmt: skip
        if wrong:
            over = control.transport.upper()
            refuse(f"`{word}` of `iperf3` cannot be over {over}", "workload", help)
    if not udp:
        _check_tcp(made, control, options, values, refuse)
    gather.finish()


def _check_tcp(
    made: model.Iperf3,
    control: Control,
    options: model.Options,
    values: Mapping[str, Value | None],
    refuse: _Refuse,
) -> None:
    size = made.size_bytes
    if size is not None and size % BLOCK_BYTES:
        blocks = -(-size // BLOCK_BYTES)
        refuse(
            f"iperf3 moves no exact size: of {size} bytes it would make {blocks * BLOCK_BYTES}",
            "workload",
            f"it sends whole blocks of {BLOCK_BYTES} bytes: write `bytes: {blocks * BLOCK_BYTES // 1024}KiB`;"
            " an exact size is `file(...)`",
        )
    if size is not None and not made.reverse:
        refuse(
            "`bytes` of `iperf3` cannot be with `reverse: off` over TCP",
            "workload",
            "its server stops counting when its client has sent all, before all has come:"
            " leave `reverse` out, or write `time`",
        )
    if values.get("rate") is not None and made.reverse:
        refuse(
            "iperf3 paces at a `rate` over TCP at its client alone",
            "rate",
            "write `iperf3(reverse: off)`: the sender is the client then"
            " (3.12 forgets `--fq-rate` at a server)",
        )
    if options.pacing and not control.paces:
        refuse("iperf3 paces at a rate only", "pacing", "give the flow a `rate`, or leave it out")
    if options.fast_open:
        refuse("iperf3 does not do TCP Fast Open", "fast_open", "leave it out")
    buffers = (options.send_buffer_bytes, options.receive_buffer_bytes)
    if any(buffers) and made.window_bytes is None:
        refuse(
            "iperf3 cannot have the buffers of `hosts`: it sets both of its sockets alike",
            "workload",
            "write `iperf3(window: 256kB)`, or leave them out of `hosts`",
        )

"""The workload `iperf3(...)`: which options the program supports, and which it does not, with the
reason.

What is refused here, iperf3 (3.12, Debian 12) would silently ignore or change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairc.cell.workloads import MOST_STREAMS, Iperf3Workload
from fairc.dsl import model
from fairc.dsl.blocks import Settings
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.problems import Gather, fail
from fairc.words.blocks import flow as keys
from fairc.words.workloads.iperf3 import BLOCK_BYTES

from .transports import Control

__all__ = ["BLOCK_BYTES", "check_iperf3"]

_Refuse = Callable[[str, Parameter[Any], str], None]


def check_iperf3(
    test: Iperf3Workload, control: Control, options: model.Options, settings: Settings
) -> None:
    """Refuse options that iperf3 does not support or would ignore.

    options: of the flow, including those of `hosts`. settings: of the flow. Raises CompileError.
    """
    gather = Gather()

    def refuse(message: str, key: Parameter[Any], help: str) -> None:
        with gather.attempt():
            fail("impossible-pair", message, settings.place(key), help=help)

    udp = control.transport == "udp"
    if control.transport == "quic":
        refuse(
            "iperf3 does not support QUIC",
            keys.OVER if keys.OVER in settings else keys.CCA,
            "use TCP or UDP; over QUIC, use `bulk`",
        )
        gather.finish()
    start = settings.given(keys.START)
    if isinstance(start, Use):
        refuse(
            "iperf3 cannot start its connections at random times",
            keys.START,
            "it opens all of them at once, after its own handshake: give a fixed `start`,"
            " or leave it out for a seeded offset of the flow; `bulk` and `file` can start at"
            " random times",
        )
    if settings[keys.COUNT].number > MOST_STREAMS:
        streams = f"iperf3 has at most {MOST_STREAMS} parallel streams"
        refuse(streams, keys.COUNT, "reduce `count`")
    if keys.WINDOW in settings:
        refuse(
            "iperf3 cannot limit the receive window alone",
            keys.WINDOW,
            "`iperf3(window: 256kB)` sets the socket buffers of both ends",
        )
    for wrong, word, help in (
        (udp and test.window_bytes, "window", "leave it out: UDP has no window"),
        (
            not udp and test.packet_bytes,
            "packet",
            ("leave it out: TCP sizes its segments by the path"),
        ),
        (
            udp and test.reverse and test.bytes,
            "bytes",
            (
                "by default its client waits for every byte, and hangs after a loss: write"
                " `reverse: off`,"
                " or use `time`"
            ),
        ),
    ):
        if wrong:
            over = control.transport.upper()
            refuse(f"`{word}` of `iperf3` is not available over {over}", keys.WORKLOAD, help)
    if not udp:
        _check_tcp(test, control, options, settings, refuse)
    gather.finish()


def _check_tcp(
    test: Iperf3Workload,
    control: Control,
    options: model.Options,
    settings: Settings,
    refuse: _Refuse,
) -> None:
    size = test.bytes
    if size is not None and size % BLOCK_BYTES:
        blocks = -(-size // BLOCK_BYTES)
        refuse(
            f"iperf3 cannot send exactly {size} bytes: it would send {blocks * BLOCK_BYTES}",
            keys.WORKLOAD,
            f"it sends whole blocks of {BLOCK_BYTES} bytes: write `bytes:"
            f" {blocks * BLOCK_BYTES // 1024}KiB`;"
            " for an exact size, use `file(...)`",
        )
    if size is not None and not test.reverse:
        refuse(
            "`bytes` of `iperf3` does not work with `reverse: off` over TCP",
            keys.WORKLOAD,
            "its server stops counting when its client has sent everything, before everything has"
            " arrived:"
            " leave `reverse` out, or write `time`",
        )
    if keys.RATE in settings and test.reverse:
        refuse(
            "over TCP, iperf3 paces at a `rate` only at its client",
            keys.RATE,
            "write `iperf3(reverse: off)`: the sender is the client then"
            " (3.12 forgets `--fq-rate` at a server)",
        )
    if options.pacing and not control.paces:
        refuse(
            "iperf3 paces only at a given `rate`",
            keys.PACING,
            "give the flow a `rate`, or leave it out",
        )
    if options.fast_open:
        refuse("iperf3 does not support TCP Fast Open", keys.FAST_OPEN, "leave it out")
    buffers = (options.send_buffer_bytes, options.receive_buffer_bytes)
    if any(buffers) and test.window_bytes is None:
        refuse(
            "iperf3 cannot use the buffers of `hosts`: it sets both sockets to one size",
            keys.WORKLOAD,
            "write `iperf3(window: 256kB)`, or leave them out of `hosts`",
        )

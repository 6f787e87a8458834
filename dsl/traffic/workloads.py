"""A workload as written to a workload of the model."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import cast

from fairc.dsl import model
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entry, Use, bind
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.units import NUMBER, PACKETS
from fairc.dsl.core.values import Applied, Quantity, Symbol, Value
from fairc.words.distributions import DISTRIBUTIONS
from fairc.words.traffic import WORKLOADS

from .pages import page_of

SHORTEST_MEAN_S = Fraction(1, 10**6)
"""A program would do nothing but draw shorter times."""

NO_PAUSE = model.Distribution("constant", {"value": Fraction(0)})

KIB, MB, S = 1024, 10**6, 10**9


def workload_of(value: Value) -> tuple[model.Workload, Value | None]:
    """Return the workload, and the limit of the receive window where `bulk(window: ...)` gives one.

    Raises CompileError for what no program could do.
    """
    use = bind(WORKLOADS, value, "`workload`")
    window = use.arguments.get("window") if use.entry.name == "bulk" else None
    return _MAKE[use.entry.name](use), window


def distribution(value: Value, use: str, unit: Fraction | int = 1) -> model.Distribution:
    """Return the distribution that a value stands for; a plain quantity is a constant.

    unit: how many base units the arguments are counted in (8 for bytes), their shape excepted.
    """
    if isinstance(value, Quantity):
        return model.Distribution("constant", {"value": value.number / unit})
    bound = bind(DISTRIBUTIONS, value, use)
    return model.Distribution(
        bound.entry.name,
        {
            name: given.number if given.dimension == NUMBER else given.number / unit
            for name, given in bound.arguments.items()
            if isinstance(given, Quantity)
        },
    )


def random_start(value: Value | None) -> model.Distribution | None:
    """Return the distribution that a start is drawn from, if it is one."""
    return distribution(value, "`start`") if isinstance(value, Symbol | Applied) else None


def whole_bytes(size: Quantity) -> int:
    """Return a size in whole bytes. Raises CompileError if it is less than one."""
    number = round(size.number / 8)
    if size.number < 8:
        fail("out-of-range", "this is less than one byte", size.span, f"{size.canonical}")
    return number


def mean(random: model.Distribution) -> Fraction:
    """Return the mean of a distribution; of a normal one, that before it is cut at zero."""
    arguments = random.arguments
    if random.kind == "uniform":
        return (arguments["low"] + arguments["high"]) / 2
    return arguments["value" if random.kind == "constant" else "mean"]


def _file(use: Use[Entry]) -> model.File:
    size = use.arguments["size"]
    assert isinstance(size, Quantity)
    if size.number < 8:
        fail("out-of-range", "a file has at least one byte", size.span)
    return model.File(round(size.number / 8))


def _bulk(use: Use[Entry]) -> model.Bulk:
    return model.Bulk()


def _video(use: Use[Entry]) -> model.Video:
    play, stall = _ns(use, "play", 22 * S // 10), _ns(use, "stall", 4 * S // 10)
    if stall >= play:
        place = use.arguments.get("stall") or use.arguments["play"]
        fail(
            "out-of-range",
            "the player would stall before it has started",
            place.span,
            note=f"`stall` is {stall / S:g} s, `play` is {play / S:g} s",
            help="`stall` is less than `play`",
        )
    factor = use.arguments.get("factor")
    return model.Video(
        bitrate_bps=_bps(use, "bitrate"),
        length_ns=_ns(use, "length", 0),
        burst_ns=_ns(use, "burst", 40 * S),
        chunk_bytes=_size(use, "chunk", 64 * KIB),
        factor=float(factor.number) if isinstance(factor, Quantity) else 1.25,
        play_ns=play,
        stall_ns=stall,
        send_buffer_bytes=_size(use, "send_buffer", 2 * MB),
    )


def _requests(use: Use[Entry]) -> model.Requests:
    every = distribution(use.arguments["every"], "`every` of `requests`")
    _lasting(every, use, "every")
    size, share = use.arguments["size"], use.arguments.get("share")
    packets = _in_packets(size)
    return model.Requests(
        distribution(size, "`size` of `requests`", 1 if packets else 8),
        every,
        packets=packets,
        share=share.number if isinstance(share, Quantity) else None,
    )


def _in_packets(size: Value) -> bool:
    """Whether a size, or what one is drawn from, counts packets; of a plain one whole packets."""
    if not isinstance(size, Quantity):
        bound = bind(DISTRIBUTIONS, size, "`size` of `requests`")
        given = (value for value in bound.arguments.values() if isinstance(value, Quantity))
        return any(value.dimension == PACKETS for value in given)
    if size.dimension == PACKETS and size.number.denominator != 1:
        fail(
            "out-of-range",
            "a transfer has a whole number of packets",
            size.span,
            note=f"this is {size.canonical}",
            help="write a size in bytes for what is no whole packet",
        )
    return size.dimension == PACKETS


def _onoff(use: Use[Entry]) -> model.OnOff:
    on = distribution(use.arguments["on"], "`on` of `onoff`")
    _lasting(on, use, "on")
    off = distribution(use.arguments["off"], "`off` of `onoff`")
    packet = use.arguments.get("packet")
    packet_bytes = whole_bytes(packet) if isinstance(packet, Quantity) else None
    return model.OnOff(_bps(use, "rate"), on, off, packet_bytes)


def _load(use: Use[Entry]) -> model.Load:
    given = use.arguments
    client, browser = given.get("client"), given.get("browser")
    if client is not None and browser is not None:
        fail(
            "duplicate-argument",
            "`client` and `browser` both say who loads the page",
            browser.span,
            labels=(Label(client.span, "given here, too"),),
            help="keep `client`: `chromium` is a browser, `plain` a client without one",
        )
    loads, idle = given.get("loads"), given.get("idle")
    return model.Load(
        page=page_of(given["page"]),
        client=cast(model.Client, _word(client or browser, "chromium")),
        http=cast(model.HttpVersion, _word(given.get("http"), "h2")),
        loads=int(loads.number) if isinstance(loads, Quantity) else 1,
        idle=distribution(idle, "`idle` of `load`") if idle else NO_PAUSE,
        timeout_ns=_ns(use, "timeout", 0) or None,
    )


def _iperf3(use: Use[Entry]) -> model.Iperf3:
    gather, given = Gather(), use.arguments
    time, size = given.get("time"), given.get("bytes")
    with gather.attempt():
        if isinstance(time, Quantity) and time.number.denominator != 1:
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
    return model.Iperf3(
        time_s=int(time.number) if isinstance(time, Quantity) else None,
        size_bytes=_size(use, "bytes", 0) or None,
        window_bytes=_size(use, "window", 0) or None,
        packet_bytes=_size(use, "packet", 0) or None,
        reverse=_word(given.get("reverse"), "on") == "on",
    )


_MAKE: dict[str, Callable[[Use[Entry]], model.Workload]] = {
    "file": _file,
    "bulk": _bulk,
    "video": _video,
    "requests": _requests,
    "onoff": _onoff,
    "load": _load,
    "iperf3": _iperf3,
}
"""What makes each workload that runs, by its registry name."""


def _lasting(random: model.Distribution, use: Use[Entry], name: str) -> None:
    if mean(random) < SHORTEST_MEAN_S:
        fail(
            "out-of-range",
            f"`{name}` of `{use.entry.name}` must last 1us or more on average",
            use.arguments[name].span,
        )


def _bps(use: Use[Entry], name: str) -> int:
    rate = use.arguments[name]
    assert isinstance(rate, Quantity)
    return max(1, round(rate.number))


def _ns(use: Use[Entry], name: str, default: int) -> int:
    given = use.arguments.get(name)
    return given.ns if isinstance(given, Quantity) else default


def _size(use: Use[Entry], name: str, default: int) -> int:
    given = use.arguments.get(name)
    return whole_bytes(given) if isinstance(given, Quantity) else default


def _word(value: Value | None, default: str) -> str:
    return value.name if isinstance(value, Symbol) else default

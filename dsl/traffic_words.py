"""The words of traffic: transports, web pages, workloads."""

from __future__ import annotations

from .entries import Entries, Entry, Parameter
from .kinds import (
    A_COUNT,
    A_FACTOR,
    A_POSITIVE_TIME,
    A_RATE,
    A_SIZE,
    A_SWITCH,
    A_TIME,
    Quantities,
    Words,
)
from .random_words import A_RANDOM_SIZE, A_RANDOM_TIME
from .registry import Registry
from .units import DATA

P = Parameter

# What the kernel takes as it is; it makes smaller buffers larger.
A_BUFFER = Quantities((DATA,), low=8 * 4096, high=8 * 2**30 - 8)
A_WINDOW = Quantities((DATA,), low=8 * 2048, high=8 * (65_535 << 14))
A_PACKET_SIZE = Quantities((DATA,), low=8 * 64, high=8 * 1500)

TRANSPORTS: Registry[Entry] = Registry(
    "transport",
    "transport",
    [
        Entry("tcp", "TCP of the kernel", runs=True),
        Entry("udp", "UDP, without congestion control", runs=True),
        Entry(
            "quic",
            "QUIC (RFC 9000) in user space",
            (
                P("stack", Words("QUIC stack", ("quinn",)), "the implementation", "quinn"),
                P("qlog", A_SWITCH, "write a qlog file", "off"),
            ),
            runs=True,
        ),
    ],
)

PAGES: Registry[Entry] = Registry(
    "page",
    "page",
    [
        Entry(
            "page",
            "A web page by the sizes of its objects",
            (P("sizes", A_SIZE, "size of an object", required=True, repeated=True),),
            runs=True,
        ),
    ],
)

WORKLOADS: Registry[Entry] = Registry(
    "workload",
    "workload",
    [
        Entry(
            "file",
            "Each connection moves exactly this many bytes",
            (P("size", A_SIZE, "bytes to move", required=True),),
            runs=True,
        ),
        Entry(
            "bulk",
            "Each connection sends for as long as the flow lasts",
            (P("window", A_WINDOW, "limit of the receive window"),),
            runs=True,
        ),
        Entry(
            "load",
            "A browser loads a page",
            (
                P("page", Entries(PAGES), "what is loaded", required=True),
                P("browser", Words("browser", ("chromium",)), "which browser", "chromium"),
                P("http", Words("HTTP version", ("h1", "h2", "h3")), "HTTP version", "h2"),
                P("loads", A_COUNT, "loads one after the other", "1"),
                P("idle", A_RANDOM_TIME, "pause between loads", "0s"),
            ),
        ),
        Entry(
            "video",
            "A progressive video player",
            (
                P("bitrate", A_RATE, "rate of the video", required=True),
                P("length", A_POSITIVE_TIME, "playing time", required=True),
                P("burst", A_TIME, "playing time sent at full speed at first", "40s"),
                P("chunk", A_SIZE, "size of the pieces sent after that", "64KiB"),
                P("factor", A_FACTOR, "sending rate over the bit rate after that", "1.25"),
                P("play", A_POSITIVE_TIME, "buffered playing time that starts the player", "2.2s"),
                P("stall", A_TIME, "buffered playing time below which it stalls", "0.4s"),
                P("send_buffer", A_BUFFER, "send buffer of the server", "2MB"),
            ),
            runs=True,
        ),
        Entry(
            "requests",
            "Short transfers, each asked for at its time",
            (
                P("size", A_RANDOM_SIZE, "bytes of each answer", required=True),
                P("every", A_RANDOM_TIME, "time between requests", required=True),
            ),
            runs=True,
        ),
        Entry(
            "onoff",
            "A source that sends at a rate, and pauses",
            (
                P("rate", A_RATE, "rate while sending", required=True),
                P("on", A_RANDOM_TIME, "how long it sends", required=True),
                P("off", A_RANDOM_TIME, "how long it pauses", required=True),
                P("packet", A_PACKET_SIZE, "IP bytes of a datagram over UDP", "1500B"),
            ),
            runs=True,
        ),
    ],
)

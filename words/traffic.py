"""The words of traffic: transports, web pages, workloads."""

from __future__ import annotations

from fairc.dsl.core.entries import Entries, Entry, Parameter
from fairc.dsl.core.kinds import (
    A_COUNT,
    A_FACTOR,
    A_POSITIVE_SHARE,
    A_POSITIVE_TIME,
    A_RATE,
    A_SIZE,
    A_SWITCH,
    A_TIME,
    Groups,
    Quantities,
    Texts,
    Words,
)
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import DATA, NUMBER, TIME

from .distributions import A_RANDOM_TIME, A_RANDOM_TRANSFER

P = Parameter

# What the kernel takes as it is; it makes smaller buffers larger.
A_BUFFER = Quantities((DATA,), low=8 * 4096, high=8 * 2**30 - 8)
A_WINDOW = Quantities((DATA,), low=8 * 2048, high=8 * (65_535 << 14))
A_PACKET_SIZE = Quantities((DATA,), low=8 * 64, high=8 * 9000)
# What iperf3 takes (iperf.h: MAX_TIME, MAX_TCP_BUFFER).
A_TEST_TIME = Quantities((TIME,), low=1, high=86_400)
A_TEST_BUFFER = Quantities((DATA,), low=8 * 4096, high=8 * 2**29)

BROWSERS = ("chromium",)
CLIENTS = (*BROWSERS, "plain")
LOADS = Quantities((NUMBER,), low=1, high=100, whole=True)
OBJECTS = Groups(A_SIZE, Quantities((NUMBER,), low=1, high=1000, whole=True))

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
                P("image", Texts(), "a container image of another stack, instead of `stack`"),
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
            "A web page: by the sizes of its objects, by its levels, or as it was recorded",
            (
                P(
                    "sizes",
                    A_SIZE,
                    "size of an object; the first one is the document",
                    repeated=True,
                ),
                P("html", A_SIZE, "size of the document"),
                P("objects", OBJECTS, "sizes of the other objects, in groups"),
                P("depth", A_COUNT, "levels of them, each named by a script of the one above", "1"),
                P("har", Texts(), "a recording (HAR) in the folder of the experiment"),
            ),
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
            "A client loads a page, each time over a new connection",
            (
                P("page", Entries(PAGES), "what is loaded", required=True),
                P("client", Words("client", CLIENTS), "a browser, or `plain`: none", "chromium"),
                P("browser", Words("browser", BROWSERS), "the same as `client`"),
                P("http", Words("HTTP version", ("h1", "h2", "h3")), "HTTP version", "h2"),
                P("loads", LOADS, "loads one after the other", "1"),
                P("idle", A_RANDOM_TIME, "pause between loads", "0s"),
                P("timeout", A_POSITIVE_TIME, "a load that takes longer has failed", "by its size"),
            ),
            runs=True,
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
                P("size", A_RANDOM_TRANSFER, "payload of each answer", required=True),
                P("every", A_RANDOM_TIME, "time between requests", required=True),
                P(
                    "share",
                    A_POSITIVE_SHARE,
                    "part that this flow has of the arrivals of all flows with a `share`",
                    "arrivals of its own",
                ),
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
                P("packet", A_PACKET_SIZE, "IP bytes of a datagram over UDP", "the path's MTU"),
            ),
            runs=True,
        ),
        Entry(
            "iperf3",
            "The program iperf3, with `count` parallel streams",
            (
                P("time", A_TEST_TIME, "how long it sends, in whole seconds", "as the flow lasts"),
                P("bytes", A_SIZE, "bytes of all streams together, in whole blocks of 4KiB"),
                P("window", A_TEST_BUFFER, "socket buffers of both ends", "as the kernel tunes"),
                P("packet", A_PACKET_SIZE, "IP bytes of a datagram over UDP", "the path's MTU"),
                P("reverse", A_SWITCH, "whether the receiver is iperf3's client (-R)", "on"),
            ),
            runs=True,
        ),
    ],
)

"""The words of traffic: CCAs, transports, web pages, workloads."""

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
    Words,
)
from .random_words import A_RANDOM_SIZE, A_RANDOM_TIME
from .registry import Registry

P = Parameter

_HYSTART = P("hystart", A_SWITCH, "leave slow start early", "on", runs=False)
_CONNECTIONS = P(
    "connections", A_COUNT, "number of connections that one emulates (QUIC)", "1", runs=False
)

_KERNEL = {
    "bbr": "Bottleneck Bandwidth and Round-trip time, version 1",
    "bic": "Binary Increase Congestion control",
    "cdg": "CAIA Delay-Gradient",
    "dctcp": "Data Center TCP; needs ECN to be more than Reno",
    "highspeed": "HighSpeed TCP (RFC 3649)",
    "htcp": "Hamilton TCP",
    "hybla": "TCP Hybla, for satellite links",
    "illinois": "TCP Illinois",
    "lp": "TCP Low Priority",
    "nv": "New Vegas",
    "reno": "NewReno (RFC 5681)",
    "scalable": "Scalable TCP",
    "vegas": "TCP Vegas",
    "veno": "TCP Veno",
    "westwood": "TCP Westwood+",
    "yeah": "Yet Another Highspeed TCP",
}

CCAS: Registry[Entry] = Registry(
    "CCA",
    "cca",
    [
        Entry("cubic", "CUBIC (RFC 9438), the default of Linux", (_HYSTART, _CONNECTIONS), True),
        *(Entry(name, summary, runs=True) for name, summary in _KERNEL.items()),
        Entry("pcc", "Performance-oriented Congestion Control (over QUIC)"),
        Entry("ledbat", "Low Extra Delay Background Transport (over QUIC)"),
    ],
)

TRANSPORTS: Registry[Entry] = Registry(
    "transport",
    "transport",
    [
        Entry("tcp", "TCP of the kernel", runs=True),
        Entry("udp", "UDP, without congestion control"),
        Entry(
            "quic",
            "QUIC in user space",
            (P("stack", Words("QUIC stack", ("quinn",)), "the implementation", "quinn"),),
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
            (P("window", A_SIZE, "limit of the receive window", runs=False),),
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
                P("burst", A_TIME, "playing time sent at full speed at first"),
                P("chunk", A_SIZE, "size of the pieces sent after that"),
                P("factor", A_FACTOR, "sending rate over the bit rate after that"),
            ),
        ),
        Entry(
            "requests",
            "Short flows, one after the other",
            (
                P("size", A_RANDOM_SIZE, "bytes of each answer", required=True),
                P("every", A_RANDOM_TIME, "time between requests", required=True),
            ),
        ),
        Entry(
            "onoff",
            "A source that sends at a rate, and pauses",
            (
                P("rate", A_RATE, "rate while sending", required=True),
                P("on", A_RANDOM_TIME, "how long it sends", required=True),
                P("off", A_RANDOM_TIME, "how long it pauses", required=True),
            ),
        ),
    ],
)

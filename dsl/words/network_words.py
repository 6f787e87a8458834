"""The words of networks: loss models, jitter, queues."""

from __future__ import annotations

from fairc.dsl.core.entries import Either, Entries, Entry, Parameter
from fairc.dsl.core.kinds import (
    A_COUNT,
    A_POSITIVE_SHARE,
    A_POSITIVE_TIME,
    A_PROBABILITY,
    A_QUEUE_SIZE,
    A_RATE,
    A_SHARE,
    A_SWITCH,
    A_TIME,
    PACKET_COUNT,
    Quantities,
    Texts,
    Words,
)
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import DATA, PACKETS, SHARE, TIME

P = Parameter

LOSSES: Registry[Entry] = Registry(
    "loss model",
    "loss-model",
    [
        Entry(
            "loss",
            "Independent random loss; `both` applies it to the opposite direction as well",
            (
                P("probability", A_PROBABILITY, "share of packets lost in this direction"),
                P("both", A_PROBABILITY, "share of packets lost in each direction"),
            ),
            runs=True,
        ),
        Entry(
            "gilbert_elliott",
            "Losses in bursts: a good and a bad state, one step of the chain per packet",
            (
                P("p", A_SHARE, "probability of going from good to bad", required=True),
                P("r", A_POSITIVE_SHARE, "probability of going from bad to good", required=True),
                P("h", A_SHARE, "probability that a packet passes in the bad state", "0%"),
                P("k", A_SHARE, "probability that a packet passes in the good state", "100%"),
            ),
            runs=True,
        ),
    ],
)

A_LOSS = Either(A_PROBABILITY, LOSSES, "a percentage or a loss model")

JITTERS: Registry[Entry] = Registry(
    "jitter model",
    "jitter-model",
    [
        Entry(
            "jitter",
            "A random part of the delay, drawn for each packet; packets stay in order",
            (
                P("deviation", A_TIME, "how far the delay varies around `delay`", required=True),
                P(
                    "distribution",
                    Words("distribution", ("uniform", "normal", "pareto", "paretonormal")),
                    "of the delay: `uniform` in delay -+ deviation, else netem's tables",
                    "uniform",
                ),
                P("overtake", A_SWITCH, "packets with less delay overtake others", "off"),
            ),
            runs=True,
        ),
    ],
)

RATES: Registry[Entry] = Registry(
    "rate model",
    "rate-model",
    [
        Entry(
            "trace",
            "The rate of a recording in Mahimahi's format, from the cell's begin, again and again",
            (
                P("file", Texts(), "a file in the folder of the experiment", required=True),
                P("every", A_POSITIVE_TIME, "length of the bins that it is averaged over", "100ms"),
            ),
            runs=True,
        ),
    ],
)

A_LINK_RATE = Either(A_RATE, RATES, "a rate or `trace(...)`", bare=False)
A_JITTER = Either(A_TIME, JITTERS, "a time or `jitter(...)`", bare=False)

_SIZE = P("size", A_QUEUE_SIZE, "bytes, packets, time at the link's rate, or BDPs", "1000pkt")
A_THRESHOLD = Quantities((SHARE, DATA, PACKETS, TIME), open_low=True)
_ECN = P("ecn", A_SWITCH, "mark packets instead of dropping them", "off")
_CODEL_TARGET = P("target", A_POSITIVE_TIME, "acceptable standing delay", "5ms")
_INTERVAL = P("interval", A_POSITIVE_TIME, "time in which the delay must come down", "100ms")
_PIE_TARGET = P("target", A_POSITIVE_TIME, "delay that is aimed at", "15ms")
_SCALED = P("scaled", A_SWITCH, "raise the target to 1.5 full frames on slow links", "off")
_FLOWS = P("flows", A_COUNT, "number of queues that flows are hashed to", "1024")

QUEUES: Registry[Entry] = Registry(
    "queue",
    "queue",
    [
        Entry("fifo", "First in, first out; the tail is dropped", (_SIZE,), runs=True),
        Entry(
            "red",
            "Random Early Detection; percentages are of `limit`",
            (
                P("limit", A_QUEUE_SIZE, "size of the queue", "1000pkt"),
                P("min", A_THRESHOLD, "average queue where dropping begins", "max / 3"),
                P("max", A_THRESHOLD, "average queue of the highest probability", "limit / 4"),
                P("pmax", A_POSITIVE_SHARE, "probability at the upper threshold", "2%"),
                _ECN,
            ),
            runs=True,
        ),
        Entry(
            "codel",
            "Controlled Delay",
            (_SIZE, _CODEL_TARGET, _INTERVAL, _ECN, _SCALED),
            runs=True,
        ),
        Entry(
            "fq_codel",
            "Fair queueing with Controlled Delay",
            (
                *(_SIZE, _CODEL_TARGET, _INTERVAL, _FLOWS),
                P("ecn", A_SWITCH, "mark packets instead of dropping them", "on"),
                _SCALED,
            ),
            runs=True,
        ),
        Entry(
            "pie",
            "Proportional Integral controller Enhanced",
            (_SIZE, _PIE_TARGET, _ECN, _SCALED),
            runs=True,
        ),
        Entry(
            "fq_pie",
            "Fair queueing with PIE",
            (_SIZE, _PIE_TARGET, _FLOWS, _ECN, _SCALED),
            runs=True,
        ),
        Entry(
            "fq",
            "Fair queueing, one queue per flow",
            (_SIZE, P("flow_limit", PACKET_COUNT, "most packets of one flow", "100pkt")),
            runs=True,
        ),
        Entry(
            "sfq", "Stochastic fair queueing, at most 127 packets of a flow", (_SIZE,), runs=True
        ),
        Entry(
            "cake",
            "Common Applications Kept Enhanced, without its own shaper",
            (_SIZE, P("rtt", A_POSITIVE_TIME, "round trip that its CoDel is made for", "100ms")),
            runs=True,
        ),
    ],
)

A_QUEUE = Entries(QUEUES)

"""The words of networks: loss models, distributions, queues, policers, topologies."""

from __future__ import annotations

from .entries import Entries, Entry, Losses, Parameter
from .kinds import (
    A_COUNT,
    A_PACKET_RATE,
    A_POSITIVE_SHARE,
    A_POSITIVE_TIME,
    A_PROBABILITY,
    A_QUEUE_SIZE,
    A_RATE,
    A_SHARE,
    A_SIZE,
    A_SWITCH,
    A_TIME,
    PACKET_COUNT,
    Either,
    Quantities,
    Words,
)
from .registry import Registry
from .units import DATA, NUMBER, PACKETS, SHARE, TIME

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

A_LOSS = Losses(LOSSES, A_PROBABILITY)

_SPREAD = Quantities((TIME, DATA, NUMBER))

DISTRIBUTIONS: Registry[Entry] = Registry(
    "distribution",
    "distribution",
    [
        Entry(
            "uniform",
            "Any value between two limits, all equally likely",
            (
                P("low", _SPREAD, "lowest value", required=True),
                P("high", _SPREAD, "highest value", required=True),
            ),
        ),
        Entry(
            "exponential",
            "Memoryless, with a mean",
            (P("mean", _SPREAD, "mean value", required=True),),
        ),
        Entry(
            "pareto",
            "Heavy-tailed, with a mean and a shape",
            (
                P("mean", _SPREAD, "mean value", required=True),
                P("shape", Quantities((NUMBER,), low=1, open_low=True), "shape", required=True),
            ),
        ),
        Entry(
            "gamma",
            "Gamma, with a mean and a shape",
            (
                P("mean", _SPREAD, "mean value", required=True),
                P("shape", Quantities((NUMBER,), open_low=True), "shape", required=True),
            ),
        ),
        Entry(
            "normal",
            "Normal, cut at zero",
            (
                P("mean", _SPREAD, "mean value", required=True),
                P("deviation", _SPREAD, "standard deviation", required=True),
            ),
        ),
        Entry(
            "constant", "Always the same", (P("value", _SPREAD, "the value", required=True),)
        ),
    ],
)  # fmt: skip

A_DISTRIBUTION = Entries(DISTRIBUTIONS)
A_RANDOM_TIME = Either(A_TIME, A_DISTRIBUTION)
A_RANDOM_SIZE = Either(A_SIZE, A_DISTRIBUTION)

_SIZE = P("size", A_QUEUE_SIZE, "bytes, packets, time at the link's rate, or BDPs", "1000pkt")
A_THRESHOLD = Quantities((SHARE, DATA, PACKETS, TIME), open_low=True)
_ECN = P("ecn", A_SWITCH, "mark packets instead of dropping them", "off")
_CODEL_TARGET = P("target", A_POSITIVE_TIME, "acceptable standing delay", "5ms")
_INTERVAL = P("interval", A_POSITIVE_TIME, "time in which the delay must come down", "100ms")
_PIE_TARGET = P("target", A_POSITIVE_TIME, "delay that is aimed at", "15ms")
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
        Entry("codel", "Controlled Delay", (_SIZE, _CODEL_TARGET, _INTERVAL, _ECN), runs=True),
        Entry(
            "fq_codel",
            "Fair queueing with Controlled Delay",
            (
                *(_SIZE, _CODEL_TARGET, _INTERVAL, _FLOWS),
                P("ecn", A_SWITCH, "mark packets instead of dropping them", "on"),
            ),
            runs=True,
        ),
        Entry(
            "pie",
            "Proportional Integral controller Enhanced",
            (_SIZE, _PIE_TARGET, _ECN),
            runs=True,
        ),
        Entry("fq_pie", "Fair queueing with PIE", (_SIZE, _PIE_TARGET, _FLOWS, _ECN), runs=True),
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

HARSHNESS = Words("harshness", ("soft", "mild", "strict"))

POLICERS: Registry[Entry] = Registry(
    "policer",
    "policer",
    [
        Entry("none", "No policing", runs=True),
        Entry(
            "conex",
            "Congestion policing: a token bucket for the congestion that a user causes",
            (
                P("rate", A_PACKET_RATE, "fill rate of the bucket", required=True),
                P("depth", PACKET_COUNT, "depth of the bucket", required=True),
                P("harshness", HARSHNESS, "what an empty bucket does", "mild"),
                P("feedback", Words("feedback", ("accurate", "classic")), "ECN feedback"),
            ),
        ),
    ],
)

A_POLICER = Entries(POLICERS)
PEP_MODE = Words("PEP mode", ("none", "split"))

_RATE = P("rate", A_RATE, "rate of the bottleneck on the wire, both ways", "max(up, down)")
_RTT = P("rtt", A_TIME, "base round trip of the path, without queueing", "0ms")
_LOSS = P("loss", A_LOSS, "random loss in the data direction, after the queue", "0%")
_QUEUE = P("queue", A_QUEUE, "buffer of the bottleneck in the data direction", "fifo(1000pkt)")
_UP = P("up", A_RATE, "rate from client to server", "rate")
_DOWN = P("down", A_RATE, "rate from server to client", "rate")
_ACCESS = P("access", A_RATE, "rate of the access links", "max(100Mbit/s, 10 * rate)")
_PRESET_RATE = P("rate", A_RATE, "rate of the link")
_POLICER = P("policer", A_POLICER, "policer in front of the queue", "none")

TOPOLOGIES: Registry[Entry] = Registry(
    "topology",
    "topology",
    [
        Entry(
            "bottleneck",
            "A server and a client behind one bottleneck",
            (_RATE, _RTT, _LOSS, _QUEUE, _UP, _DOWN, _ACCESS),
            runs=True,
        ),
        Entry(
            "access",
            "Users behind one shared link, each with a server",
            (_RATE, _RTT, _LOSS, _QUEUE, _UP, _DOWN, _ACCESS, _POLICER),
        ),
        Entry(
            "geo",
            "A geostationary satellite link",
            (
                P("pep", PEP_MODE, "split connections at the satellite terminal", "none"),
                _PRESET_RATE,
                _RTT,
                _LOSS,
                _QUEUE,
                _UP,
                _DOWN,
            ),
        ),
        *(
            Entry(
                name,
                "A mobile access network",
                (_PRESET_RATE, _RTT, _LOSS, _QUEUE, _UP, _DOWN),
            )
            for name in ("4g", "lte")
        ),
        Entry(
            "parking_lot",
            "Several bottlenecks in a row, each with cross traffic",
            (P("rate", A_RATE, "rate of each hop"), P("hop", A_TIME, "one-way delay of a hop")),
        ),
    ],
)

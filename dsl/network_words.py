"""The words of networks: loss models, distributions, queues, policers, topologies."""

from __future__ import annotations

from .entries import Entries, Entry, Losses, Parameter
from .kinds import (
    A_COUNT,
    A_PACKET_RATE,
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
            "Bursty loss: a good and a bad state, loss in the bad one",
            (
                P("p", A_SHARE, "probability of going from good to bad", required=True),
                P("r", A_SHARE, "probability of going from bad to good", required=True),
                P("bad", A_SHARE, "loss in the bad state", "100%"),
                P("good", A_SHARE, "loss in the good state", "0%"),
            ),
            instead="a percentage runs now: independent loss, as in `loss = 1%`",
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
_THRESHOLD = Quantities((SHARE, DATA, PACKETS, TIME))
_ECN = P("ecn", A_SWITCH, "mark packets instead of dropping them", "off")
_TARGET = P("target", A_POSITIVE_TIME, "acceptable standing delay")
_INTERVAL = P("interval", A_POSITIVE_TIME, "time in which the delay must come down")

QUEUES: Registry[Entry] = Registry(
    "queue",
    "queue",
    [
        Entry("fifo", "First in, first out; the tail is dropped", (_SIZE,), runs=True),
        Entry(
            "red",
            "Random Early Detection",
            (
                P("limit", A_QUEUE_SIZE, "size of the queue", "1000pkt"),
                P("min", _THRESHOLD, "threshold where dropping begins"),
                P("max", _THRESHOLD, "threshold of the highest probability"),
                P("pmax", A_SHARE, "probability at the upper threshold"),
                _ECN,
            ),
        ),
        Entry("codel", "Controlled Delay", (_SIZE, _TARGET, _INTERVAL, _ECN)),
        Entry(
            "fq_codel",
            "Fair queueing with Controlled Delay",
            (_SIZE, _TARGET, _INTERVAL, P("flows", A_COUNT, "number of queues", "1024"), _ECN),
        ),
        Entry("pie", "Proportional Integral controller Enhanced", (_SIZE, _TARGET, _ECN)),
        Entry("fq_pie", "Fair queueing with PIE", (_SIZE, _TARGET, _ECN)),
        Entry("fq", "Fair queueing with pacing", (_SIZE,)),
        Entry("sfq", "Stochastic fair queueing", (_SIZE,)),
        Entry("cake", "Common Applications Kept Enhanced", (_SIZE,)),
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

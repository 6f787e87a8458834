"""The keys of `link A -- B { ... }`."""

from __future__ import annotations

from typing import Any

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_PROBABILITY, A_TIME, Words
from fairc.dsl.core.registry import Registry
from fairc.dsl.model.links import Ecn
from fairc.mechanisms.devices.registry import DEVICES
from fairc.mechanisms.effects.registry import EFFECTS
from fairc.mechanisms.links.registry import LINKS
from fairc.mechanisms.queues.registry import A_QUEUE
from fairc.words.dscp import A_CODE_POINT
from fairc.words.framing import A_FRAMING
from fairc.words.jitter import A_JITTER
from fairc.words.losses import A_LOSS
from fairc.words.packet_sizes import A_MTU, A_TRANSMISSION
from fairc.words.reorder import A_REORDERING
from fairc.words.trace import A_LINK_RATE, Traced

RATE = Parameter("rate", A_LINK_RATE, "rate on the wire", otherwise="not limited")
DELAY = Parameter("delay", Traced(A_TIME), "one-way delay", "0s")
LOSS = Parameter("loss", Traced(A_LOSS), "random loss after the queue", "0%")
QUEUE = Parameter("queue", A_QUEUE, "queue in front of the link", "fifo(1000pkt)")
JITTER = Parameter("jitter", A_JITTER, "random part of the delay", "0s")
REORDER = Parameter("reorder", A_REORDERING, "share of packets that skip the delay", "0%")
DUPLICATE = Parameter("duplicate", A_PROBABILITY, "share of packets that arrive twice", "0%")
MTU = Parameter("mtu", A_MTU, "largest IP packet, both ways", "1500B")
TRANSMIT = Parameter(
    "transmit",
    A_TRANSMISSION,
    (
        "`frames`: each takes its length / rate; `bucket`: a token bucket of one frame, as many"
        " testbeds shape"
    ),
    "frames",
)
_ECN: Words[Ecn] = Words("value of `ecn`", ("none", "bleach", "mark"))
ECN = Parameter(
    "ecn",
    _ECN,
    (
        "behind the queue, `bleach`: no packet is ECN-capable any more; `mark`: all that are get"
        " the mark"
    ),
    "none",
)
DSCP = Parameter(
    "dscp",
    A_CODE_POINT,
    "behind the queue, every packet gets this code point; `cs0` washes them",
    otherwise="packets keep theirs",
)
FRAMING = Parameter("framing", A_FRAMING, "what is added to packets on the wire", "linux")

LINK: Registry[Parameter[Any]] = Registry(
    "link attribute",
    "key",
    [
        *(RATE, DELAY, LOSS, QUEUE, JITTER, REORDER, DUPLICATE),
        *(effect.key for effect in EFFECTS.values()),
        MTU,
        *(device.key for device in DEVICES),
        *(ECN, DSCP, TRANSMIT),
        *(key for each in LINKS for key in each.keys),
        FRAMING,
    ],
)

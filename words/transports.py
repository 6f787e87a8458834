"""The transports."""

from __future__ import annotations

from fairc.dsl.core.entries import Entry, Parameter
from fairc.dsl.core.kinds import A_SWITCH, Texts, Words
from fairc.dsl.core.registry import Registry

STACK = Parameter("stack", Words("QUIC stack", ("quinn",)), "the implementation", "quinn")
QLOG = Parameter("qlog", A_SWITCH, "write a qlog file", "off")
IMAGE = Parameter("image", Texts(), "a container image with another stack, instead of `stack`")

TRANSPORTS: Registry[Entry] = Registry(
    "transport",
    "transport",
    [
        Entry("tcp", "TCP of the kernel", runs=True),
        Entry("udp", "UDP, without congestion control", runs=True),
        Entry("quic", "QUIC (RFC 9000) in user space", (STACK, QLOG, IMAGE), runs=True),
    ],
)

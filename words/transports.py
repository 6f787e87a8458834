"""Transports, and third-party images of one: `over = quic(image: "my-quic:latest")`."""

from __future__ import annotations

import re
from fractions import Fraction

from fairc.cell import text
from fairc.dsl.core.entries import Entry, Parameter, Use
from fairc.dsl.core.kinds import A_SWITCH, AnyName, Quantities, Texts, Words
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import TIME
from fairc.dsl.core.values import Text

STACK = Parameter("stack", Words("QUIC stack", ("quinn",)), "the implementation", "quinn")
QLOG = Parameter("qlog", A_SWITCH, "write a qlog file", "off")
# QUIC counts it in ms (RFC 9000, section 18.2).
IDLE_TIMEOUT = Parameter(
    "idle_timeout",
    Quantities((TIME,), low=Fraction(1, 1000)),
    "silence of the peer that ends a connection",
    otherwise="none",
)
IMAGE = Parameter("image", Texts(), "a container image with another stack, or a tar of one")

PATHS = Parameter(
    "paths",
    Words("use of the paths", ("fullmesh", "on_failure")),
    "a subflow on each, or a second one once a link of the client is down",
    "fullmesh",
)
BACKUP = Parameter("backup", AnyName("a node"), "what crosses it is used while nothing else works")

TRANSPORTS: Registry[Entry] = Registry(
    "transport",
    "transport",
    [
        Entry("tcp", "TCP of the kernel", runs=True),
        Entry("mptcp", "Multipath TCP of the kernel (RFC 8684)", (PATHS, BACKUP), runs=True),
        Entry("udp", "UDP, without congestion control", runs=True),
        Entry(
            "quic", "QUIC (RFC 9000) in user space", (STACK, QLOG, IDLE_TIMEOUT, IMAGE), runs=True
        ),
    ],
)

REFERENCE = re.compile(text.IMAGE, re.ASCII)


def is_tar(image: Text) -> bool:
    """Whether an image is a tar next to the experiment, and not one that a container engine has."""
    return image.value.endswith(".tar")


def image_of(over: Use[Entry] | None) -> Text | None:
    """Return the image that `over` names. Raises CompileError if it cannot be one."""
    image = over.given(IMAGE) if over else None
    if over is None or image is None:
        return None
    gather = Gather()
    with gather.attempt():
        if len(image.value) > text.LONGEST_IMAGE or not REFERENCE.fullmatch(image.value):
            fail(
                "bad-image",
                f"`{image.value}` is not an image name",
                image.span,
                help='write it as `docker images` shows it: `over = quic(image: "name:tag")`;'
                ' or a tar in lower case: `over = quic(image: "name.tar")`',
            )
    for name, place in over.places.items():
        with gather.attempt():
            if name != IMAGE.name:
                fail(
                    "impossible-pair",
                    "an image brings its own stack",
                    place,
                    help="leave out everything but `image`: whether there is a qlog is up to the"
                    " image (QLOGDIR)",
                )
    gather.finish()
    return image

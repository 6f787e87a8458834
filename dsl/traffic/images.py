"""Third-party images: `over = quic(image: "my-quic:latest")`, by the contract of
quic-interop-runner.

An image decides by itself what the options of a flow decide for fairc's own stack, so these are
refused: fairc could not know whether it honours them.
"""

from __future__ import annotations

import re

from fairc.cell import text
from fairc.dsl.blocks import Settings
from fairc.dsl.core.entries import Entry, Use
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.values import Text
from fairc.words.blocks import flow as keys
from fairc.words.transports import IMAGE
from fairc.words.workloads import WorkloadEntry

KEYS = frozenset({"users", "from", "to", "count", "over", "start", "workload", "rtt", "cca"})
"""Keys of a flow that need nothing from its programs; `cca` is refused elsewhere."""

REFERENCE = re.compile(text.IMAGE, re.ASCII)


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
                help='write it as `docker images` shows it: `over = quic(image: "name:tag")`',
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


def check_image(workload: Use[WorkloadEntry], settings: Settings) -> None:
    """Refuse options that third-party images do not support. Raises CompileError."""
    gather = Gather()
    with gather.attempt():
        if not workload.entry.by_images:
            fail(
                "impossible-pair",
                f"`{workload.entry.name}` is not supported for third-party images",
                workload.span,
                help="they download files: `workload = file(10MB)`",
            )
    with gather.attempt():
        count = settings[keys.COUNT]
        if count.number != 1:
            fail(
                "impossible-pair",
                "a third-party image opens one connection",
                count.span,
                help="leave `count` out; for more connections, write flows with separate servers",
            )
    for name, setting in settings.block.settings.items():
        with gather.attempt():
            if name not in KEYS:
                fail(
                    "impossible-pair",
                    f"`{name}` is not supported for third-party images",
                    setting.span,
                    help="leave it out: the interface of images has no such option",
                )
    gather.finish()

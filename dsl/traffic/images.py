"""Images of others: `over = quic(image: "my-quic:latest")`, by the contract of quic-interop-runner.

An image decides by itself what the options of a flow decide for fairc's own stack, so these are
refused: nobody could tell whether it honoured them.
"""

from __future__ import annotations

import re

from fairc.compiler.plan.text import IMAGE, LONGEST_IMAGE
from fairc.dsl.blocks import Block
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.values import Applied, Quantity, Symbol, Text, Value

KEYS = frozenset({"users", "from", "to", "count", "over", "start", "workload", "rtt", "cca"})
"""Keys of a flow that do not need its programs to do something; `cca` is refused elsewhere."""

REFERENCE = re.compile(IMAGE, re.ASCII)


def image_of(over: Value | None) -> Text | None:
    """Return the image that `over` names. Raises CompileError for what cannot be one."""
    given = {a.key: a for a in over.arguments} if isinstance(over, Applied) else {}
    if "image" not in given or not isinstance(over, Applied) or over.name != "quic":
        return None
    image = given["image"].value
    if not isinstance(image, Text):
        return None  # which `bind` refuses
    gather = Gather()
    with gather.attempt():
        if len(image.value) > LONGEST_IMAGE or not REFERENCE.fullmatch(image.value):
            fail(
                "bad-image",
                f"`{image.value}` is no name of an image",
                image.span,
                help='write it as `docker images` shows it: `over = quic(image: "name:tag")`',
            )
    for key, argument in given.items():
        with gather.attempt():
            if key != "image":
                fail(
                    "impossible-pair",
                    "an image is a stack of its own",
                    argument.key_span or argument.value.span,
                    help="leave everything but `image` out: a qlog is what the image makes of QLOGDIR",
                )
    gather.finish()
    return image


def check_image(workload: Value, block: Block, count: Value | None) -> None:
    """Refuse what an image cannot be told. Raises CompileError."""
    gather = Gather()
    assert isinstance(workload, Symbol | Applied)
    with gather.attempt():
        if workload.name != "file":
            fail(
                "impossible-pair",
                f"an image of others cannot do `{workload.name}`",
                workload.span,
                help="it downloads files: `workload = file(10MB)`",
            )
    with gather.attempt():
        if isinstance(count, Quantity) and count.number != 1:
            fail(
                "impossible-pair",
                "an image of others opens one connection",
                count.span,
                help="leave `count` out; for more, write flows with servers of their own",
            )
    for name, setting in block.settings.items():
        with gather.attempt():
            if name not in KEYS:
                fail(
                    "impossible-pair",
                    f"an image of others cannot be told `{name}`",
                    setting.span,
                    help="leave it out: the contract of images has no word for it",
                )
    gather.finish()

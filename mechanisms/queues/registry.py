"""The queues of the language, from their folders."""

from __future__ import annotations

from fairc.dsl.core.entries import Entries
from fairc.dsl.core.registry import Registry
from fairc.mechanisms import load

from .discipline import Discipline

_SHAPER = "a link's own `rate` shapes, with the queue before it; `transmit = bucket` sends as `tbf`"

_POLICER = "a link has it beside its queue: `policer = token_bucket(5Mbit/s, 75kB)`"

QUEUES: Registry[Discipline] = Registry(
    "queue",
    "queue",
    (found.DECLARATION for found in load("queues", "declaration")),
    misplaced={
        **dict.fromkeys(("tbf", "htb", "hfsc", "cbq", "shaper"), _SHAPER),
        **dict.fromkeys(("police", "policer", "token_bucket"), _POLICER),
        "netem": "what it does are keys of a link: `delay`, `loss`, `jitter`, `reorder`, `corrupt`",
    },
)


def _fill() -> None:
    """Fill what can be inside a queue."""
    entries = list(QUEUES)
    for outer in (entry.inner for entry in entries if entry.inner is not None):
        for entry in entries:
            if entry.part.can_be_inner:
                outer.register(entry)


_fill()
QUEUES.accept("fairc.queues")

A_QUEUE = Entries(QUEUES)

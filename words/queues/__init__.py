"""The queues: a file each, and this list of them; those of `prio.BANDS` can be within `prio`.

discipline  their declaration, and the queue of a link that they lower
"""

from __future__ import annotations

from fairc.cell.queues import Prio, Queue
from fairc.dsl.core.entries import Entries
from fairc.dsl.core.registry import Registry

from . import cake, dualpi2, prio
from .discipline import Discipline

QUEUES: Registry[Discipline] = Registry(
    "queue",
    "queue",
    [
        *prio.BANDS,
        cake.CAKE,
        dualpi2.DUALPI2,
        prio.PRIO,
    ],
)

QUEUES.accept("fairc.queues")

A_QUEUE = Entries(QUEUES)


def marks(queue: Queue) -> bool:
    """Return whether a queue of the plan marks packets that can be marked."""
    if isinstance(queue, Prio):
        return any(marks(band.queue) for band in queue.bands)
    always = queue.kind in QUEUES and QUEUES[queue.kind].always_marks
    stepped = getattr(queue, "ce_threshold_ns", None) is not None
    return always or stepped or bool(getattr(queue, "ecn", False))

"""The queues: a file each, and this list of them.

discipline  their declaration, and the queue of a link that they lower
"""

from __future__ import annotations

from fairc.cell.queues import Prio, Queue
from fairc.dsl.core.entries import Entries
from fairc.dsl.core.registry import Registry

from . import cake, codel, dualpi2, fifo, fq, fq_codel, fq_pie, pie, prio, red, sfq
from .discipline import Discipline

QUEUES: Registry[Discipline] = Registry(
    "queue",
    "queue",
    [
        fifo.FIFO,
        red.RED,
        codel.CODEL,
        fq_codel.FQ_CODEL,
        pie.PIE,
        fq_pie.FQ_PIE,
        fq.FQ,
        sfq.SFQ,
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

"""`fifo`: first in, first out."""

from __future__ import annotations

from .discipline import SIZE, Discipline

FIFO = Discipline(
    name="fifo",
    summary="First in, first out, with tail drop",
    parameters=(SIZE,),
    lower=lambda given: given.limit,
    is_drop_tail=True,
    order="all",
    probes={"bfifo": "limit 3028", "pfifo": "limit 10"},
)

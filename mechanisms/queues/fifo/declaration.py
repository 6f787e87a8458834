"""Declaration and lowering of `fifo`."""

from __future__ import annotations

from fairc.mechanisms.queues.discipline import SIZE, Discipline, LinkQueue

from .cell import Fifo


def _lower(given: LinkQueue) -> Fifo:
    return Fifo(limit_bytes=given.limit.limit_bytes, limit_packets=given.limit.limit_packets)


DECLARATION = Discipline(
    part=Fifo,
    name="fifo",
    summary="First in, first out, with tail drop",
    parameters=(SIZE,),
    lower=_lower,
    order="all",
    probes={"bfifo": "limit 3028", "pfifo": "limit 10"},
)

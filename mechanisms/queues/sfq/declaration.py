"""Declaration and lowering of `sfq`."""

from __future__ import annotations

from fairc.mechanisms.queues.discipline import SIZE, Discipline, LinkQueue

from .cell import Sfq


def _lower(given: LinkQueue) -> Sfq:
    return Sfq(
        limit_packets=given.packets,
        flows=128,
        divisor=1024,
        depth_packets=127,
        quantum_bytes=given.frame_bytes,
        perturb_s=0,
    )


DECLARATION = Discipline(
    part=Sfq,
    name="sfq",
    summary="Stochastic fair queueing, at most 127 packets of a flow",
    parameters=(SIZE,),
    lower=_lower,
    is_random=True,
    order="flows",
    probes={"sfq": "limit 10"},
    modules=("sch_sfq",),
)

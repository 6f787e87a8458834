"""Declaration of `file`."""

from __future__ import annotations

from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_SIZE
from fairc.dsl.core.problems import fail
from fairc.dsl.model import Workload
from fairc.mechanisms.workloads.workload import WorkloadEntry

from .cell import FileWorkload

SIZE = Parameter("size", A_SIZE, "bytes to move", required=True)


def _build(use: Use[WorkloadEntry]) -> Workload:
    size = use[SIZE]
    if size.number < 8:
        fail("out-of-range", "a file has at least one byte", size.span)
    return Workload(FileWorkload(bytes=round(size.number / 8)))


DECLARATION = WorkloadEntry(
    name="file",
    summary="Each connection moves exactly this many bytes",
    parameters=(SIZE,),
    over_mptcp=True,
    build=_build,
    sentence=lambda file, quantity: f"{quantity(file.bytes, 'B')} file",
    over_udp=True,
    by_images=True,
)

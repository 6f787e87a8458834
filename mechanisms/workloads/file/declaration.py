"""Declaration of `file`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairc.cell.workloads import FileWorkload
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_SIZE
from fairc.dsl.core.problems import fail
from fairc.dsl.model import Flow, Path, Workload
from fairc.mechanisms.workloads.workload import WorkloadEntry

SIZE = Parameter("size", A_SIZE, "bytes to move", required=True)


@dataclass(frozen=True)
class File(Workload):
    """The workload `file(size)`: each connection moves exactly `bytes`."""

    bytes: int

    @property
    def kind(self) -> str:
        """Its name in the language."""
        return "file"

    @property
    def records(self) -> str:
        """As of its part of the plan."""
        return "transfers"

    @property
    def size_bytes(self) -> int:
        """What each connection moves, bytes."""
        return self.bytes

    def lower(self, flow: Flow, path: Path, seed: int, shared: Mapping[str, Any]) -> FileWorkload:
        """Return its part of the plan."""
        return FileWorkload(bytes=self.bytes)


def _build(use: Use[WorkloadEntry]) -> File:
    size = use[SIZE]
    if size.number < 8:
        fail("out-of-range", "a file has at least one byte", size.span)
    return File(round(size.number / 8))


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

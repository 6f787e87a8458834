"""`bulk`: each connection sends for as long as the flow lasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairc.cell.workloads import BulkWorkload
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.values import Quantity
from fairc.dsl.model import Flow, Path, Workload
from fairc.words.sizes import A_WINDOW

from .workload import WorkloadEntry

WINDOW = Parameter("window", A_WINDOW, "limit of the receive window")


@dataclass(frozen=True)
class Bulk(Workload):
    """The workload `bulk`; its window is the flow's."""

    window: Quantity | None = field(default=None, compare=False)
    kind = "bulk"

    @property
    def receive_window(self) -> Quantity | None:
        """Its window."""
        return self.window

    def lower(self, flow: Flow, path: Path, seed: int, shared: Mapping[str, Any]) -> BulkWorkload:
        """Return its part of the plan."""
        return BulkWorkload()


BULK = WorkloadEntry(
    name="bulk",
    summary="Each connection sends for as long as the flow lasts",
    parameters=(WINDOW,),
    build=lambda use: Bulk(use.given(WINDOW)),
    over_udp=True,
)

"""A queueing discipline of the user's own in a cell: its part of the plan, and its lines of tc."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from fairc.cell.modules import KernelModule
from fairc.cell.queues import QUEUE_KINDS, InPackets
from fairc.cell.text import DisciplineName


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class OwnQueue(InPackets):
    """A discipline that a kernel module registers.

    It is made without options: its `init` gets none, and takes its limit from the length of its
    interface's queue, `qdisc_dev(sch)->tx_queue_len`, as `pfifo` does.
    discipline: the name under which it is registered.
    """

    kind: Literal["module"] = "module"
    discipline: DisciplineName
    module: KernelModule

    @property
    def tc_name(self) -> str:
        """What tc and the kernel call it."""
        return self.discipline

    @property
    def own_module(self) -> tuple[str, KernelModule]:
        """The name that it registers, and its module."""
        return self.discipline, self.module

    def registered_as(self, name: str) -> OwnQueue:
        """Return it with a module that registers it under another name."""
        return replace(self, discipline=name)

    @property
    def interface_packets(self) -> int:
        """The length of the interface's queue, packets."""
        return self.limit_packets

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc: none."""
        return ""

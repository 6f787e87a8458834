"""Declaration and lowering of a queueing discipline of the user's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from fairc.cell.modules import KernelModule
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.source import Span
from fairc.dsl.model import Queue
from fairc.mechanisms.queues.discipline import Discipline, LinkQueue
from fairc.words.kernel_modules import (
    SOURCE,
    ModuleSettings,
    name_parameter,
    read_module,
    variant,
)
from fairc.words.sizes import A_QUEUE_SIZE

from .cell import OwnQueue

PREFIX = "sch_"
NAME = name_parameter(PREFIX)
LIMIT = Parameter(
    "limit",
    A_QUEUE_SIZE,
    "bytes, packets, time at the link's rate, or BDPs; the module finds it in packets in"
    " `qdisc_dev(sch)->tx_queue_len`",
    "1000pkt",
)
_OF_LINUX = """
arq bfifo cake cbs choke clsact codel drr dualpi2 etf ets fq fq_codel fq_pie gred hfsc hhf htb
ingress mq mqprio multiq netem noqueue pfifo pfifo_fast pfifo_head_drop pie plug prio qfq radio red
sfb sfq skbprio taprio tbf
"""
OF_LINUX = frozenset(_OF_LINUX.split())
"""Names of disciplines that a guest's kernel has, or may have: a module of one gets a number."""
_MODULE = "module"


def _read(use: Use[Any], span: Span) -> Queue:
    """Return the queue, with its source. Raises CompileError."""
    what = "a name of a queueing discipline Qdisc_ops"
    own = replace(read_module(use, NAME, PREFIX, what), of="queue")
    size = use.given(LIMIT) or replace(LIMIT.fallback, span=span)
    return Queue(use.entry.name, size, span, {_MODULE: own})


def _lower(given: LinkQueue) -> OwnQueue:
    own = cast(KernelModule, given.written.options[_MODULE])
    return OwnQueue(
        limit_packets=given.packets,
        discipline=variant(own.registers, 1) if own.registers in OF_LINUX else own.registers,
        module=own,
    )


DECLARATION = Discipline(
    part=OwnQueue,
    name="module",
    summary="Your own queueing discipline: the C source of a kernel module, compiled for the"
    " guest's kernel; further arguments are the module's parameters",
    parameters=(SOURCE, LIMIT, NAME),
    further=ModuleSettings(),
    read=_read,
    lower=_lower,
    is_random=True,
    order="mixed",
    is_module=True,
)

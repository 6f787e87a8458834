"""A cell: what an engine runs, and where packets are captured."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fairc.cell.experiment import Pep, Policer
from fairc.cell.numbers import Repetition, Seed, SpanNs, TimeNs
from fairc.cell.part import absent
from fairc.cell.text import CaptureName, Identity, InterfaceName, NodeName, Place, Text, Word
from fairc.dsl.model.base import Model, empty

from .base import MAX_PROCESSING_NS, MAX_SYSCALL_COST_NS, Captured
from .consistency import contradiction
from .flows import Flow
from .network import Cable, Node


class Capture(Model):
    """A packet capture at one interface (what it means: docs/reference/artefacts.md).

    direction: what comes in, what goes out, or both.
    point: `entry` (arriving at the bottleneck's router), `exit` (leaving the bottleneck queue),
    `delivered` (after the loss), `client` (arriving at the client of a page load; for a third-party
    image, also leaving it), `policer` (packets that a policer sees and no other point shows),
    `sender` (data and ACKs at the interface of a host that sends; each belongs to the queue of its
    first flow).
    queue: the (node, interface) of the bottleneck it belongs to.
    """

    name: CaptureName
    node: NodeName
    interface: InterfaceName
    direction: Literal["in", "out", "both"]
    point: Literal["entry", "exit", "delivered", "client", "policer", "sender"]
    queue: Place


class Cell(Model):
    """One configuration and one repetition: everything that an engine needs to run it.

    id: SHA-256 of the cell's JSON without white space, fields in the schema's order, without `id`,
    `bindings`, `captures`, every `source`, and `peps` and `policers` where there are none; its
    first 16 hexadecimal digits.
    configuration: the same over the bindings, keys sorted; so repetitions share it.
    bindings: swept name -> canonical value. stop: the condition on which the cell ends.
    duration_ns: a fixed length after the epoch, or None. deadline_ns: the latest end.
    processing_ns: a host delays each packet that it sends by a random time in [0, processing_ns],
    after its link's queue and shaper, in order; constant-rate sources vary their gaps. 0: neither.
    Left out where the file does not set it: then as the engine needs it (targets/processing.py).
    syscall_cost_ns: the virtual time of each system call, where computation takes none; left out
    where the file does not set it: then as the engine needs it.
    captured: `none`: no packets are captured, and there are no `captures`; left out where it is
    `full`.
    """

    id: Identity
    experiment: Word
    configuration: Identity
    bindings: dict[Word, Text]
    repetition: Repetition
    seed: Seed
    nodes: Annotated[tuple[Node, ...], Field(min_length=1)]
    cables: Annotated[tuple[Cable, ...], Field(min_length=1)]
    flows: Annotated[tuple[Flow, ...], Field(min_length=1)]
    captures: tuple[Capture, ...]
    peps: tuple[Pep, ...] = ()
    policers: Annotated[tuple[Policer, ...], Field(exclude_if=empty)] = ()
    warmup_ns: TimeNs
    duration_ns: SpanNs | None
    deadline_ns: SpanNs
    stop: Literal["first", "all"]
    captured: Captured = "full"
    processing_ns: Annotated[int | None, Field(ge=0, le=MAX_PROCESSING_NS, exclude_if=absent)] = (
        None
    )
    syscall_cost_ns: Annotated[
        int | None, Field(gt=0, le=MAX_SYSCALL_COST_NS, exclude_if=absent)
    ] = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if why := contradiction(self):
            raise ValueError(why)
        return self

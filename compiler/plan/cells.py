"""A cell: what an engine runs, and where its packets are captured."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Model, empty
from .flows import Flow
from .network import Cable, Node
from .peps import Pep
from .policers import Policer


class Capture(Model):
    """A packet capture of one direction of one interface (what it means: docs/architecture.md).

    point: `entry` (arriving at the bottleneck's router), `exit` (leaving the bottleneck queue),
    `delivered` (after the loss), `client` (arriving at the client of a page load; of an image of
    others, also leaving it), `policer` (what a policer sees and no other point shows).
    queue: the (node, interface) of the bottleneck it belongs to.
    """

    name: str
    node: str
    interface: str
    direction: Literal["in", "out"]
    point: Literal["entry", "exit", "delivered", "client", "policer"]
    queue: tuple[str, str]


class Cell(Model):
    """One configuration and one repetition: everything that an engine needs to run it.

    id: SHA-256 of the cell's JSON without white space, fields in the schema's order, without `id`,
    `bindings`, `captures`, every `source`, and `peps` and `policers` where there are none; its first 16 hexadecimal digits.
    configuration: the same over the bindings, keys sorted; so repetitions share it.
    bindings: swept name -> canonical value. stop: when the cell ends by itself.
    duration_ns: a fixed length after the epoch, or None. deadline_ns: the latest end.
    """

    id: str
    experiment: str
    configuration: str
    bindings: dict[str, str]
    repetition: int
    seed: int
    nodes: tuple[Node, ...]
    cables: tuple[Cable, ...]
    flows: tuple[Flow, ...]
    captures: tuple[Capture, ...]
    peps: tuple[Pep, ...] = ()
    policers: Annotated[tuple[Policer, ...], Field(exclude_if=empty)] = ()
    warmup_ns: int
    duration_ns: int | None
    deadline_ns: int
    stop: Literal["first", "all"]

"""A cell: what an engine runs, and where its packets are captured."""

from __future__ import annotations

from typing import Literal

from .base import Captured, Model
from .flows import Flow
from .network import Cable, Node
from .peps import Pep


class Capture(Model):
    """A packet capture of one direction of one interface (what it means: docs/architecture.md).

    point: `entry` (arriving at the bottleneck's router), `exit` (leaving the bottleneck queue),
    `delivered` (after the loss), `client` (arriving at the client of a page load; of an image of
    others, also leaving it).
    queue: the (node, interface) of the bottleneck it belongs to.
    """

    name: str
    node: str
    interface: str
    direction: Literal["in", "out"]
    point: Literal["entry", "exit", "delivered", "client"]
    queue: tuple[str, str]


class Cell(Model):
    """One configuration and one repetition: everything that an engine needs to run it.

    id: SHA-256 of the cell's JSON without white space, fields in the schema's order, without `id`,
    `bindings`, `captures`, every `source`, and `peps` where there are none; its first 16 hexadecimal digits.
    configuration: the same over the bindings, keys sorted; so repetitions share it.
    bindings: swept name -> canonical value. stop: when the cell ends by itself.
    duration_ns: a fixed length after the epoch, or None. deadline_ns: the latest end.
    captured: `none`: no packets are captured, and there are no `captures`; left out where it is `full`.
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
    warmup_ns: int
    duration_ns: int | None
    deadline_ns: int
    stop: Literal["first", "all"]
    captured: Captured = "full"

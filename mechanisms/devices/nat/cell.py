"""The part of a plan that is a NAT: what `tc` takes for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from fairc.cell.batch import line, word
from fairc.cell.devices import DEVICE_KINDS, FrontDevice
from fairc.cell.document import Changes
from fairc.cell.model import Cell, Node
from fairc.cell.numbers import Range, TimeNs
from fairc.cell.text import NodeName

PINGS = "flower ip_proto icmp action police mtu 65535 conform-exceed drop/ok"
"""Pings have no ports, and pass."""
INVERTED = "matchall action pedit munge offset {at} u8 invert pipe action csum tcp and udp"
"""The upper byte of the port there has all of its bits changed."""
SOURCE_AT, DESTINATION_AT = 20, 22
CLOSED = "u32 match u32 {value} 0x00008000 at 20 action police mtu 1 conform-exceed drop/continue"
"""Packets to ports of the other half are of no connection, and lost."""
MOST_TIMES = 1000
"""How often ports change at most in a cell."""
REBINDING = "nat"
"""Stands for an interface where ports change."""


@DEVICE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Nat(FrontDevice):
    """Translates ports of packets that leave from `ingress` to `egress`, and back.

    A connection has its host's own port at first, which is of the upper half of all ports, and from
    each time on the other one of two: with all bits of its upper byte changed, and its own again.
    Packets to the port that it has not are lost.
    times_ns: when ports change, after the epoch. hosts: those behind it that open connections.
    """

    trait = "a NAT whose ports change"
    rebinds = True
    kind: Literal["nat"] = "nat"
    times_ns: Annotated[tuple[TimeNs, ...], Range(1, MOST_TIMES)]
    hosts: Annotated[tuple[NodeName, ...], Range(1, 10_000)]

    def changes(self) -> Iterator[Changes]:
        """Yield the changes of its filters."""
        yield Changes(
            node=self.node,
            interface=REBINDING,
            repeat_ns=None,
            lines=[(at_ns, self._lines(number)) for number, at_ns in enumerate(self.times_ns)],
        )

    def lines(self, node: str) -> Iterator[str]:
        """Yield what lets pings pass, and what will be changed: a kernel may have to load it."""
        if node != self.node:
            return
        for device, at in self._ends():
            texts = (PINGS, CLOSED.format(value="0x0"), INVERTED.format(at=at))
            yield line(f"qdisc add {device} clsact")
            for priority, text in enumerate(texts, 1):
                yield line(_filter("add", device, priority, text))
            yield from (line(_filter("del", device, priority)) for priority in (2, 3))

    def _ends(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Return both interfaces, and where packets that arrive there have the host's port."""
        inside, outside = (f"dev {word(name)}" for name in (self.ingress, self.egress))
        return (inside, SOURCE_AT), (outside, DESTINATION_AT)

    def _lines(self, number: int) -> list[str]:
        """Return the lines of `tc -batch` for a change of ports, the first being 0."""
        other, (_, (outside, _)) = number % 2 == 0, self._ends()
        found = [_filter("del", outside, 2)] if number else []
        lost = CLOSED.format(value="0x00008000" if other else "0x0")
        found.append(_filter("add", outside, 2, lost))
        for device, at in self._ends():
            text = INVERTED.format(at=at) if other else ""
            found.append(_filter("add" if other else "del", device, 3, text))
        return [line(text) for text in found]

    def contradiction(self, cell: Cell, nodes: Mapping[str, Node]) -> str:
        """Report hosts that the cell has not, and times out of order."""
        if why := FrontDevice.contradiction(self, cell, nodes):
            return why
        if not set(self.hosts) <= nodes.keys():
            return f"a host behind the NAT `{self.name}` is no node"
        if sorted(set(self.times_ns)) != [*self.times_ns]:
            return f"the times of the NAT `{self.name}` are not in order"
        return ""


def _filter(verb: str, device: str, priority: int, text: str = "") -> str:
    return f"filter {verb} {device} ingress protocol ip prio {priority} {text}".rstrip()

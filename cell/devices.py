"""Devices: what all kinds of a plan have in common; each has a folder of its own
(mechanisms/devices).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self, TypeVar

from .links import Interface
from .part import Kinds, Part
from .text import InterfaceName, Line, NodeName

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .document import Forwarder
    from .model import Cell, Node
    from .reading import Reading

Place = tuple[str, str]
D = TypeVar("D", bound="Device")


@dataclass(frozen=True, slots=True)
class Site:
    """What a device finds around it.

    interfaces: of the whole network, by node and name. macs: returns the Ethernet addresses of what
    leaves by an interface: its neighbour's, and its own. read: how captures and logs are read.
    """

    interfaces: Mapping[Place, Interface]
    macs: Callable[[Place], tuple[str, str]]
    read: Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Device(Part):
    """What packets meet at a node of its own, in front of the queue of a link.

    What it does is in its fields and methods; this is what every one declares in addition.
    record_bytes: what it writes down of each packet. computes: whether a program reads each packet.
    trait: how the report calls it among what links do; empty: not there.
    name: in the names of what it writes. node: the hop where it stands; packets that arrive at
    `ingress` leave through `egress`, before its queue, or are dropped. source: `file:line` of the
    statement that it comes from.
    """

    record_bytes: ClassVar[int] = 0
    computes: ClassVar[bool] = False
    trait: ClassVar[str] = ""

    kind: str
    name: NodeName
    node: NodeName
    ingress: InterfaceName
    egress: InterfaceName
    source: Line = ""

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of its programs."""
        return ()

    def forwarders(self, cell: Cell, site: Site) -> Iterator[Forwarder]:
        """Yield its programs, which forward the packets of its ingress."""
        yield from ()

    @property
    def actions(self) -> str:
        """The actions of tc for packets that arrive at its ingress; nothing: there are none."""
        return ""

    @property
    def limit_bps(self) -> int | None:
        """The rate at which packets may pass it, bit/s of frames; None: any."""
        return None

    def reads(self, flow: str) -> bool:
        """Whether it treats a flow, by its name, otherwise than other traffic."""
        return False

    def seeded(self, seed: int) -> Self:
        """Return it with its random numbers of a cell with this seed."""
        return self

    def of_flows(self, names: Collection[str]) -> Self:
        """Return it where some flows are alone, by their names."""
        return self

    def contradiction(self, cell: Cell, nodes: Mapping[str, Node]) -> str:
        """Return what contradicts the rest of a cell; empty if nothing does."""
        node = nodes.get(self.node)
        if node is None or node.kind != "hop":
            return f"the {self.kind} `{self.name}` is not at a hop of the cell"
        if sorted(i.name for i in node.interfaces) != sorted((self.ingress, self.egress)):
            return f"the {self.kind} `{self.name}` is not between the two interfaces of its node"
        return ""


DEVICE_KINDS: Kinds[Device] = Kinds()
AnyDevice = Annotated[Device, DEVICE_KINDS]
"""A device, of one of the kinds."""

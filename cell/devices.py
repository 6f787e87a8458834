"""Devices: what all kinds of a plan have in common; each has a folder of its own
(mechanisms/devices).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from .links import Interface
from .numbers import Setting
from .part import Kinds, Part
from .text import InterfaceName, Line, NodeName

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .document import Changes, Forwarder, Program, Route, Rule
    from .model import Cell, Flow, Node
    from .reading import Reading

Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Site:
    """The surroundings of a device.

    interfaces: of the whole network, by node and name. macs: returns the Ethernet addresses of what
    leaves by an interface: its neighbour's, and its own. read: how captures and logs are read.
    """

    interfaces: Mapping[Place, Interface]
    macs: Callable[[Place], tuple[str, str]]
    read: Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Device(Part):
    """A device in the way of packets, besides links, routers and hosts.

    What it does is in its fields and methods; this is what every one declares in addition.
    record_bytes: what it writes down of each packet. computes: whether a program reads each packet.
    splits: whether it splits TCP connections; then its programs open connections of their own
    before the epoch. rebinds: whether it gives connections other ports. trait: how the report calls
    it among what links do; sentence: what the report says of it as a part of the network; both
    empty: nothing.
    name: in the names of what it writes. source: `file:line` of the statement that it comes from.
    """

    record_bytes: ClassVar[int] = 0
    computes: ClassVar[bool] = False
    splits: ClassVar[bool] = False
    rebinds: ClassVar[bool] = False
    trait: ClassVar[str] = ""
    sentence: ClassVar[str] = ""

    kind: str
    name: NodeName
    source: Line = ""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes where it stands."""
        raise NotImplementedError

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of its programs."""
        return ()

    def forwarders(self, cell: Cell, site: Site) -> Iterator[Forwarder]:
        """Yield its programs that forward the packets of an interface."""
        yield from ()

    def lines(self, node: str) -> Iterator[str]:
        """Yield the lines of `tc -batch` that set it up at a node, besides `arriving`."""
        yield from ()

    def changes(self) -> Iterator[Changes]:
        """Yield what changes there at given times."""
        yield from ()

    def proxies(self, syn_retries: int) -> Iterator[Program]:
        """Yield its programs that split connections; syn_retries: how often they send a SYN again
        before they open another connection.
        """
        yield from ()

    @property
    def front(self) -> Place | None:
        """The interface in front of whose queue it stands; None: it stands elsewhere."""
        return None

    @property
    def arriving(self) -> Mapping[Place, str]:
        """The actions of tc for packets that arrive by interfaces."""
        return {}

    @property
    def limits_bps(self) -> Mapping[Place, int]:
        """The rates at which packets may pass that arrive by interfaces, bit/s of frames."""
        return {}

    @property
    def split_ports(self) -> tuple[int, ...]:
        """The ports of servers whose TCP connections it splits."""
        return ()

    @property
    def middle(self) -> tuple[str, int] | None:
        """The address and the port from which it sends the data of connections that it has split;
        None: it splits none.
        """
        return None

    @property
    def splitting(self) -> str:
        """What the report says of the connections that it splits."""
        return ""

    @property
    def held_bytes(self) -> int:
        """What it may hold of each connection that it splits."""
        return 0

    @property
    def ccas(self) -> Mapping[str, Mapping[str, Setting]]:
        """The CCAs of the kernel that it uses, with the parameters that the file sets."""
        return {}

    def opens_at(self, node: str) -> bool:
        """Whether a node opens connections to the servers, in place of the clients."""
        return False

    def ends_at(self, node: str) -> bool:
        """Whether connections that it splits end at a node."""
        return False

    def sysctls(self, node: str) -> Mapping[str, str]:
        """Return the kernel options of a node."""
        return {}

    def routes(self, node: Node, way: Callable[[str], Route | None]) -> Iterator[Route]:
        """Yield the routes of a node; way: returns how it reaches an address."""
        yield from ()

    def rules(self, node: Node) -> Iterator[Rule]:
        """Yield the rules of a node by which packets find these routes."""
        yield from ()

    def reads(self, flow: str) -> bool:
        """Whether it treats a flow, by its name, otherwise than other traffic."""
        return False

    def seeded(self, seed: int) -> Self:
        """Return it with its random numbers of a cell with this seed."""
        return self

    def of_flows(self, flows: Sequence[Flow]) -> Self:
        """Return it where some flows are alone."""
        return self

    def contradiction(self, cell: Cell, nodes: Mapping[str, Node]) -> str:
        """Return what contradicts the rest of a cell; empty if nothing does."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontDevice(Device):
    """A device at a node of its own, in front of the queue of a link.

    node: the hop where it stands; packets that arrive at `ingress` leave through `egress`, before
    its queue, or are dropped.
    """

    node: NodeName
    ingress: InterfaceName
    egress: InterfaceName

    @property
    def actions(self) -> str:
        """The actions of tc for packets that arrive at its ingress; nothing: there are none."""
        return ""

    @property
    def limit_bps(self) -> int | None:
        """The rate at which packets may pass it, bit/s of frames; None: any."""
        return None

    @property
    def nodes(self) -> tuple[str, ...]:
        """Its node."""
        return (self.node,)

    @property
    def front(self) -> Place | None:
        """Its egress."""
        return self.node, self.egress

    @property
    def arriving(self) -> Mapping[Place, str]:
        """Its actions, at its ingress."""
        return {(self.node, self.ingress): self.actions} if self.actions else {}

    @property
    def limits_bps(self) -> Mapping[Place, int]:
        """Its limit, at its ingress."""
        return {} if self.limit_bps is None else {(self.node, self.ingress): self.limit_bps}

    def contradiction(self, cell: Cell, nodes: Mapping[str, Node]) -> str:
        """Report another place than between the two interfaces of a hop."""
        node = nodes.get(self.node)
        if node is None or node.kind != "hop":
            return f"the {self.kind} `{self.name}` is not at a hop of the cell"
        if sorted(i.name for i in node.interfaces) != sorted((self.ingress, self.egress)):
            return f"the {self.kind} `{self.name}` is not between the two interfaces of its node"
        return ""


DEVICE_KINDS: Kinds[Device] = Kinds()
AnyDevice = Annotated[Device, DEVICE_KINDS]
"""A device, of one of the kinds."""

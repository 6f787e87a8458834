"""Names of what is declared with an index: in the language `f[2]`, on the machine `f-2`.

On the machine names become those of files, network namespaces and containers, so there only
letters, digits, `_` and `-` are in them: `down[50ms]` is `down-50ms`, `s[1, 2]` is `s-1-2`, and any
other character of an index is `_` and its bytes in hexadecimal, `f[0.5]` is `f-0_2e5`. Names
without an index are the same in both. Plans hold names of the machine, except where they name what
the file names: in `measure`, claims and figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Protocol

from fairc.cell.text import VISIBLE, Pattern

_LABEL = rf"^[A-Za-z_][A-Za-z0-9_]*(?:\[{VISIBLE}+\])?(?:-[A-Za-z0-9_]+)*$"
FlowLabel = Annotated[str, Pattern(_LABEL, 200)]
"""A flow as the language names it, or a group: `cubic`, `heavy-1`, `down[50ms]`."""

SEPARATOR = ", "
_PLAIN = re.compile(r"[A-Za-z0-9]")
_ESCAPED = re.compile(r"(?:_[0-9a-f]{2})+")


class HasName(Protocol):
    """A node of a network."""

    @property
    def name(self) -> str:
        """The name on the machine."""
        ...


class Named(Protocol):
    """A flow of a scenario or of a plan, with the fields that make up its names."""

    @property
    def name(self) -> str:
        """The name on the machine."""
        ...

    @property
    def server(self) -> str:
        """The node that sends, on the machine."""
        ...

    @property
    def client(self) -> str:
        """The node that receives, on the machine."""
        ...

    @property
    def declared(self) -> str:
        """The name of the statement, without index."""
        ...

    @property
    def users(self) -> str | None:
        """The group of users, without index."""
        ...


def indexed(name: str, index: Iterable[str]) -> str:
    """Return a name with an index; index: its values in canonical text."""
    return f"{name}[{SEPARATOR.join(index)}]"


def base(label: str) -> str:
    """Return a name of the language without its index."""
    return label.partition("[")[0]


def on_machine(label: str) -> str:
    """Return a name of the language as it is on the machine."""
    if "[" not in label:
        return label
    name, _, rest = label.partition("[")
    index, _, after = rest.rpartition("]")
    return f"{name}-{'-'.join(map(_escaped, index.split(SEPARATOR)))}{after}"


def names_of(label: str) -> frozenset[str]:
    """Return the names that mean a flow in the language, of its label in tables.

    >>> sorted(names_of("web[2]-1"))
    ['web', 'web[2]', 'web[2]-1']
    """
    own = label[: label.rfind("]") + 1] or label.partition("-")[0]
    return frozenset((label, own, base(own)))


def statement_of(label: str) -> str:
    """Return the name of all flows of a statement, of a flow's label in tables: of all that differ
    from it in their index, or of a user's flow in their user.

    >>> [statement_of(label) for label in ("bulk", "q[3]", "heavy-1", "web[2]-1")]
    ['bulk', 'q', 'heavy', 'web[2]']
    """
    if label.endswith("]"):
        return base(label)
    name, _, user = label.rpartition("-")
    return name if name and user.isdecimal() else label


def label_of(flow: Named) -> str:
    """Return a flow's name in the language: `f[2]`; of a user's flow `heavy-1`, `web[2]-1`."""
    if not flow.declared or flow.name == flow.declared:
        return flow.name
    if flow.users is None:
        return _label(flow.name, flow.declared)
    name, _, number = flow.name.rpartition("-")
    return f"{_label(name, flow.declared)}-{number}"


def flow_of_group(flow: Named) -> str:
    """Return a flow's name, of a user's flow without its user: `heavy`, `web[2]`."""
    return label_of(flow) if flow.users is None else label_of(flow).rpartition("-")[0]


def users_of(flow: Named) -> str | None:
    """Return the group of users that a flow belongs to, `heavy` or `heavy[2]`; None if to none."""
    if flow.users is None:
        return None
    host = flow.server if flow.client.endswith("-server") else flow.client
    name = host.rpartition("-")[0]
    return _label(name, flow.users) if name.startswith(f"{flow.users}-") else flow.users


def called(flow: Named) -> frozenset[str]:
    """Return every name by which the file may mean a flow: its own, that of all with other indexes,
    that of all users' flows of the statement, that of its group.
    """
    label, users = label_of(flow), users_of(flow)
    if users is None:
        return frozenset((label, flow.declared or flow.name))
    names = (label, label.rpartition("-")[0], flow.declared, users, base(users))
    return frozenset(names)


def group_of(flow: Named) -> str | None:
    """Return the name that means a flow with an index and all others of its statement; None for
    one without an index, or of users.
    """
    if flow.users is not None or flow.declared in ("", flow.name):
        return None
    return flow.declared


class Network(Protocol):
    """The part of a scenario or of a cell that has names."""

    @property
    def nodes(self) -> Sequence[HasName]:
        """Its nodes, by their names on the machine."""
        ...

    @property
    def flows(self) -> Sequence[Named]:
        """Its flows."""
        ...


def labels_of_nodes(network: Network) -> dict[str, str]:
    """Return the name in the language of each node, `r[1]` of `r-1`.

    Nodes that the compiler makes keep their names: those of a group's users, and of a flow without
    `from` or `to`.
    """
    made = {base(name) for flow in network.flows if (name := flow.users)}
    made |= {flow.name for flow in network.flows}
    ends = {f"-{end}" for end in ("client", "server")}
    labels = {}
    for node in network.nodes:
        name = node.name
        declared, _, index = name.partition("-")
        own = any(name == f"{flow}{end}" for flow in made for end in ends)
        labels[name] = name if own or declared in made or not index else _label(name, declared)
    return labels


def _label(name: str, declared: str) -> str:
    """Return the label that a name on the machine encodes; the name itself if it encodes none, as
    in a plan from a stranger.
    """
    index = name.removeprefix(f"{declared}-")
    if index == name:
        return name
    try:
        label = indexed(declared, map(_unescaped, index.split("-")))
    except UnicodeDecodeError:
        return name
    return label if re.match(_LABEL, label) and on_machine(label) == name else name


def _escaped(text: str) -> str:
    return "".join(
        c if _PLAIN.match(c) else "".join(f"_{byte:02x}" for byte in c.encode()) for c in text
    )


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda m: bytes.fromhex(m[0].replace("_", "")).decode(), text)

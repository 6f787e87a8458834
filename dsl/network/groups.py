"""Groups of users, as plain nodes, links and flows: each user is a copy of the client's side.

A user of the group `heavy` is a copy of the node `client` (`heavy-1`, `heavy-2`, ...), with
copies of its links, and a copy of the node `server` (`heavy-1-server`) as its peer. No name in
the language has a hyphen, so these collide with none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairc.dsl import model
from fairc.dsl.blocks import Block
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import refuse_unknown
from fairc.dsl.core.source import Span
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.text import syntax
from fairc.words.blocks import users as keys

from .networks import NODE_LIMIT

CLIENT, SERVER = "client", "server"


@dataclass(frozen=True)
class Group:
    """A group of users; `span` is where their number is written."""

    name: str
    count: int
    span: Span


def build_group(users: syntax.Users, scope: Scope) -> Group:
    """Return a group with its number of users. Raises CompileError."""
    block = Block(users.name.span, users.settings.items, keys.USERS, "`users`")
    gather = Gather()
    with gather.attempt():
        block.checked()
    count = None
    with gather.attempt():
        count = block.given(keys.COUNT, scope)
    gather.finish()
    assert count is not None
    return Group(users.name.text, count.whole, count.span)


def check_users(
    flow: syntax.Flow, built: model.Flow, groups: Mapping[str, Group], network: model.Network
) -> None:
    """Raise CompileError unless the flow's users exist and can attach to the network."""
    span = next(s.value.span for s in flow.settings.items if s.key.text == "users")
    if built.users not in groups:
        refuse_unknown("group of users", "users", built.users or "", groups, span)
    hosts = {node.name for node in network.nodes if node.kind == "host"}
    if not {CLIENT, SERVER} <= hosts:
        fail(
            "no-place-for-users",
            "users need a topology with nodes called `client` and `server`",
            span,
            note="this topology has neither" if not hosts & {CLIENT, SERVER} else "one is missing",
            help="use `access`, or name two nodes of the topology `client` and `server`",
        )
    if {built.client, built.server} != {CLIENT, SERVER}:
        fail(
            "users-elsewhere",
            f"the flow `{built.name}` runs on users, so it must run between `client` and `server`",
            flow.name.span,
            help="for uploads write `from = client  to = server`",
        )


def expand(
    network: model.Network, groups: Sequence[Group], plain: Sequence[model.Flow]
) -> model.Network:
    """Return the network with every user in it.

    plain: the flows without users; a `client` or `server` that none of them needs is left out.
    Raises CompileError if there are too many nodes.
    """
    needed = {name for flow in plain for name in (flow.client, flow.server)}
    gone = {CLIENT, SERVER} - needed
    nodes = {node.name: node for node in network.nodes}
    added: list[model.Node] = []
    links = [link for link in network.links if not {link.a, link.b} & gone]
    for group in groups:
        if len(nodes) + len(added) + 2 * group.count > NODE_LIMIT:
            fail("too-many", f"a topology has at most {NODE_LIMIT} nodes", group.span)
        for number in range(1, group.count + 1):
            names = {CLIENT: user(group, number), SERVER: peer(group, number)}
            added += [replace(nodes[old], name=new) for old, new in names.items()]
            links += [
                replace(link, a=names.get(link.a, link.a), b=names.get(link.b, link.b))
                for link in network.links
                if {link.a, link.b} & names.keys()
            ]
    kept = [node for node in network.nodes if node.name not in gone]
    return model.Network((*kept, *added), tuple(links), network.span, network.peps)


def pair_up(network: model.Network, flows: Sequence[model.Flow]) -> model.Network:
    """Return the network with a pair of hosts for each flow without users.

    `client` and `server` stay if users are still to be copied from them. Raises CompileError if
    there are too many nodes.
    """
    plain = [flow for flow in flows if flow.users is None]
    kept = len(plain) < len(flows)
    nodes = {node.name: node for node in network.nodes}
    if len(nodes) + 2 * len(plain) > NODE_LIMIT:
        fail("too-many", f"a topology has at most {NODE_LIMIT} nodes", network.span)
    ends = {CLIENT, SERVER}
    added: list[model.Node] = []
    links = [link for link in network.links if kept or not {link.a, link.b} & ends]
    for flow in plain:
        names = {end: f"{flow.name}-{end}" for end in (CLIENT, SERVER)}
        added += [replace(nodes[old], name=new) for old, new in names.items()]
        links += [
            replace(link, a=names.get(link.a, link.a), b=names.get(link.b, link.b))
            for link in network.links
            if {link.a, link.b} & ends
        ]
    others = [node for node in network.nodes if kept or node.name not in ends]
    return replace(network, nodes=(*others, *added), links=tuple(links), pairs=False)


def paired(flow: model.Flow) -> model.Flow:
    """Return a flow between its own pair of hosts; one of users has those of each user."""
    if flow.users is not None:
        return flow
    return replace(flow, client=f"{flow.name}-{flow.client}", server=f"{flow.name}-{flow.server}")


def flows_of(flow: model.Flow, group: Group) -> list[model.Flow]:
    """Return the flow of each user: `heavy-1`, `heavy-2`, ... of the flow `heavy`.

    A share of the arrivals belongs to the group, and its users split it equally.
    """
    copies = []
    workload = flow.workload.split(group.count)
    for number in range(1, group.count + 1):
        names = {CLIENT: user(group, number), SERVER: peer(group, number)}
        copies.append(
            replace(
                flow,
                name=f"{flow.name}-{number}",
                client=names[flow.client],
                server=names[flow.server],
                workload=workload,
            )
        )
    return copies


def user(group: Group, number: int) -> str:
    """Return the name of a user's host."""
    return f"{group.name}-{number}"


def user_of(flow: model.Flow) -> str | None:
    """Return the host of the user that a flow belongs to, or None if it runs on no users."""
    if flow.users is None:
        return None
    return flow.server if flow.client.endswith(f"-{SERVER}") else flow.client


def peer(group: Group, number: int) -> str:
    """Return the name of a user's server."""
    return f"{group.name}-{number}-server"

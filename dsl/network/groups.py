"""Groups of users, as plain nodes, links and flows: each user is a copy of the client's side.

A user of the group `heavy` is a copy of the node `client` (`heavy-1`, `heavy-2`, ...), with
copies of its links, and a copy of the node `server` (`heavy-1-server`) as its peer. No name in
the language has a hyphen, so these collide with none.

Presets with a pair of hosts for each flow get them here, too: `client[a]` and `server[a]` of the
flow `a`, on the machine `a-client` and `a-server`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fairc.dsl import model
from fairc.dsl.blocks import Block
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import refuse_unknown
from fairc.dsl.core.source import Span
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.expressions.instances import label, scopes
from fairc.dsl.model.names import base, indexed, on_machine
from fairc.dsl.text import syntax
from fairc.words.blocks import users as keys

CLIENT, SERVER = "client", "server"


@dataclass(frozen=True)
class Group:
    """A group of users; span: of its name."""

    name: str
    count: int
    span: Span


def build_groups(users: syntax.Users, scope: Scope) -> Iterator[Group]:
    """Yield the groups that a statement declares, with their numbers of users.

    Raises CompileError.
    """
    for inner in scopes(users, scope):
        block = Block(users.name.span, users.settings.items, keys.USERS, "`users`")
        gather = Gather()
        with gather.attempt():
            block.checked()
        count = None
        with gather.attempt():
            count = block.given(keys.COUNT, inner)
        gather.finish()
        assert count is not None
        yield Group(label(users.name, inner), count.whole, users.name.span)


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
    """
    needed = {name for flow in plain for name in (flow.client, flow.server)}
    gone = {CLIENT, SERVER} - needed
    nodes = {node.name: node for node in network.nodes}
    added: list[model.Node] = []
    links = [link for link in network.links if not {link.a, link.b} & gone]
    for group in groups:
        for number in range(1, group.count + 1):
            names = {CLIENT: user(group, number), SERVER: peer(group, number)}
            added += [replace(nodes[old], name=new) for old, new in names.items()]
            links += _copies(network, names)
    kept = [node for node in network.nodes if node.name not in gone]
    return model.Network(
        (*kept, *added), tuple(links), network.span, network.proxies, tunnels=network.tunnels
    )


def _copies(network: model.Network, names: Mapping[str, str]) -> Iterator[model.Link]:
    """Yield copies of the links of some nodes, with other names for these."""
    for link in network.links:
        if {link.a, link.b} & names.keys():
            yield replace(link, a=names.get(link.a, link.a), b=names.get(link.b, link.b))


def pair_up(network: model.Network, flows: Sequence[model.Flow]) -> model.Network:
    """Return the network with a pair of hosts for each flow without users, of those that are used.

    flows: as of `paired`. `client` and `server` stay if users are still to be copied from them.
    """
    plain = [flow for flow in flows if flow.users is None]
    kept = len(plain) < len(flows)
    nodes = {node.name: node for node in network.nodes}
    ends = {CLIENT, SERVER}
    used = {name for flow in plain for name in (flow.client, flow.server)}
    added: list[model.Node] = []
    links = [link for link in network.links if kept or not {link.a, link.b} & ends]
    for flow in plain:
        pair = {end: f"{on_machine(flow.name)}-{end}" for end in (CLIENT, SERVER)}
        names = {end: host for end, host in pair.items() if host in used}
        added += [replace(nodes[old], name=new) for old, new in names.items()]
        links += _copies(_with_own(network, flow), names)
    others = [node for node in network.nodes if kept or node.name not in ends]
    return replace(network, nodes=(*others, *added), links=tuple(links), pairs=False, own=())


def _with_own(network: model.Network, flow: model.Flow) -> model.Network:
    """Return the network with the links that a flow's own hosts have in it."""
    own = {ends: link for link in network.own for ends in ((link.a, link.b), (link.b, link.a))}
    links = []
    for link in network.links:
        several = (own.get(_of_flow(link, name)) for name in (flow.name, flow.declared))
        found = next(filter(None, several), None)
        links.append(replace(found, a=base(found.a), b=base(found.b)) if found else link)
    return replace(network, links=tuple(links))


def _of_flow(link: model.Link, flow: str) -> tuple[str, str]:
    """Return the ends of a link where a flow has hosts of its own."""
    a, b = (indexed(end, [flow]) if end in (CLIENT, SERVER) else end for end in (link.a, link.b))
    return a, b


def check_own_hosts(network: model.Network, flows: Collection[str]) -> None:
    """Raise CompileError for changed links of own hosts of a flow that there never is; flows: the
    names of all flows and of their groups.
    """
    gather = Gather()
    for link in network.own:
        for end in (link.a, link.b):
            kind, _, rest = end.partition("[")
            if kind in (CLIENT, SERVER) and rest and rest[:-1] not in flows:
                with gather.attempt():
                    refuse_unknown("flow", "flow", rest[:-1], flows, link.forward.span)
    gather.finish()


def hosts_of_pairs(flows: Iterable[model.Flow]) -> list[str]:
    """Return what hosts are called where each flow has a pair of its own: `client[a]`."""
    plain = [flow.name for flow in flows if flow.users is None]
    return [indexed(end, [name]) for name in plain for end in (CLIENT, SERVER)]


def paired(flow: model.Flow) -> model.Flow:
    """Return a flow between its own pair of hosts, or those that it names (`client[a]`), by their
    names on the machine; one of users has those of each user.
    """
    if flow.users is not None:
        return flow

    def host(end: str) -> str:
        kind, _, index = end.partition("[")
        if kind not in (CLIENT, SERVER):
            return end
        return f"{on_machine(index[:-1] if index else flow.name)}-{kind}"

    return replace(flow, client=host(flow.client), server=host(flow.server))


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


def network_on_machine(network: model.Network) -> model.Network:
    """Return the network with the names that its nodes and devices have on the machine.

    Raises CompileError for two nodes with one name.
    """
    names = {node.name: on_machine(node.name) for node in network.nodes}
    devices = [pair.name for pair in network.proxies] + [tunnel.name for tunnel in network.tunnels]
    if all(on_machine(name) == name for name in (*names, *devices)):
        return network
    first: dict[str, model.Node] = {}
    for node in network.nodes:
        other = first.setdefault(names[node.name], node)
        if other is not node:
            fail(
                "duplicate-node",
                f"`{node.name}` and `{other.name}` would be one: on the machine both are called"
                f" `{names[node.name]}`",
                node.span,
                labels=(Label(other.span, f"`{other.name}`"),),
                help="rename one of them",
            )
    return replace(
        network,
        nodes=tuple(replace(node, name=names[node.name]) for node in network.nodes),
        links=tuple(_link_on_machine(link, names) for link in network.links),
        proxies=tuple(
            replace(
                pair,
                name=on_machine(pair.name),
                terminal=names[pair.terminal],
                gateway=names[pair.gateway],
            )
            for pair in network.proxies
        ),
        tunnels=tuple(
            replace(tunnel, name=on_machine(tunnel.name), a=names[tunnel.a], b=names[tunnel.b])
            for tunnel in network.tunnels
        ),
    )


def _link_on_machine(link: model.Link, names: Mapping[str, str]) -> model.Link:
    ways = (
        way
        if way.device is None
        else replace(way, device=replace(way.device, name=on_machine(way.device.name)))
        for way in (link.forward, link.backward)
    )
    forward, backward = ways
    return replace(link, a=names[link.a], b=names[link.b], forward=forward, backward=backward)


def flow_on_machine(flow: model.Flow) -> model.Flow:
    """Return a flow with its names on the machine."""
    names = flow.name, flow.server, flow.client, flow.users or "", flow.via or ""
    if not any("[" in name for name in names):
        return flow
    name, server, client, _, via = map(on_machine, names)
    users = flow.users and base(flow.users)
    return replace(flow, name=name, server=server, client=client, users=users, via=via or None)


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

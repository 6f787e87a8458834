"""Scenarios of configurations: the network, the flows and when the cell ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import NamedTuple, NoReturn, ParamSpec, TypeVar

from fairc.mechanisms.queues.registry import QUEUES
from fairc.words.blocks import experiment as keys
from fairc.words.blocks import hosts as host_keys
from fairc.words.ccas.custom_kernels import KernelWords
from fairc.words.presets import TOPOLOGIES
from fairc.words.routes import hashed

from . import model
from .blocks import Block, Settings
from .core.diagnostics import CompileError, Diagnostic, Label, warning
from .core.entries import bind
from .core.problems import MOST_FOUND, Gather, fail
from .core.registry import refuse_unknown
from .core.source import Span
from .core.units import Dimension
from .core.values import Amended, Applied, Quantity, Symbol, Value
from .expressions.evaluate import Changes, Scope, evaluate, evaluate_with
from .expressions.instances import label, scopes
from .expressions.names import used_names
from .grid.memo import Memo
from .grid.sampling import Bindings
from .grid.sweeps import Grid
from .model.names import base
from .model.network import Hashed
from .network.arguments import argument_scope, links_have
from .network.devices import Layer
from .network.groups import (
    Group,
    build_groups,
    check_own_hosts,
    check_users,
    expand,
    flow_on_machine,
    flows_of,
    hosts_of_pairs,
    network_on_machine,
    pair_up,
    paired,
)
from .network.link_devices import prepared
from .network.networks import build_network
from .network.paths import size_units
from .text import syntax
from .timing import Timing, check_captures, check_end
from .traffic.arrivals import check_arrivals
from .traffic.flows import build_flow, check_ends, named_ends, trip_of
from .traffic.services import Services
from .traffic.sharing import check_sharing

P = ParamSpec("P")
T = TypeVar("T")

PAIRS = frozenset({"dumbbell"})
"""Presets in which each flow has hosts of its own."""

TIMING = frozenset({"duration", "warmup", "deadline", "stop", "captures"})
"""Keys of an experiment that decide when a cell ends, and what it captures."""

TRIP = frozenset({"from", "to", "via", "rtt", "count"})
"""Keys of a flow on which the base round trips depend."""

ENDS = frozenset({"users", "from", "to", "count"})
"""Keys of a flow that decide which hosts the network has for it."""


@dataclass(frozen=True)
class Parts:
    """The parts from which an experiment's scenarios are made.

    topology: the setting's value, or the inline body.
    topologies: those declared in the file.
    settings: the experiment's block.
    hosts: all of its `hosts` as one block.
    """

    topology: syntax.Expr | syntax.Body | None
    topologies: Mapping[str, syntax.Topology]
    flows: Sequence[syntax.Flow]
    services: Services
    users: Sequence[syntax.Users]
    settings: Block
    lets: Mapping[str, syntax.Expr]
    hosts: Block


class Builder:
    """Builds scenarios; parts that depend on the same values are built once."""

    def __init__(self, parts: Parts, grid: Grid, report: Callable[[Diagnostic], None]) -> None:
        self._parts = parts
        self._report = report
        self._grid = grid
        topology: list[syntax.Node] = list(parts.topologies.values())
        if parts.topology is not None:
            topology.append(parts.topology)
        timing = [s.value for name, s in parts.settings.settings.items() if name in TIMING]
        hosts = [setting.value for setting in parts.hosts.settings.values()]
        given = [(flow, list(parts.services.settings(flow))) for flow in parts.flows]
        bases = [flow.base for flow in parts.flows if flow.base is not None]
        deciding = [*bases, *(node for flow, items in given for node in _decides(flow, items))]
        deciding += [node for u in parts.users for node in _decides(u, u.settings.items)]
        self._deciding = self._depends(deciding)
        ends: list[syntax.Node] = [s for _, items in given for s in items if s.key.text in ENDS]
        ends += deciding
        self._network = self._memo(self._build_network, topology)
        self._timing = self._memo(self._build_timing, timing)
        self._machines = self._memo(self._build_machines, hosts)
        settings = parts.settings.settings
        routes = [settings[keys.ROUTES.name].value] if keys.ROUTES.name in settings else []
        self._hashed = self._memo(self._build_hashed, routes)
        self._groups = self._memo(self._build_groups, parts.users)
        self._flows = [
            (flow, self._memo(self._flow_builder(flow), [*parts.services.parts(flow), *hosts]))
            for flow in parts.flows
        ]
        self._names = self._memo(self._build_names, deciding)
        self._whole = self._memo(_with_hosts_of_flows, [*topology, *parts.users, *ends])
        trips = [s.value for _, items in given for s in items if s.key.text in TRIP]
        self._trips = self._memo(self._build_trips, [*topology, *trips, *deciding])
        self._is_sizing = False

    def _memo(self, build: Callable[P, T], nodes: Iterable[syntax.Node]) -> Memo[P, T]:
        """Return a part that is built once for equal values of the swept names in some nodes."""
        return Memo(build, self._depends(nodes))

    def _depends(self, nodes: Iterable[syntax.Node]) -> tuple[str, ...]:
        """Return the swept names that some nodes depend on."""
        swept = {name for group in self._grid.groups for name in group.names}
        return tuple(sorted(used_names(nodes, self._parts.lets) & swept))

    @property
    def path_names(self) -> frozenset[str]:
        """The swept names on which the sizes of a BDP and of a packet depend."""
        return frozenset(self._trips.names)

    def size_units(
        self, bound: Bindings, wanted: Collection[Dimension], at: Span
    ) -> Mapping[Dimension, Fraction]:
        """Return what sizes of some units are in a configuration, bits.

        at: where they are compared. Raises CompileError where they have no single meaning.
        """
        if self._is_sizing:
            fail(
                "circular",
                "this comparison decides on the path on which `bdp` and `pkt` depend",
                at,
                help="compare bytes: `rate * rtt` instead of `1bdp`, `1514B` instead of `1pkt`",
            )
        self._is_sizing = True
        try:
            network, trips = self._trips(bound, bound)
        finally:
            self._is_sizing = False
        return size_units(network, trips, wanted, at)

    def _build_trips(self, bound: Bindings) -> tuple[model.Network, Sequence[model.Trip]]:
        """Return the network, and between which nodes the flows that are there run."""
        scope = self._grid.scope(bound)
        network = self._network(bound, scope)
        hosts = {node.name for node in network.nodes if node.kind == "host"}
        trips = [
            trip
            for flow in self._parts.flows
            for inner in scopes(flow, scope)
            if (trip := trip_of(self._parts.services.complete(flow, inner), inner, hosts))
        ]
        if network.pairs:  # the hosts of each flow are copies of these
            trips = [replace(t, server=base(t.server), client=base(t.client)) for t in trips]
        return network, trips

    def build(self, bound: Bindings) -> model.Scenario:
        """Return the scenario of a configuration.

        Raises CompileError with everything wrong in it, `not-yet` included.
        """
        scenario = self.check(bound)
        assert scenario is not None, "an experiment without a topology is refused by the checker"
        return scenario

    def check(self, bound: Bindings) -> model.Scenario | None:
        """Return the scenario, or None if the experiment names no topology. Raises like `build`."""
        gather, scope = Gather(), self._grid.scope(bound)
        network, timing = None, None
        if self._parts.topology is not None:
            with gather.attempt():
                network = self._network(bound, scope)
        statements, flows, groups = self._traffic(bound, scope, gather)
        if self._flows and not flows and not gather.found:
            with gather.attempt():
                self._refuse_nothing(bound)
        with gather.attempt():
            timing = self._timing(bound, scope)
        if network is not None:
            flows = self._between_hosts(flows, statements, network, groups, gather)
            with gather.attempt():
                flows = prepared(network, flows)
        gather.finish()
        assert timing is not None
        if network is not None and network.pairs:
            with gather.attempt():
                check_own_hosts(network, [*self.names.flows, *self.names.groups])
            gather.finish()
            flows = [paired(flow) for flow in flows]
        check_sharing(flows, network.proxies if network else ())
        check_arrivals(flows, {name: group.count for name, group in groups.items()})
        check_end(flows, timing)
        check_captures(flows, timing)
        if network is None:
            return None
        used = {flow.users for flow in flows}
        attached = [group for name, group in groups.items() if name in used]
        whole = self._whole(bound, network, flows, attached)
        every = [flows_of(flow, groups[flow.users]) if flow.users else [flow] for flow in flows]
        flat = tuple(flow_on_machine(flow) for several in every for flow in several)
        kernel, on_hosts = self._machines(bound, scope)
        if kernel is not None:
            _check_queues(whole, kernel)
        return on_hosts(whole, flat, *timing, hashed=self._hashed(bound, scope))

    def _traffic(
        self, bound: Bindings, scope: Scope, gather: Gather
    ) -> tuple[Mapping[str, syntax.Flow], list[model.Flow], Mapping[str, Group]]:
        """Return the statement of each flow, and the flows and the groups of users that a
        configuration has; those of which there are none are absent.
        """
        statements, flows = dict[str, syntax.Flow](), dict[str, model.Flow]()
        groups = dict[str, Group]()
        for _, build in self._flows:
            if len(gather.found) >= MOST_FOUND:
                break
            with gather.attempt():
                for statement, flow in build(bound, scope):
                    first = flows.setdefault(flow.name, flow)
                    if first is not flow:
                        _refuse_second("flow", flow, first)
                    statements[flow.name] = statement
        with gather.attempt():
            groups.update(self._groups(bound, scope))
        empty = {name for name, group in groups.items() if not group.count}
        present = [f for f in flows.values() if f.connections and f.users not in empty]
        attached = {name: group for name, group in groups.items() if group.count}
        return statements, present, attached

    def present(self, bound: Bindings) -> frozenset[str]:
        """Return the names of the flows and the groups that a configuration has: those of users,
        and those of flows with an index. Raises CompileError.
        """
        names = self._names(bound, self._grid.scope(bound))
        return frozenset((*names.flows, *names.on_users, *names.users, *names.groups))

    @cached_property
    def names(self) -> TrafficNames:
        """The names in any configuration, and those of flows that are in none, without index; what
        cannot be evaluated is left out.
        """
        found = TrafficNames({}, {}, {}, {})
        for flow in self._parts.flows:
            if not flow.name.index:
                settings = self._parts.services.settings(flow)
                on_users = any(setting.key.text == "users" for setting in settings)
                (found.on_users if on_users else found.flows)[flow.name.text] = None
        for bound in self._grid.projected(self._deciding):
            with suppress(CompileError):
                here = self._names(bound, self._grid.scope(bound))
                for known, names in zip(found, here, strict=True):
                    known.update(names)
        for flow in self._parts.flows:
            if flow.name.index:
                found.groups[flow.name.text] = None
        return found

    def never_there(self) -> Iterator[Diagnostic]:
        """Yield a warning for each flow that no configuration has; call where nothing is wrong."""
        there = set[str]()
        for bound in self._grid.projected(self._deciding):
            names = self._names(bound, self._grid.scope(bound))
            there.update(map(base, (*names.flows, *names.on_users)))
        for flow in self._parts.flows:
            if flow.name.text not in there:
                why = "its condition never holds" if flow.when else "it has no connections"
                yield warning(
                    "absent-flow",
                    f"no configuration has the flow `{flow.name.text}`",
                    flow.name.span,
                    note=why,
                    help="leave it out, or change what it depends on",
                )
                there.add(flow.name.text)

    def _build_names(self, scope: Scope) -> TrafficNames:
        """Return the names of what a configuration has, without building it."""
        names = TrafficNames({}, {}, {}, {})
        empty = set()
        for users in self._parts.users:
            for group in build_groups(users, scope):
                if group.count:
                    names.users[group.name] = None
                else:
                    empty.add(group.name)
        for flow in self._parts.flows:
            for inner in scopes(flow, scope):
                runs_on = _presence(self._parts.services.complete(flow, inner), inner)
                if runs_on is None or runs_on in empty:
                    continue
                (names.on_users if runs_on else names.flows)[label(flow.name, inner)] = None
                if flow.name.index:
                    names.groups[flow.name.text] = None
        return names

    def _refuse_nothing(self, bound: Bindings) -> NoReturn:
        """Raise CompileError for a configuration in which every flow is absent."""
        where = " and ".join(f"{name} == {bound[name].canonical}" for name in self._deciding)
        flow, _ = self._flows[0]
        fail(
            "absent-flow",
            f"every flow is absent{f' where {where}' if where else ''}",
            flow.name.span,
            "nothing would be measured",
            help=f"leave this out: `exclude {where}`" if where else "give a flow a `count` above 0",
        )

    def _between_hosts(
        self,
        built: Sequence[model.Flow],
        statements: Mapping[str, syntax.Flow],
        network: model.Network,
        groups: Mapping[str, Group],
        gather: Gather,
    ) -> list[model.Flow]:
        """Return flows with their ends as nodes; `gather` collects what is wrong with these."""
        hosts = [node.name for node in network.nodes if node.kind == "host"]
        if network.pairs:
            hosts += hosts_of_pairs(built)
        known = frozenset(hosts)
        flows = [named_ends(statements[flow.name], flow, known) for flow in built]
        for flow in flows:
            if len(gather.found) >= MOST_FOUND:
                break
            with gather.attempt():
                if flow.users:
                    check_users(statements[flow.name], flow, groups, network)
                else:
                    check_ends(statements[flow.name], flow, network, known)
        return flows

    def _build_groups(self, scope: Scope) -> Mapping[str, Group]:
        gather = Gather()
        groups = dict[str, Group]()
        for users in self._parts.users:
            with gather.attempt():
                for group in build_groups(users, scope):
                    first = groups.setdefault(group.name, group)
                    if first is not group:
                        _refuse_second("users", group, first)
        gather.finish()
        return groups

    def _build_network(self, scope: Scope) -> model.Network:
        topology = self._parts.topology
        assert topology is not None
        if isinstance(topology, syntax.Body):
            return build_network([(topology, scope)], self._report)
        return evaluate_with(topology, scope, lambda value: self._named_network(value, scope))

    def _named_network(self, value: Value, scope: Scope) -> model.Network:
        changes: list[Layer] = []
        while isinstance(value, Amended):
            assert isinstance(value.changes, Changes)
            changes.insert(0, (value.changes.body, value.changes.scope))
            value = value.base
        if not isinstance(value, Symbol | Applied):
            fail(
                "wrong-type",
                f"`topology` must be a topology, not {value.phrase}",
                value.span,
                help=f"known: {', '.join(self._known())}",
            )
        own = self._parts.topologies.get(value.name)
        if own is not None:
            return self.own_network(own, value, scope, changes)
        if value.name not in TOPOLOGIES:
            refuse_unknown("topology", "topology", value.name, self._known(), value.name_span)
        declared = TOPOLOGIES[value.name].declaration
        bind(TOPOLOGIES, value, "`topology`", elsewhere=links_have(declared))
        return self.own_network(declared, value, None, changes, value.name in PAIRS)

    def _inside(self, value: Symbol | Applied, build: Callable[[], model.Network]) -> model.Network:
        """Build a topology; errors in its text also show where it is used."""
        try:
            return build()
        except CompileError as error:
            call = Label(value.span, f"`{value.name}` is used here")
            raise CompileError(
                replace(d, labels=(*d.labels, call))
                if d.span and d.span.source is not value.span.source and len(d.labels) == 0
                else d
                for d in error.diagnostics
            ) from None

    def own_network(
        self,
        topology: syntax.Topology,
        value: Symbol | Applied,
        scope: Scope | None,
        changes: Sequence[Layer] = (),
        has_pairs: bool = False,
    ) -> model.Network:
        """Return the network of a topology, with changes; scope: where it is declared.

        has_pairs: whether each flow has hosts of its own. Raises CompileError.
        """

        def build() -> model.Network:
            inner = argument_scope(topology, value, scope)
            layers = [(topology.body, inner), *changes]
            network = build_network(layers, self._report, has_pairs)
            if scope is None:  # in a preset, an argument that is not used is a mistake
                for each in inner.without_effect():
                    self._report(each)
            return network

        return self._inside(value, build)

    def _known(self) -> list[str]:
        return sorted({*TOPOLOGIES.names(), *self._parts.topologies})

    def _flow_builder(
        self, flow: syntax.Flow
    ) -> Callable[[Scope], list[tuple[syntax.Flow, model.Flow]]]:
        """Return what builds the flows that a statement declares, each with the statement and what
        its service adds.
        """

        def build(scope: Scope) -> list[tuple[syntax.Flow, model.Flow]]:
            found = []
            for inner in scopes(flow, scope):
                whole = self._parts.services.complete(flow, inner)
                built = build_flow(whole, inner, self._hosts(inner), self._report)
                found.append((whole, replace(built, name=label(flow.name, inner))))
            return found

        return build

    def _hosts(self, scope: Scope) -> Settings:
        """Return the settings of `hosts`; errors in it are reported where the block is checked."""
        return self._parts.hosts.read(scope, Gather())

    def _build_machines(
        self, scope: Scope
    ) -> tuple[KernelWords | None, Callable[..., model.Scenario]]:
        """Return the hosts' kernel, and scenarios with the settings of hosts, still without all
        else.
        """
        hosts = self._hosts(scope)
        syscall = hosts.given(host_keys.SYSCALL_COST)
        kernel = hosts.given(host_keys.KERNEL)
        return kernel, partial(
            model.Scenario,
            processing_ns=hosts.given(host_keys.PROCESSING),
            syscall_cost_ns=syscall.ns if syscall else None,
            kernel=kernel.planned if kernel else None,
            saves_metrics=hosts[host_keys.TCP_METRICS_SAVE] == "on",
            offload=hosts[host_keys.OFFLOAD] == "on",
        )

    def _build_hashed(self, scope: Scope) -> Hashed | None:
        """Return what decides the ways of flows where several are equal; None: all take one."""
        return hashed(self._parts.settings.get(keys.ROUTES, scope))

    def _build_timing(self, scope: Scope) -> Timing:
        gather, block = Gather(), self._parts.settings
        found: dict[str, Quantity | None] = {}
        for key in (keys.DURATION, keys.WARMUP, keys.DEADLINE):
            with gather.attempt():
                found[key.name] = block.given(key, scope)
        stop, captures = keys.STOP.fallback, keys.CAPTURES.fallback
        with gather.attempt():
            stop = block.get(keys.STOP, scope)
        with gather.attempt():
            captures = block.get(keys.CAPTURES, scope)
        gather.finish()
        duration, warmup, deadline = found["duration"], found["warmup"], found["deadline"]
        end = duration or deadline
        if warmup and end and warmup.number >= end.number:
            fail(
                "warmup-too-long",
                "the warm-up lasts as long as the cell, so nothing is left to measure",
                warmup.span,
                note=f"this is {warmup.canonical}",
                labels=(Label(end.span, f"the cell ends after {end.canonical}"),),
                help="make the warm-up shorter or the cell longer",
            )
        if duration and deadline and deadline.number < duration.number:
            fail(
                "short-deadline",
                "the deadline ends the cell before its duration does",
                deadline.span,
                note=f"this is {deadline.canonical}",
                labels=(Label(duration.span, f"the cell lasts {duration.canonical}"),),
                help="leave one of the two out",
            )
        return (
            duration.ns if duration else None,
            warmup.ns if warmup else 0,
            deadline.ns if deadline else None,
            stop,
            captures,
        )


class TrafficNames(NamedTuple):
    """Names of what there may be, in the order of the file; as keys.

    flows: those without users. on_users: the other flows. users: the groups of users. groups: what
    all flows with an index of one statement are called.
    """

    flows: dict[str, None]
    on_users: dict[str, None]
    users: dict[str, None]
    groups: dict[str, None]


def _decides(
    statement: syntax.Flow | syntax.Users, settings: Iterable[syntax.Setting]
) -> Iterator[syntax.Node]:
    """Yield what decides which flows or groups a statement declares."""
    yield from statement.loops
    yield statement.name
    if statement.when is not None:
        yield statement.when
    for setting in settings:
        if setting.key.text in ("count", "users"):
            yield setting.value


def _presence(flow: syntax.Flow, scope: Scope) -> str | None:
    """Return the users that a flow runs on, empty for none; None if it has no connections."""
    settings = {setting.key.text: setting.value for setting in flow.settings.items}
    if "count" in settings:
        count = evaluate(settings["count"], scope)
        if isinstance(count, Quantity) and not count.number:
            return None
    return evaluate(settings["users"], scope).canonical if "users" in settings else ""


def _refuse_second(word: str, second: model.Flow | Group, first: model.Flow | Group) -> NoReturn:
    """Raise CompileError for a name that a configuration has twice."""
    same = first.span == second.span
    fail(
        f"duplicate-{word}",
        f"`{word} {second.name}` is declared twice",
        second.span,
        labels=() if same else (Label(first.span, "first occurrence"),),
        help="give each its own value as index: `f[i] for i in [1, 2]`"
        if same
        else "rename one of them",
    )


def _with_hosts_of_flows(
    network: model.Network, flows: Sequence[model.Flow], groups: Sequence[Group]
) -> model.Network:
    """Return the network with the pairs of hosts that flows have to themselves, and all users."""
    if network.pairs:
        network = pair_up(network, flows)
    if groups:
        network = expand(network, groups, [f for f in flows if not f.users])
    return network_on_machine(network)


def _check_queues(network: model.Network, kernel: KernelWords) -> None:
    """Refuse queues and media that the kernel of the hosts lacks. Raises CompileError."""
    gather = Gather()
    for link in network.links:
        for way in (link.forward, link.backward):
            needed = [name for part in way.queue.parts for name in QUEUES[part.kind].probes]
            if way.medium is not None:
                needed.append(way.medium.planned.module)
            needed += [each.repair.module for each in way.impairments if each.repair]
            lacking = [name for name in needed if name not in kernel.qdiscs]
            if lacking:
                with gather.attempt():
                    fail(
                        "unknown-queue",
                        f"the kernel `{kernel.name}` has no queue `{lacking[0]}`",
                        way.span,
                        help=f"build it with CONFIG_NET_SCH_{lacking[0].upper()}=y in its --config",
                    )
    gather.finish()

"""Scenarios of configurations: the network, the flows and when the cell ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic, Literal, NoReturn, ParamSpec, TypeVar

from fairc.words.blocks import experiment as keys
from fairc.words.blocks import hosts as host_keys
from fairc.words.presets import TOPOLOGIES, preset
from fairc.words.workloads.requests import check_arrivals

from . import model
from .blocks import Block, Settings
from .core.diagnostics import CompileError, Diagnostic, Label
from .core.entries import bind
from .core.problems import MOST_FOUND, Gather, fail
from .core.registry import refuse_unknown
from .core.source import Span
from .core.units import Dimension
from .core.values import Amended, Applied, Quantity, Symbol, Value
from .expressions.evaluate import Changes, Scope, evaluate_with
from .expressions.names import used_names
from .grid.sampling import Bindings
from .grid.sweeps import Grid
from .network.groups import (
    Group,
    build_group,
    check_users,
    expand,
    flows_of,
    pair_up,
    paired,
)
from .network.networks import Layer, argument_scope, build_network
from .network.paths import Trip, size_units
from .network.policers import with_feedback
from .text import syntax
from .traffic.flows import build_flow, check_ends, named_ends, trip_of
from .traffic.services import Services
from .traffic.sharing import check_sharing

P = ParamSpec("P")
T = TypeVar("T")

MEMO_LIMIT = 4096
"""How many results of one part are kept: sweeps vary the last names fastest."""

PAIRS = frozenset({"dumbbell"})
"""Presets in which each flow has hosts of its own."""

TIMING = frozenset({"duration", "warmup", "deadline", "stop", "captures"})
"""Keys of an experiment that decide when a cell ends, and what it captures."""

TRIP = frozenset({"from", "to", "rtt", "count"})
"""Keys of a flow on which the base round trips depend."""

ENDS = frozenset({"users", "from", "to", "count"})
"""Keys of a flow that decide which hosts the network has for it."""

Timing = tuple[int | None, int, int | None, Literal["first", "all"], Literal["full", "none"]]
"""Duration, warm-up and deadline in ns, which flows' end ends the cell, and its captures."""


@dataclass(frozen=True)
class Parts:
    """What the scenarios of an experiment are made from.

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
        counts = [s.value for _, items in given for s in items if s.key.text == "count"]
        counts += [s.value for u in parts.users for s in u.settings.items if s.key.text == "count"]
        self._deciding = self._depends(counts)
        ends: list[syntax.Node] = [s for _, items in given for s in items if s.key.text in ENDS]
        ends += bases
        self._network = self._memo(self._build_network, topology)
        self._timing = self._memo(self._build_timing, timing)
        self._costs = self._memo(self._build_costs, hosts)
        self._groups = self._memo(self._build_groups, parts.users)
        self._flows = [
            (flow, self._memo(self._flow_builder(flow), [*parts.services.parts(flow), *hosts]))
            for flow in parts.flows
        ]
        self._whole = self._memo(_with_hosts_of_flows, [*topology, *parts.users, *ends])
        trips = [s.value for _, items in given for s in items if s.key.text in TRIP]
        self._trips = self._memo(self._build_trips, [*topology, *trips, *bases])
        self._is_sizing = False

    def _memo(self, build: Callable[P, T], nodes: Iterable[syntax.Node]) -> _Memo[P, T]:
        """Return a part that is built once for equal values of the swept names in some nodes."""
        return _Memo(build, self._depends(nodes))

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

    def _build_trips(self, bound: Bindings) -> tuple[model.Network, Sequence[Trip]]:
        """Return the network, and between which nodes the flows that are there run."""
        scope = self._grid.scope(bound)
        network = self._network(bound, scope)
        hosts = {node.name for node in network.nodes if node.kind == "host"}
        flows = (self._parts.services.complete(flow, scope) for flow in self._parts.flows)
        trips = (trip_of(flow, scope, hosts) for flow in flows)
        return network, [trip for trip in trips if trip is not None]

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
        flows, groups = self._traffic(bound, scope, gather)
        if self._flows and not flows and not gather.found:
            with gather.attempt():
                self._refuse_nothing(bound)
        with gather.attempt():
            timing = self._timing(bound, scope)
        if network is not None:
            flows = self._between_hosts(flows, network, groups, scope, gather)
            with gather.attempt():
                flows = with_feedback(network, flows)
        gather.finish()
        assert timing is not None
        if network is not None and network.pairs:
            flows = [paired(flow) for flow in flows]
        check_sharing(flows, network.peps if network else ())
        check_arrivals(flows, {name: group.count for name, group in groups.items()})
        _check_end(flows, timing)
        _check_captures(flows, timing)
        if network is None:
            return None
        used = {flow.users for flow in flows}
        attached = [group for name, group in groups.items() if name in used]
        whole = self._whole(bound, network, flows, attached)
        every = [flows_of(flow, groups[flow.users]) if flow.users else [flow] for flow in flows]
        flat = tuple(flow for several in every for flow in several)
        return model.Scenario(whole, flat, *timing, *self._costs(bound, scope))

    def _traffic(
        self, bound: Bindings, scope: Scope, gather: Gather
    ) -> tuple[list[model.Flow], Mapping[str, Group]]:
        """Return the flows and the groups of users that a configuration has; those of which there
        are none are absent.
        """
        flows, groups = list[model.Flow](), dict[str, Group]()
        for _, build in self._flows:
            if len(gather.found) >= MOST_FOUND:
                break
            with gather.attempt():
                flows.append(build(bound, scope))
        with gather.attempt():
            groups.update(self._groups(bound, scope))
        empty = {name for name, group in groups.items() if not group.count}
        present = [flow for flow in flows if flow.connections and flow.users not in empty]
        return present, {name: group for name, group in groups.items() if group.count}

    def present(self, bound: Bindings) -> frozenset[str]:
        """Return the names of the flows and the groups of users that a configuration has.

        Raises CompileError.
        """
        gather = Gather()
        flows, groups = self._traffic(bound, self._grid.scope(bound), gather)
        gather.finish()
        return frozenset((*(flow.name for flow in flows), *groups))

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
        network: model.Network,
        groups: Mapping[str, Group],
        scope: Scope,
        gather: Gather,
    ) -> list[model.Flow]:
        """Return flows with their ends as nodes; `gather` collects what is wrong with these."""
        hosts = {node.name for node in network.nodes if node.kind == "host"}
        names = {flow.name for flow in built}
        declared = {
            flow.name.text: self._parts.services.complete(flow, scope)
            for flow, _ in self._flows
            if flow.name.text in names
        }
        flows = [named_ends(declared[flow.name], flow, hosts) for flow in built]
        for flow in flows:
            if len(gather.found) >= MOST_FOUND:
                break
            with gather.attempt():
                if flow.users:
                    check_users(declared[flow.name], flow, groups, network)
                else:
                    check_ends(declared[flow.name], flow, network)
        return flows

    def _build_groups(self, scope: Scope) -> Mapping[str, Group]:
        gather = Gather()
        groups = {}
        for users in self._parts.users:
            with gather.attempt():
                groups[users.name.text] = build_group(users, scope)
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
            span = value.name_span if isinstance(value, Applied) else value.span
            refuse_unknown("topology", "topology", value.name, self._known(), span)
        bind(TOPOLOGIES, value, "`topology`")
        declared = preset(value.name)
        network = self.own_network(declared, value, None, changes)
        return replace(network, pairs=value.name in PAIRS)

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
    ) -> model.Network:
        """Return the network of a topology, with changes; scope: where it is declared.

        Raises CompileError.
        """

        def build() -> model.Network:
            inner = argument_scope(topology, value, scope)
            return build_network([(topology.body, inner), *changes], self._report)

        return self._inside(value, build)

    def _known(self) -> list[str]:
        return sorted({*TOPOLOGIES.names(), *self._parts.topologies})

    def _flow_builder(self, flow: syntax.Flow) -> Callable[[Scope], model.Flow]:
        """Return what builds a flow in a scope."""

        def build(scope: Scope) -> model.Flow:
            whole = self._parts.services.complete(flow, scope)
            return build_flow(whole, scope, self._hosts(scope), self._report)

        return build

    def _hosts(self, scope: Scope) -> Settings:
        """Return the settings of `hosts`; errors in it are reported where the block is checked."""
        return self._parts.hosts.read(scope, Gather())

    def _build_costs(self, scope: Scope) -> tuple[int | None, int | None]:
        """Return what a packet and a system call cost, ns."""
        hosts = self._hosts(scope)
        syscall = hosts.given(host_keys.SYSCALL_COST)
        return hosts.given(host_keys.PROCESSING), None if syscall is None else syscall.ns

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
        return (
            duration.ns if duration else None,
            warmup.ns if warmup else 0,
            deadline.ns if deadline else None,
            stop,
            captures,
        )


def _check_captures(flows: Sequence[model.Flow], timing: Timing) -> None:
    """Refuse a cell without captures if only packets show what its flows received."""
    gather = Gather()
    for flow in flows if timing[-1] == "none" else ():
        what = flow.workload.only_in_packets or ("an image" if flow.image else "")
        if what:
            with gather.attempt():
                fail(
                    "captures-needed",
                    f"the flow `{flow.name}` cannot be measured without captures",
                    flow.span,
                    note=f"what {what} received, and when, comes from captured packets",
                    help="remove `captures = none`",
                )
    gather.finish()


def _check_end(flows: Sequence[model.Flow], timing: Timing) -> None:
    """Refuse a cell that never ends, and flows that never begin."""
    duration, _, deadline, stop, _ = timing
    gather = Gather()
    ends = [f.workload.ends or f.stop_ns is not None for f in flows]
    limit = duration if duration is not None else deadline
    if limit is None and not all(ends) and not (stop == "first" and any(ends)):
        for flow, finite in zip(flows, ends, strict=True):
            if not finite:
                with gather.attempt():
                    fail(
                        "endless",
                        f"the flow `{flow.name}` never ends, and neither does the cell",
                        flow.span,
                        note=f"`{flow.workload.kind}` sends for as long as the flow lasts",
                        help="give the experiment a `duration`, or the flow a `stop`",
                    )
    for flow in flows:
        if limit is not None and flow.start_ns is not None and flow.start_ns >= limit:
            with gather.attempt():
                fail(
                    "late-start",
                    f"the flow `{flow.name}` starts after the cell has ended",
                    flow.span,
                    note=f"it starts at {flow.start_ns / 1e9:g} s",
                    help=f"start it before {limit / 1e9:g} s, or make the cell longer",
                )
    gather.finish()


def _with_hosts_of_flows(
    network: model.Network, flows: Sequence[model.Flow], groups: Sequence[Group]
) -> model.Network:
    """Return the network with the pairs of hosts that flows have to themselves, and all users."""
    if network.pairs:
        network = pair_up(network, flows)
    return expand(network, groups, [f for f in flows if not f.users]) if groups else network


class _Memo(Generic[P, T]):
    """Remembers a part of the scenario for the swept values that it depends on.

    Flows and networks that many configurations share are built once, and the compiler lowers equal
    networks once.
    """

    def __init__(self, build: Callable[P, T], names: tuple[str, ...]) -> None:
        self._build = build
        self.names = names
        self._known: dict[tuple[str, ...], T] = {}

    def __call__(self, bound: Bindings, *arguments: P.args, **options: P.kwargs) -> T:
        """Return the part for a configuration; the arguments follow from its values.

        Raises CompileError.
        """
        key = tuple(bound[name].canonical for name in self.names)
        if key not in self._known:
            if len(self._known) >= MEMO_LIMIT:
                self._known.clear()
            self._known[key] = self._build(*arguments, **options)
        return self._known[key]

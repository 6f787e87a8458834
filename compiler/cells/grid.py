"""From a lowered configuration and a repetition to a cell: seeds, start offsets, identity."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace

from fairc.cell.seeds import (
    canonical,
    cell_seed,
    draws_seed,
    identity,
    stream_seed,
    uniform,
)
from fairc.cell.text import Place
from fairc.compiler import plan
from fairc.compiler.passes.flows import deadline_ns, start_range_ns
from fairc.compiler.passes.routing import RoutedPath, Traffic
from fairc.compiler.passes.unrolling import draws as draws_links
from fairc.compiler.plan.identity import NOT_IN_IDENTITY, identity_of
from fairc.dsl.experiment import Experiment
from fairc.dsl.model import Configuration, Distribution, Flow
from fairc.dsl.traffic.arrivals import PROCESS, shared_arrivals
from fairc.words.distributions import draw

from .variation import draws_workload

NOBODY = "0" * 16
"""Stands for a hash that is still to be computed."""


class Blueprint:
    """A lowered configuration: `cell(repetition)` gives its cells, which share everything that no
    seed changes.

    repetitions: those that it has.
    is_of_one: whether it holds for the repetition alone that it has been lowered for.
    scenario: with the round trips and links that are drawn.
    shared: a cell, but for what is drawn. baselines: those that it is compared with, by their
    configurations.
    """

    def __init__(
        self,
        experiment: Experiment,
        configuration: Configuration,
        shared: plan.Cell,
        traffic: Traffic,
    ) -> None:
        self.repetitions = configuration.repetitions
        self._experiment = experiment
        scenario = configuration.scenario
        self.is_of_one = (
            draws_links(scenario.network)
            or scenario.hashed is not None
            or any(f.random_rtt for f in scenario.flows)
        )
        self.scenario = configuration.scenario
        self.shared = shared
        self._everyone = self._traffic = traffic
        self._seeded: Mapping[str, str] = shared.bindings
        self._is_checked = False
        self.baselines: Mapping[str, Blueprint] = {}

    @property
    def traffic(self) -> Traffic:
        """Its flows with their paths."""
        return self._traffic

    def compare_with(self, baselines: Mapping[str, str]) -> None:
        """Name the baselines in its cells: configurations, by what their flows are called."""
        self.shared = replace(self.shared, baselines=dict(baselines))

    def named(self, configuration: str, bindings: Mapping[str, str]) -> Blueprint:
        """Return a baseline with the name and the bindings that it has everywhere."""
        found = copy(self)
        found.shared = replace(self.shared, configuration=configuration, bindings=dict(bindings))
        return found

    def alone(self, names: Collection[str], measured: str = "") -> Blueprint:
        """Return the baseline of some flows, by their names on the machine: the same network, and
        of all flows only these.

        Its configuration is the hash of what it is, whichever flows are missing, so equal baselines
        are one. It has the seed that it would have without a sweep. measured: in which windows it
        is compared, where they depend on the configuration.
        """
        found = copy(self)
        found._traffic = [pair for pair in self._traffic if pair[0].name in names]
        found._is_checked = False
        shared = replace(
            without_others(
                self.shared,
                names,
                {egress.place for _, path in found._traffic for egress in path.data},
            ),
            baseline=True,
            configuration=NOBODY,
            deadline_ns=deadline_ns(self.scenario, found._traffic),
        )
        example = replace(shared, flows=found._flows(shared, 0, 0))
        name = identity(canonical([plan.cell_json(example, NOT_IN_IDENTITY), measured]))
        found._seeded = {}
        found.shared = replace(shared, configuration=name)
        return found

    def cell(self, repetition: int) -> plan.Cell:
        """Return the cell of one repetition."""
        experiment, shared = self._experiment, self.shared
        seed, draws = _seeds(experiment, self._seeded, repetition)
        flows = self._flows(shared, seed, draws)
        cell = replace(
            shared,
            repetition=repetition,
            seed=seed,
            nodes=tuple(_seeded(node, seed) for node in shared.nodes),
            flows=flows,
            devices=tuple(device.seeded(seed) for device in shared.devices),
            deadline_ns=shared.deadline_ns + self._later_ns([f.starts_ns for f in flows], draws),
        )
        if self._is_checked:
            plan.check_drawn(cell)
        else:
            plan.check(cell)
            self._is_checked = True
        return replace(cell, id=identity_of(cell))

    def _flows(self, shared: plan.Cell, seed: int, draws: int) -> tuple[plan.Flow, ...]:
        """Return the flows of a cell with what is drawn for them; seed: of the cell; draws: of what
        configurations draw alike.
        """
        arrivals = shared_arrivals((flow for flow, _ in self._everyone), draws)
        return tuple(
            replace(
                lowered,
                workload=flow.workload.lower(
                    flow, path, draws if draws_workload(flow) else seed, arrivals
                ),
                starts_ns=_starts_ns(flow, path, self._everyone, draws),
            )
            for lowered, (flow, path) in zip(shared.flows, self._traffic, strict=True)
        )

    def _later_ns(self, starts_ns: Sequence[Sequence[int]], seed: int) -> int:
        """Return by how much drawn starts and pauses move the deadline, ns, where the file sets no
        end.
        """
        scenario, flows = self.scenario, [flow for flow, _ in self._traffic]
        if scenario.duration_ns is not None or scenario.deadline_ns is not None:
            return 0
        drawn = zip(flows, starts_ns, strict=True)
        latest_ns = max((max(ns) for flow, ns in drawn if flow.random_start), default=0)
        return latest_ns + max(
            (sum(flow.workload.pauses_ns(flow, seed)) for flow in flows), default=0
        )


def without_others(cell: plan.Cell, names: Collection[str], passed: Collection[Place]) -> plan.Cell:
    """Return a cell with some of its flows alone, by their names on the machine: the others are
    gone, with the captures at their ends, and at their bottlenecks but those that these flows pass.

    The network stays: hosts that have nothing to send are quiet.
    """
    flows = tuple(flow for flow in cell.flows if flow.name in names)
    own, every = (
        {place for flow in some for place in (flow.bottleneck, *flow.further_bottlenecks)}
        for some in (flows, cell.flows)
    )
    gone = every - own - set(passed)
    ends = {end for flow in flows for end in (flow.server, flow.client)}
    others = {end for flow in cell.flows for end in (flow.server, flow.client)} - ends
    return replace(
        cell,
        flows=flows,
        captures=tuple(
            capture
            for capture in cell.captures
            if capture.node not in others and capture.queue not in gone
            if capture.queue[0] not in others
        ),
        devices=tuple(device.of_flows(flows) for device in cell.devices),
    )


def _seeded(node: plan.Node, seed: int) -> plan.Node:
    """Give each hop with randomness its own stream, named after the link and the direction, and
    each medium.

    Each change of the hop begins a new stream, whose name also has the number of the change.
    """
    interfaces = tuple(
        _with_seeds(_with_medium(interface, seed, place), seed, place)
        if node.kind == "hop"
        else _with_medium(interface, seed, place)
        for interface, place in (
            (interface, (node.name, str(number)))
            for number, interface in enumerate(node.interfaces)
        )
    )
    if all(new is old for new, old in zip(interfaces, node.interfaces, strict=True)):
        return node
    return replace(node, interfaces=interfaces)


def _with_medium(interface: plan.Interface, seed: int, name: tuple[str, ...]) -> plan.Interface:
    shaper = interface.shaper
    if shaper is None or shaper.medium is None or not shaper.medium.random:
        return interface
    medium = replace(shaper.medium, seed=stream_seed(seed, "release", *name))
    return replace(interface, shaper=replace(shaper, medium=medium))


def _with_seeds(interface: plan.Interface, seed: int, name: tuple[str, ...]) -> plan.Interface:
    impairment = _drawn(interface.impairment, seed, name)
    changes = tuple(
        replace(change, impairment=_drawn(change.impairment, seed, (*name, str(n))))
        if change.impairment is not None
        else change
        for n, change in enumerate(interface.changes)
    )
    if impairment is interface.impairment and changes == interface.changes:
        return interface
    return replace(interface, impairment=impairment, changes=changes)


def _drawn(
    impairment: plan.Impairment | None, seed: int, name: tuple[str, ...]
) -> plan.Impairment | None:
    if impairment is None or not impairment.random:
        return impairment
    return replace(impairment, seed=stream_seed(seed, "loss", *name))


def with_hashes(
    experiment: Experiment, configuration: Configuration, repetition: int
) -> Configuration:
    """Return a configuration whose flows have what their ways are hashed with in a repetition."""
    scenario = configuration.scenario
    if scenario.hashed is None:
        return configuration
    seed = seed_of_draws(experiment, configuration.bindings, repetition)
    flows = (
        flow if flow.via is not None else replace(flow, way_seed=seed, way_of=scenario.hashed)
        for flow in scenario.flows
    )
    return replace(configuration, scenario=replace(scenario, flows=tuple(flows)))


def with_rtts(
    experiment: Experiment, configuration: Configuration, repetition: int
) -> Configuration:
    """Return a configuration with the round trips of its flows drawn for a repetition, each from
    the flow's stream.
    """
    scenario = configuration.scenario
    if not any(flow.random_rtt for flow in scenario.flows):
        return configuration
    seed = seed_of_draws(experiment, configuration.bindings, repetition)
    flows = (
        flow
        if flow.random_rtt is None
        else replace(
            flow, extra_rtt_ns=round(draw(flow.random_rtt, seed, "rtt", flow.name) * 10**9)
        )
        for flow in scenario.flows
    )
    return replace(configuration, scenario=replace(scenario, flows=tuple(flows)))


def seed_of_draws(experiment: Experiment, bindings: Mapping[str, str], repetition: int) -> int:
    """Return the seed of what configurations draw alike unless the file says otherwise."""
    return _seeds(experiment, bindings, repetition)[1]


def _seeds(experiment: Experiment, bindings: Mapping[str, str], repetition: int) -> tuple[int, int]:
    """Return the seed of a cell, and that of what configurations draw alike by default."""
    seed = cell_seed(experiment.seed, bindings, repetition, paired=experiment.paired)
    alike = experiment.common and not experiment.paired
    return seed, draws_seed(experiment.seed, repetition) if alike else seed


def _starts_ns(flow: Flow, path: RoutedPath, traffic: Traffic, seed: int) -> tuple[int, ...]:
    """Return when each connection starts, ns: as written, as drawn, or at the flow's offset.

    Flows that share their arrivals have one offset: that of the process.
    """
    if flow.random_start is not None:
        numbers = range(flow.connections)
        return tuple(_drawn_ns(flow.random_start, seed, flow.name, n) for n in numbers)
    start_ns = flow.start_ns
    if start_ns is None and flow.workload.shared_process:
        sharing = [path for other, path in traffic if other.workload.shared_process]
        longest_ns = max(map(start_range_ns, sharing))
        start_ns = uniform(seed, longest_ns, "start", *PROCESS)
    elif start_ns is None:
        start_ns = uniform(seed, start_range_ns(path), "start", flow.name)
    return (start_ns,) * flow.connections


def _drawn_ns(start: Distribution, seed: int, flow: str, connection: int) -> int:
    """Draw a connection's start; the first one uses the flow's own stream, whatever `count` is."""
    number = (str(connection),) if connection else ()
    return round(draw(start, seed, "start", flow, *number) * 10**9)

"""One configuration to its cells: the passes in order, and what all of its repetitions share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from fairc import mechanisms
from fairc.cell.frames import ETHERNET_BYTES, UDP_IP_BYTES, datagram_bytes
from fairc.cell.modules import KernelModule
from fairc.cell.seeds import canonical, identity
from fairc.compiler import plan
from fairc.compiler.passes.bottlenecks import find_bottlenecks
from fairc.compiler.passes.captures import place_captures
from fairc.compiler.passes.devices import lower_devices
from fairc.compiler.passes.entering import check_entering
from fairc.compiler.passes.extra_rtts import lengthen
from fairc.compiler.passes.flows import (
    check_bottlenecks,
    deadline_ns,
    size_buffers,
    waiting_bytes,
)
from fairc.compiler.passes.multipath import Subflows, find_subflows, lowered
from fairc.compiler.passes.nodes import nodes
from fairc.compiler.passes.offload import check_offload
from fairc.compiler.passes.packets import check_numbered, check_packets, warn_unmet
from fairc.compiler.passes.physics import warn
from fairc.compiler.passes.ports import assign_ports
from fairc.compiler.passes.queues import bdp_bytes, size_queues
from fairc.compiler.passes.report import Report
from fairc.compiler.passes.rerouting import (
    find_detours,
    fitting,
    further_paths,
    mixed_ways,
    route_changes,
)
from fairc.compiler.passes.routing import (
    RoutedPath,
    Routing,
    Traffic,
    find_paths,
    routes,
    warn_of_unused_links,
)
from fairc.compiler.passes.tunnels import tunnels
from fairc.compiler.passes.unrolling import draws, repeating, unrolled
from fairc.compiler.passes.ways import own_ways
from fairc.compiler.passes.wiring import Egress, Wiring
from fairc.dsl.core.diagnostics import Diagnostic
from fairc.dsl.experiment import Experiment
from fairc.dsl.model import Configuration, Flow, Network, Scenario
from fairc.words.ccas import Setting
from fairc.words.ccas.resume import settings
from fairc.words.kernel_modules import variant

from .grid import NOBODY, Blueprint, seed_of_draws, with_hashes, with_rtts
from .sampling import check_requests, sample_every_ns

KNOWN_NETWORKS = 1000

Talks = tuple[tuple[object, ...], ...]
"""The facts about flows on which the network's part depends."""

Findings = list[Diagnostic]
"""What passes have reported."""


@dataclass(frozen=True, slots=True)
class RoutedNetwork:
    """Everything that follows from a network and from the ends of its flows.

    paths, buffers: of each flow that has a path, by its name; buffers in bytes. further: the other
    paths that it takes; subflows: those of Multipath TCP.
    """

    wiring: Wiring
    paths: Mapping[str, RoutedPath]
    further: Mapping[str, Sequence[RoutedPath]]
    subflows: Subflows
    queues: Mapping[Egress, plan.Queue]
    buffers: Mapping[str, int]
    nodes: tuple[plan.Node, ...]
    captures: tuple[plan.Capture, ...]
    tunnels: tuple[plan.Tunnel, ...]

    def traffic(self, flows: tuple[Flow, ...]) -> Traffic:
        """Return the flows that have a path, and their paths."""
        return [(flow, self.paths[flow.name]) for flow in flows if flow.name in self.paths]


class Lowering:
    """Lowers configurations; those that differ only in their traffic share the network's part.

    report: receives each diagnostic; the passes continue as far as they can.
    """

    def __init__(self, experiment: Experiment, report: Report) -> None:
        self._experiment = experiment
        self._report = report
        self._known: dict[Talks, list[tuple[Network, bool, RoutedNetwork, Findings]]] = {}
        self._count = 0
        self._variants: list[tuple[tuple[int, int], Network, Network, Findings]] = []

    def __call__(self, configuration: Configuration, repetition: int) -> Blueprint | None:
        """Lower one configuration; None once there have been errors.

        repetition: for which round trips are drawn, if the file says so; else it does not matter.
        """
        report, experiment = self._report, self._experiment
        configuration = with_hashes(experiment, configuration, repetition)
        configuration = with_rtts(experiment, configuration, repetition)
        seed = seed_of_draws(experiment, configuration.bindings, repetition)
        scenario = self._unrolled(configuration.scenario, seed)
        routed = self._routed(scenario.network, scenario.flows, scenario.offload)
        traffic = routed.traffic(scenario.flows)
        check_packets(traffic, routed.wiring.network, report)
        longest_ns = scenario.duration_ns or deadline_ns(scenario, traffic)
        check_numbered(routed.wiring.network, longest_ns, report)
        warn_unmet(routed.wiring.network, longest_ns, report)
        ports = assign_ports(traffic, report)
        devices = lower_devices(routed.wiring, routed.queues, traffic, ports, report)
        warn(scenario, routed.wiring, routed.queues, traffic, routed.buffers, report)
        watched = check_entering(scenario, report)
        ends_ns = scenario.duration_ns if scenario.duration_ns else scenario.deadline_ns
        for links in mechanisms.load("links", "lowering"):
            links.check(routed.wiring, ends_ns, report)
        bindings = dict(configuration.bindings)
        metrics = [request.at(bindings) for request in experiment.requests.metrics]
        check_requests(scenario, traffic, metrics, experiment.measured_at, report)
        if report.failed:
            return None
        shared = plan.Cell(
            id=NOBODY,  # the hash of a whole cell
            experiment=experiment.name,
            configuration=identity(canonical(bindings)),
            bindings=bindings,
            repetition=1,
            seed=0,
            nodes=routed.nodes,
            cables=tuple(routed.wiring.cables),
            flows=tuple(
                self._flow(
                    flow, path, ports[flow.name], routed, sample_every_ns(flow, metrics, watched)
                )
                for flow, path in _with_variants(traffic)
            ),
            captures=routed.captures if scenario.captures == "full" else (),
            captured=scenario.captures,
            devices=devices,
            tunnels=routed.tunnels,
            warmup_ns=scenario.warmup_ns,
            duration_ns=scenario.duration_ns,
            deadline_ns=deadline_ns(scenario, traffic),
            stop=scenario.stop,
            processing_ns=scenario.processing_ns,
            syscall_cost_ns=scenario.syscall_cost_ns,
            kernel=scenario.kernel,
            saves_metrics=scenario.saves_metrics,
            offload=scenario.offload,
        )
        return Blueprint(experiment, replace(configuration, scenario=scenario), shared, traffic)

    def _unrolled(self, scenario: Scenario, seed: int) -> Scenario:
        """Return a scenario with the changes of its links, equal networks as one.

        seed: of what is drawn.
        """
        network, end_ns = scenario.network, scenario.duration_ns
        if end_ns is None:
            end_ns = scenario.deadline_ns
        again = repeating(network)
        if end_ns is None and again is not None:
            self._report.reject(
                "no-end",
                "this repeats until the end of the cell, but the experiment has no end",
                again,
                help="give the experiment a `duration` or a `deadline`",
            )
        key = (end_ns or 0 if again else 0, seed if draws(network) else 0)
        for known, network_of, made, findings in self._variants:
            if network_of is network and known == key:
                self._repeat(findings)
                return replace(scenario, network=made)
        report, findings = self._recorded()
        made = unrolled(network, *key, report)
        if made is network:
            return scenario
        if len(self._variants) == KNOWN_NETWORKS:
            self._variants.clear()
        self._variants.append((key, network, made, findings))
        return replace(scenario, network=made)

    def _routed(self, network: Network, flows: tuple[Flow, ...], offload: bool) -> RoutedNetwork:
        """Run the passes over a network, unless they have been run for an equal input."""
        talks = tuple(
            (
                *(f.name, f.server, f.client, f.extra_rtt_ns, f.transport),
                *(f.image is not None, f.multipath, f.via, f.way_seed),
            )
            for f in flows
        )
        for *known, routed, findings in self._known.get(talks, ()):
            if known[0] is network and known[1] == offload:
                self._repeat(findings)
                return routed
        if self._count == KNOWN_NETWORKS:
            self._known.clear()
            self._count = 0
        report, findings = self._recorded()
        routed = _route(network, flows, offload, report)
        self._known.setdefault(talks, []).append((network, offload, routed, findings))
        self._count += 1
        return routed

    def _recorded(self) -> tuple[Report, Findings]:
        """Return a report that passes everything on, and the list that it keeps of it."""
        findings: Findings = []

        def take(diagnostic: Diagnostic) -> None:
            findings.append(diagnostic)
            self._report(diagnostic)

        return Report(take), findings

    def _repeat(self, findings: Findings) -> None:
        """Report for one more configuration what was found in the part that it shares: a warning
        names all configurations that it is about.
        """
        for diagnostic in findings:
            self._report(diagnostic)

    def _flow(
        self, flow: Flow, path: RoutedPath, port: int, routed: RoutedNetwork, every_ns: int
    ) -> plan.Flow:
        """Return a flow, but for what seeds change. every_ns: the interval of its samples."""
        assert path.bottleneck is not None
        return plan.Flow(
            name=flow.name,
            server=flow.server,
            client=flow.client,
            address=path.server.address,
            port=port,
            transport=flow.transport,
            cca=flow.cca,
            connections=flow.connections,
            workload=flow.workload.lower(flow, path, 0, {}),
            starts_ns=(0,) * flow.connections,
            stop_ns=flow.stop_ns,
            base_rtt_ns=path.base_rtt_ns,
            bottleneck=path.bottleneck.place,
            further_bottlenecks=_bottlenecks(path, routed.further[flow.name]),
            mtu=path.mtu,
            header_bytes=path.header_bytes,
            buffer_bytes=routed.buffers[flow.name],
            waiting_bytes=waiting_bytes(
                flow, (path, *routed.further[flow.name]), routed.buffers[flow.name]
            ),
            source=str(flow.span),
            declared=flow.declared or flow.name,
            users=flow.users,
            subflows=lowered(routed.subflows[flow.name]),
            client_address=path.client.address,
            cca_parameters={**flow.cca_parameters, **self._resumed(flow, path)},
            options=flow.options,
            rate_bps=flow.rate_bps,
            send_buffer_bytes=flow.send_buffer_bytes,
            receive_buffer_bytes=flow.receive_buffer_bytes,
            qlog=flow.qlog,
            idle_timeout_ns=flow.idle_timeout_ns,
            cca_object=flow.cca_object,
            cca_module=flow.cca_module,
            image=flow.image,
            dscp=flow.dscp,
            sample_every_ns=every_ns,
        )

    def _resumed(self, flow: Flow, path: RoutedPath) -> Mapping[str, Setting]:
        """Return what an earlier connection learnt of the path, as parameters of the CCA."""
        if flow.resumed is None:
            return {}
        if path.base_rtt_ns == 0:
            self._report.reject(
                "bdp-without-rtt",
                "an earlier connection learnt nothing of a path without delay",
                flow.span,
                "Careful Resume compares round-trip times",
                "give a link of the path a `delay`, or leave `resume` out",
            )
            return {}
        payload = datagram_bytes(path.mtu)
        wire = bdp_bytes(path.rate_bps, path.base_rtt_ns)
        bdp = wire * payload // (payload + UDP_IP_BYTES + ETHERNET_BYTES)
        return settings(flow.resumed, bdp, path.base_rtt_ns)


def _route(
    network: Network, flows: tuple[Flow, ...], offload: bool, report: Report
) -> RoutedNetwork:
    wiring = Wiring(lengthen(network, flows, report), offload)
    detours = find_detours(wiring)
    several = any(flow.multipath for flow in flows)
    routing = Routing.of(wiring, paths_change=bool(detours) or several)
    if routing.loses_answers(flows):
        routing = Routing.of(wiring, paths_change=True)
    own_way = own_ways(flows, routing, bool(detours), report)
    paths = find_paths(flows, routing, own_way, report)
    subflows = {
        flow.name: find_subflows(flow, paths[flow.name], routing, report)
        for flow in flows
        if flow.name in paths
    }
    further = {
        name: [
            *(one.path for one in subflows[name][1:]),
            *(
                way
                for one in ([each.path for each in subflows[name]] or [path])
                for way in further_paths(one, detours)
            ),
        ]
        for name, path in paths.items()
    }
    paths = {name: fitting(path, further[name]) for name, path in paths.items()}
    traffic = [(flow, paths[flow.name]) for flow in flows if flow.name in paths]
    everything = [*traffic, *((flow, way) for flow, _ in traffic for way in further[flow.name])]
    own = wiring.network.links[: wiring.links]
    if all(flow.way_seed is None for flow in flows):  # else chance leaves a link unused
        warn_of_unused_links(own, (way for _, way in everything), wiring.kinds, report)
    check_bottlenecks(everything, report)
    if offload:
        check_offload(everything, report)
    queues = size_queues(wiring, paths.values(), (way for _, way in everything), report)
    buffers = size_buffers(everything, queues, report)
    mixed = mixed_ways(everything, routing, detours)
    bottlenecks = find_bottlenecks(wiring, [*everything, *mixed])
    captures = place_captures(wiring, everything, mixed, bottlenecks, report)
    changes = route_changes(routing, detours, traffic)
    built = nodes(wiring, queues, routes(routing, traffic), changes, bottlenecks, traffic)
    carried = tunnels(wiring, traffic, everything, report)
    return RoutedNetwork(
        wiring, paths, further, subflows, queues, buffers, built, captures, carried
    )


def _bottlenecks(path: RoutedPath, further: Sequence[RoutedPath]) -> tuple[tuple[str, str], ...]:
    """Return the bottlenecks of further paths that are not that of a path, each once."""
    others = (way.bottleneck for way in further if way.bottleneck is not path.bottleneck)
    return tuple(dict.fromkeys(egress.place for egress in others if egress is not None))


def _with_variants(traffic: Traffic) -> Traffic:
    """Return flows whose kernel modules have names of their own: several of one name are numbered,
    because parameters belong to a module and a kernel has one CCA of each name.
    """
    known: dict[str, KernelModule] = {}
    taken = {flow.cca for flow, _ in traffic}
    found: list[tuple[Flow, RoutedPath]] = []
    for flow, path in traffic:
        name, module = flow.cca, flow.cca_module
        if name is not None and module is not None:
            if name in known:
                numbered = (variant(module.registers, number) for number in count(2))
                name = next(each for each in numbered if each not in taken)
            name = next((each for each, other in known.items() if other == module), name)
            known.setdefault(name, module)
            taken.add(name)
            flow = replace(flow, cca=name)
        found.append((flow, path))
    return found

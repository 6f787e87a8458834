"""From a lowered configuration and a repetition to a cell: seeds, start offsets, identity."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fairc.cell.seeds import (
    canonical,
    cell_seed,
    draws_seed,
    identity,
    stream_seed,
    uniform,
)
from fairc.compiler import plan
from fairc.compiler.passes.draft import Draft, DraftFlow
from fairc.compiler.passes.flows import start_range_ns
from fairc.compiler.passes.wiring import host_address
from fairc.dsl.model import Configuration, Distribution, Flow, MetricRequest, Scenario
from fairc.words.distributions import draw
from fairc.words.workloads import Requests
from fairc.words.workloads.requests import PROCESS, shared_arrivals

from .sampling import sample_every_ns
from .variation import draws_workload

"""Of a flow, those that are of its transport."""

NOT_IN_IDENTITY: Any = {
    "id": True,
    "bindings": True,
    "captures": True,
    "nodes": {"__all__": {"interfaces": {"__all__": {"source": True}}}},
    "flows": {"__all__": {"source": True, "declared": True, "users": True}},
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an experiment that apply to all of its cells.

    paired: all configurations of a repetition draw everything alike. common: they draw starts,
    arrivals, sizes and pauses alike.
    """

    experiment: str
    seed: int
    paired: bool
    common: bool = True
    measure: tuple[MetricRequest, ...] = ()


class Lowered:
    """A lowered configuration: `cell(repetition)` gives its cells, which share everything that no
    seed changes.

    lower: lowers a scenario; where round trips are drawn, the one of each repetition. draft: of
    the first repetition.
    """

    def __init__(
        self, settings: Settings, configuration: Configuration, lower: Callable[[Scenario], Draft]
    ) -> None:
        self.repetitions = configuration.repetitions
        self._settings = settings
        self._given = configuration
        self._lower = lower
        self._is_checked = False
        self._bindings = dict(configuration.bindings)
        self._configuration = identity(canonical(self._bindings))
        self._draws_rtts = any(flow.random_rtt for flow in configuration.scenario.flows)
        _, draws = self._seeds(self.repetitions[0])
        self.draft = lower(_with_rtts(configuration.scenario, draws))

    def _seeds(self, repetition: int) -> tuple[int, int]:
        """Return the seed of a cell, and that of what configurations draw alike by default."""
        settings = self._settings
        seed = cell_seed(settings.seed, self._bindings, repetition, paired=settings.paired)
        alike = settings.common and not settings.paired
        return seed, draws_seed(settings.seed, repetition) if alike else seed

    def cell(self, repetition: int) -> plan.Cell:
        """Return the cell of one repetition."""
        if self._draws_rtts and repetition != self.repetitions[0]:
            drawn = replace(self._given, repetitions=(repetition,))
            return Lowered(self._settings, drawn, self._lower).cell(repetition)
        draft = self.draft
        seed, draws = self._seeds(repetition)
        starts_ns = [_starts_ns(flow, draft, draws) for flow in draft.flows]
        shared = shared_arrivals((flow.flow for flow in draft.flows), draws)
        cell = plan.Cell(
            id="0" * 16,  # its hash is taken below
            repetition=repetition,
            seed=seed,
            nodes=tuple(_seeded(node, seed) for node in draft.frozen_nodes),
            flows=tuple(
                plan.Flow(
                    workload=flow.flow.workload.lower(
                        flow, draws if draws_workload(flow.flow) else seed, shared
                    ),
                    starts_ns=starts,
                    **fixed,
                )
                for flow, starts, fixed in zip(
                    draft.flows, starts_ns, self._fixed_flows, strict=True
                )
            ),
            policers=tuple(
                replace(policer, seed=stream_seed(seed, "policer", policer.name))
                for policer in draft.policers
            ),
            deadline_ns=draft.deadline_ns + _later_ns(draft, starts_ns, draws),
            **self._fixed,
        )
        if self._is_checked:
            plan.check_drawn(cell)
        else:
            plan.check(cell)
            self._is_checked = True
        return replace(cell, id=identity_of(cell))

    @cached_property
    def _fixed(self) -> dict[str, Any]:
        """The fields of its cells that are the same in every repetition."""
        draft, scenario = self.draft, self.draft.scenario
        return {
            "experiment": self._settings.experiment,
            "configuration": self._configuration,
            "bindings": self._bindings,
            "cables": draft.frozen_cables,
            "captures": tuple(draft.captures) if scenario.captures == "full" else (),
            "captured": scenario.captures,
            "peps": tuple(draft.peps),
            "warmup_ns": scenario.warmup_ns,
            "duration_ns": scenario.duration_ns,
            "stop": scenario.stop,
            "processing_ns": scenario.processing_ns,
            "syscall_cost_ns": scenario.syscall_cost_ns,
        }

    @cached_property
    def _fixed_flows(self) -> list[dict[str, Any]]:
        """For each flow, the fields that are the same in every repetition."""
        measure = self._settings.measure
        return [
            _flow(self.draft, flow, sample_every_ns(flow.flow, measure))
            for flow in self.draft.flows
        ]


def identity_of(cell: plan.Cell) -> str:
    """Return a cell's id: a hash of its JSON without white space, fields in the schema's order.

    Left out: the id itself, the captures, the source lines (a comment added
    to a file changes no cell), the bindings, which `configuration` represents in any order, and
    fields added to the plan later, where they are not used: cells keep their ids.
    """
    peps: Any = {"__all__": {"source": True}} if cell.peps else True
    policers: Any = {"__all__": {"source": True}} if cell.policers else True
    left_out = NOT_IN_IDENTITY | {"peps": peps, "policers": policers}
    return identity(plan.cell_json(cell, left_out))


def genuine(cell: plan.Cell) -> bool:
    """Whether the names of a cell are the hashes of its content, under which results are stored."""
    return cell.id == identity_of(cell) and cell.configuration == identity(canonical(cell.bindings))


def _seeded(node: plan.Node, seed: int) -> plan.Node:
    """Give each hop with randomness its own stream, named after the link and the direction.

    Each change of the hop begins a new stream, whose name also has the number of the change.
    """
    if node.kind != "hop":
        return node
    interfaces = tuple(
        _with_seeds(interface, seed, (node.name, str(number)))
        for number, interface in enumerate(node.interfaces)
    )
    if all(new is old for new, old in zip(interfaces, node.interfaces, strict=True)):
        return node
    return replace(node, interfaces=interfaces)


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


def _starts_ns(flow: DraftFlow, draft: Draft, seed: int) -> tuple[int, ...]:
    """Return when each connection starts, ns: as written, as drawn, or at the flow's offset.

    Flows that share their arrivals have one offset: that of the process.
    """
    declared = flow.flow
    if declared.random_start is not None:
        numbers = range(declared.connections)
        return tuple(_drawn_ns(declared.random_start, seed, declared.name, n) for n in numbers)
    start_ns = declared.start_ns
    if start_ns is None and _shares(flow):
        longest_ns = max(start_range_ns(other) for other in draft.flows if _shares(other))
        start_ns = uniform(seed, longest_ns, "start", *PROCESS)
    elif start_ns is None:
        start_ns = uniform(seed, start_range_ns(flow), "start", declared.name)
    return (start_ns,) * declared.connections


def _with_rtts(scenario: Scenario, seed: int) -> Scenario:
    """Return a scenario with the round trips of its flows drawn, each from the flow's stream."""
    if not any(flow.random_rtt for flow in scenario.flows):
        return scenario
    flows = (
        flow
        if flow.random_rtt is None
        else replace(
            flow, extra_rtt_ns=round(draw(flow.random_rtt, seed, "rtt", flow.name) * 10**9)
        )
        for flow in scenario.flows
    )
    return replace(scenario, flows=tuple(flows))


def _shares(flow: DraftFlow) -> bool:
    workload = flow.flow.workload
    return isinstance(workload, Requests) and workload.share is not None


def _drawn_ns(start: Distribution, seed: int, flow: str, connection: int) -> int:
    """Draw a connection's start; the first one uses the flow's own stream, whatever `count` is."""
    number = (str(connection),) if connection else ()
    return round(draw(start, seed, "start", flow, *number) * 10**9)


def _later_ns(draft: Draft, starts_ns: Sequence[Sequence[int]], seed: int) -> int:
    """Return by how much drawn starts and pauses move the deadline, ns, where the file sets no
    end.
    """
    scenario = draft.scenario
    if scenario.duration_ns is not None or scenario.deadline_ns is not None:
        return 0
    drawn = zip(draft.flows, starts_ns, strict=True)
    latest_ns = max((max(ns) for flow, ns in drawn if flow.flow.random_start), default=0)
    return latest_ns + max(
        (sum(flow.flow.workload.pauses_ns(flow.flow, seed)) for flow in draft.flows), default=0
    )


def _object(flow: Flow) -> str | None:
    """Return the BPF object of a flow's own CCA as text, so that a cell stays complete."""
    if flow.own_cca is None:
        return None
    return base64.b64encode(zlib.compress(flow.own_cca.content, 9)).decode()


def _flow(draft: Draft, flow: DraftFlow, every_ns: int) -> dict[str, Any]:
    """Return the fields of a flow except its workload and its starts."""
    declared = flow.flow
    address, client = (host_address(draft, name) for name in (declared.server, declared.client))
    assert address is not None and client is not None and flow.bottleneck is not None
    return {
        "name": declared.name,
        "server": declared.server,
        "client": declared.client,
        "address": address,
        "port": flow.port,
        "transport": declared.transport,
        "cca": declared.cca,
        "connections": declared.connections,
        "stop_ns": declared.stop_ns,
        "base_rtt_ns": flow.base_rtt_ns,
        "bottleneck": flow.bottleneck.place,
        "mtu": flow.mtu,
        "buffer_bytes": flow.buffer_bytes,
        "source": str(declared.span),
        "declared": declared.declared or declared.name,
        "users": declared.users,
        "client_address": client,
        "cca_parameters": dict(declared.cca_parameters),
        "options": declared.options,
        "rate_bps": declared.rate_bps,
        "send_buffer_bytes": declared.send_buffer_bytes,
        "receive_buffer_bytes": declared.receive_buffer_bytes,
        "qlog": declared.qlog,
        "cca_object": _object(declared),
        "image": declared.image,
        "sample_every_ns": every_ns,
    }

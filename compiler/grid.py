"""From a lowered configuration and a repetition to a cell: seeds, start offsets, identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairc.dsl.model import Configuration, File

from . import plan
from .draft import Draft, DraftFlow
from .flows import start_range_ns
from .seeds import canonical, cell_seed, identity, stream_seed, uniform
from .wiring import host_address

FIRST_PORT = 5001
NOT_IN_IDENTITY: Any = {
    "id": True,
    "bindings": True,
    "captures": True,
    "nodes": {"__all__": {"interfaces": {"__all__": {"source": True}}}},
    "flows": {"__all__": {"source": True}},
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a cell takes from its experiment as a whole."""

    experiment: str
    seed: int
    paired: bool


class Lowered:
    """A configuration that is ready: `cell(repetition)` gives its cells, which share its nodes."""

    def __init__(self, settings: Settings, configuration: Configuration, draft: Draft) -> None:
        self.repetitions = configuration.repetitions
        self._settings = settings
        self._draft = draft
        self._bindings = dict(configuration.bindings)
        self._configuration = identity(canonical(self._bindings))

    def cell(self, repetition: int) -> plan.Cell:
        """Return the cell of one repetition."""
        settings, draft, scenario = self._settings, self._draft, self._draft.scenario
        seed = cell_seed(settings.seed, self._bindings, repetition, paired=settings.paired)
        cell = plan.Cell(
            id="",
            experiment=settings.experiment,
            configuration=self._configuration,
            bindings=self._bindings,
            repetition=repetition,
            seed=seed,
            nodes=tuple(_seeded(node, seed) for node in draft.frozen_nodes),
            cables=draft.frozen_cables,
            flows=tuple(
                _flow(draft, flow, seed, FIRST_PORT + number)
                for number, flow in enumerate(draft.flows)
            ),
            captures=tuple(draft.captures),
            warmup_ns=scenario.warmup_ns,
            duration_ns=scenario.duration_ns,
            deadline_ns=draft.deadline_ns,
            stop=scenario.stop,
        )
        return cell.model_copy(update={"id": identity_of(cell)})


def identity_of(cell: plan.Cell) -> str:
    """Return a cell's id: a hash of its JSON without white space, fields in the schema's order.

    Left out: the id itself, what is captured, the lines that things come from (a comment added
    to a file changes no cell), and the bindings, for which `configuration` stands in any order.
    """
    return identity(cell.model_dump_json(exclude=NOT_IN_IDENTITY))


def _seeded(node: plan.Node, seed: int) -> plan.Node:
    """Give each loss of a hop a stream of its own, named after the link and the direction."""
    if node.kind != "hop":
        return node
    interfaces = tuple(
        interface.model_copy(
            update={
                "impairment": interface.impairment.model_copy(
                    update={"seed": stream_seed(seed, "loss", node.name, str(number))}
                )
            }
        )
        if interface.impairment is not None and interface.impairment.loss > 0
        else interface
        for number, interface in enumerate(node.interfaces)
    )
    if all(new is old for new, old in zip(interfaces, node.interfaces, strict=True)):
        return node
    return node.model_copy(update={"interfaces": interfaces})


def _flow(draft: Draft, flow: DraftFlow, seed: int, port: int) -> plan.Flow:
    """Write a flow; without a start of its own it begins at a random offset."""
    declared = flow.flow
    address = host_address(draft, declared.server)
    start_ns = declared.start_ns
    if start_ns is None:
        start_ns = uniform(seed, start_range_ns(flow), "start", declared.name)
    assert address is not None and flow.bottleneck is not None
    return plan.Flow(
        name=declared.name,
        server=declared.server,
        client=declared.client,
        address=address,
        port=port,
        cca=declared.cca,
        connections=declared.connections,
        workload=(
            plan.FileWorkload(bytes=declared.workload.size_bytes)
            if isinstance(declared.workload, File)
            else plan.BulkWorkload()
        ),
        start_ns=start_ns,
        stop_ns=declared.stop_ns,
        base_rtt_ns=flow.base_rtt_ns,
        bottleneck=flow.bottleneck.place,
        buffer_bytes=flow.buffer_bytes,
        source=str(declared.span),
    )

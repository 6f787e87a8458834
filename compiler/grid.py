"""From a lowered configuration and a repetition to a cell: seeds, start offsets, identity."""

from __future__ import annotations

from dataclasses import dataclass

from fairc.dsl.model import Configuration, File

from . import plan
from .draft import Draft, DraftFlow
from .flows import start_range_ns
from .seeds import canonical, cell_seed, identity, stream_seed, uniform
from .wiring import host_address

FIRST_PORT = 5001


@dataclass(frozen=True, slots=True)
class Settings:
    """What a cell takes from its experiment as a whole."""

    experiment: str
    seed: int
    paired: bool


class Lowered:
    """A configuration that is ready: `cell(repetition)` gives its cells.

    What repetitions share is made once. The identity of a cell is put together from canonical
    JSON fragments, which is the canonical JSON of the whole.
    """

    def __init__(self, settings: Settings, configuration: Configuration, draft: Draft) -> None:
        self.repetitions = configuration.repetitions
        self._settings = settings
        self._draft = draft
        self._bindings = dict(configuration.bindings)
        scenario = draft.scenario
        fixed = {
            "experiment": settings.experiment,
            "configuration": identity(canonical(self._bindings)),
            "bindings": self._bindings,
            "warmup_ns": scenario.warmup_ns,
            "duration_ns": scenario.duration_ns,
            "deadline_ns": draft.deadline_ns,
            "stop": scenario.stop,
        }
        self._fixed = fixed | {
            "cables": draft.frozen_cables,
            "captures": tuple(draft.captures),
        }
        self._fragments = {key: canonical(value) for key, value in fixed.items()}
        self._fragments["cables"] = _list([_fragment(cable) for cable in draft.frozen_cables])
        self._node_fragments = [_fragment(node) for node in draft.frozen_nodes]

    def cell(self, repetition: int) -> plan.Cell:
        """Return the cell of one repetition."""
        seed = cell_seed(
            self._settings.seed, self._bindings, repetition, paired=self._settings.paired
        )
        nodes = [_seeded(node, seed) for node in self._draft.frozen_nodes]
        flows = [
            _flow(self._draft, flow, seed, FIRST_PORT + number)
            for number, flow in enumerate(self._draft.flows)
        ]
        fragments = self._fragments | {
            "repetition": str(repetition),
            "seed": str(seed),
            "flows": _list([_fragment(flow) for flow in flows]),
            "nodes": _list(
                [
                    known if node is shared else _fragment(node)
                    for node, shared, known in zip(
                        nodes, self._draft.frozen_nodes, self._node_fragments, strict=True
                    )
                ]
            ),
        }
        text = ",".join(f'"{key}":{fragments[key]}' for key in sorted(fragments))
        return plan.Cell.model_validate(
            {
                **self._fixed,
                "id": identity(f"{{{text}}}"),
                "repetition": repetition,
                "seed": seed,
                "nodes": tuple(nodes),
                "flows": tuple(flows),
            }
        )


def identity_of(cell: plan.Cell) -> str:
    """Compute a cell's id from the cell: of everything but itself, the captures and the sources."""
    value = cell.model_dump(mode="json", exclude={"id", "captures"})
    return identity(canonical(_without_sources(value)))


def _fragment(part: plan.Model) -> str:
    """Write a part of a cell as it enters the identity."""
    return canonical(_without_sources(part.model_dump(mode="json")))


def _without_sources(value: object) -> object:
    """Drop every `source`: a line that moves in its file changes no cell."""
    if isinstance(value, dict):
        return {key: _without_sources(item) for key, item in value.items() if key != "source"}
    if isinstance(value, list):
        return [_without_sources(item) for item in value]
    return value


def _list(fragments: list[str]) -> str:
    return f"[{','.join(fragments)}]"


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

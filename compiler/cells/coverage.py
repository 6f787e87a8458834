"""Requested metrics that have no value, or say nothing, for any flow of any configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from fairc.dsl.core.diagnostics import Diagnostic, warning
from fairc.dsl.core.source import Span
from fairc.dsl.model import Flow, MetricRequest, Scenario
from fairc.dsl.model.names import called
from fairc.words.metric_entry import FlowPath, Need
from fairc.words.metrics import METRICS

from .grid import Blueprint


class MetricCoverage:
    """The metrics that no flow has had a value of so far, configuration by configuration.

    places: where each is requested. unasked: label and flows of those that may have none.
    """

    def __init__(
        self,
        requests: Sequence[MetricRequest],
        places: Mapping[str, Span],
        unasked: Collection[tuple[str, tuple[str, ...]]] = (),
    ) -> None:
        self._places = places
        self._lacking = {
            (request.label, request.sessions, value): (request, value, "")
            for request in requests
            if METRICS[request.name].lacks and (request.label, request.sessions) not in unasked
            for value in request.values or (request.name,)
        }
        self._defined: dict[str, tuple[str, ...]] = {}  # of their other values, those that exist
        self._open = [
            request
            for request in requests
            if METRICS[request.name].need and (request.label, request.sessions) not in unasked
        ]

    def note_paths(self, blueprint: Blueprint) -> None:
        """Examine the paths of the flows of one configuration."""
        paths = _paths(blueprint) if self._lacking else ()
        for key, (request, value, _) in [*self._lacking.items()]:
            named = [path for path in paths if request.is_of(called(path.flow))]
            lacks = METRICS[request.name].lacks
            assert lacks is not None
            if not named:
                continue
            if why := lacks(value.partition(".")[2], named):
                self._lacking[key] = request, value, why
                others = METRICS[request.name].values[1:]
                self._defined[request.label] = tuple(
                    f"{request.name}.{each}" for each in others if not lacks(each, named)
                )
            else:
                del self._lacking[key]

    def note(self, scenario: Scenario) -> None:
        """Examine the flows of one configuration."""
        self._open = [request for request in self._open if not _met(request, scenario)]

    def warnings(self) -> Iterator[Diagnostic]:
        """Yield a warning for each metric that no flow has a value of, once all have been
        examined.
        """
        for request in self._open:
            need = _need(request)
            named = ", ".join(f"`{session}`" for session in request.sessions)
            of = f" among {named}" if named and not need.of_all else ""
            does = (of and need.among) or need.activity
            yield warning(
                code="nothing-to-measure",
                message=f"no flow{of} {does}, so `{request.name}` {need.otherwise}",
                span=self._places[request.label],
                help=need.instead
                or f"leave `{request.name}` out, or add a flow that it can measure",
            )
        said = {request.label for request in self._open}
        lacking: dict[str, dict[str, str]] = {}
        for request, value, why in self._lacking.values():
            if why and request.label not in said:
                lacking.setdefault(request.label, {})[value] = why
        for label, reasons in lacking.items():
            names = " and ".join(f"`{value}`" for value in reasons)
            others = ", ".join(f"`{value}`" for value in self._defined[label][:4])
            yield warning(
                code="nothing-to-measure",
                message=f"{names} {'has' if len(reasons) == 1 else 'have'} no value in any"
                " configuration",
                span=self._places[label],
                notes=tuple(dict.fromkeys(reasons.values())),
                help=f"leave it out, give it other flows, or ask for {others}"
                if others
                else "leave it out, or give it other flows",
            )


def _paths(blueprint: Blueprint) -> list[FlowPath]:
    """Return the flows of a configuration with their paths."""
    shared = blueprint.shared
    hosts = {node.name for node in shared.nodes if node.kind == "host"}
    return [
        FlowPath(
            flow,
            path.bottleneck.place if path.bottleneck else None,
            tuple(egress.place for egress in path.data),
            path.bottleneck is not None and path.bottleneck.node in hosts,
            frozenset(
                device.kind
                for device in shared.devices
                if any(egress.place == device.front for egress in path.data)
            ),
            frozenset(device.kind for device in shared.devices if device.reads(flow.name)),
        )
        for flow, path in blueprint.traffic
    ]


def _need(request: MetricRequest) -> Need:
    need = METRICS[request.name].need
    assert need is not None, request.name
    return need


def _met(request: MetricRequest, scenario: Scenario) -> bool:
    """Return whether a flow of a configuration does what a request needs."""
    flows = [flow for flow in scenario.flows if _concerns(request, flow)]
    need = _need(request)
    return need.met(flows) or (scenario.kernel is not None and need.own_kernel(flows))


def _concerns(request: MetricRequest, flow: Flow) -> bool:
    """Return whether a flow can meet what a request needs."""
    return _need(request).of_all or request.is_of(called(flow))

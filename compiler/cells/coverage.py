"""Requested metrics that have no value, or say nothing, for any flow of any configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from fairc.dsl.core.diagnostics import Diagnostic, Severity
from fairc.dsl.core.source import Span
from fairc.dsl.model import Flow, MetricRequest, Scenario
from fairc.dsl.model.names import called
from fairc.words.metrics import METRICS, Need


class MetricCoverage:
    """The metrics that no flow has had a value of so far, configuration by configuration.

    places: where each is requested. unasked: label and flows of those that may have none.
    """

    def __init__(
        self,
        requests: Iterable[MetricRequest],
        places: Mapping[str, Span],
        unasked: Collection[tuple[str, tuple[str, ...]]] = (),
    ) -> None:
        self._places = places
        self._open = [
            request
            for request in requests
            if METRICS[request.name].need and (request.label, request.sessions) not in unasked
        ]

    def note(self, scenario: Scenario) -> None:
        """Examine the flows of one configuration."""
        self._open = [
            request
            for request in self._open
            if not _need(request).met([flow for flow in scenario.flows if _concerns(request, flow)])
        ]

    def warnings(self) -> Iterator[Diagnostic]:
        """Yield a warning for each metric that no flow has a value of, once all have been
        examined.
        """
        for request in self._open:
            need = _need(request)
            named = ", ".join(f"`{session}`" for session in request.sessions)
            of = f" among {named}" if named and not need.of_all else ""
            yield Diagnostic(
                code="nothing-to-measure",
                message=f"no flow{of} {need.activity}, so `{request.name}` {need.otherwise}",
                span=self._places[request.label],
                help=f"remove `{request.name}` from `measure`, or add a flow that it can measure",
                severity=Severity.WARNING,
            )


def _need(request: MetricRequest) -> Need:
    need = METRICS[request.name].need
    assert need is not None, request.name
    return need


def _concerns(request: MetricRequest, flow: Flow) -> bool:
    """Return whether a flow can meet what a request needs."""
    everyone = not request.sessions or _need(request).of_all
    return everyone or not called(flow).isdisjoint(request.sessions)

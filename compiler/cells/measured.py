"""Metrics that are asked for, and that no flow of any configuration has a value of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fairc.dsl.core.diagnostics import Diagnostic, Severity
from fairc.dsl.model import Flow, MetricRequest, Scenario
from fairc.words.workloads import File, Load, Requests, Video


@dataclass(frozen=True, slots=True)
class Need:
    """What a metric is of, in words, whether there is any among flows, and what there is if not."""

    words: str
    met: Callable[[Sequence[Flow]], bool]
    instead: str = "there are none"


def _any(holds: Callable[[Flow], bool]) -> Callable[[Sequence[Flow]], bool]:
    return lambda flows: any(map(holds, flows))


_VIDEO = Need("videos", _any(lambda flow: isinstance(flow.workload, Video)))
_LOAD = Need("page loads", _any(lambda flow: isinstance(flow.workload, Load)))
_BROWSER = Need(
    "page loads in a browser",
    _any(lambda flow: isinstance(flow.workload, Load) and flow.workload.client == "chromium"),
)
_TRANSFER = Need("files or requests", _any(lambda f: isinstance(f.workload, File | Requests)))
_SEVERAL = Need("two flows or more", lambda flows: len(flows) > 1, "there is one")

NEEDS: Mapping[str, Need] = {
    **dict.fromkeys(("qoe", "stalls", "startup"), _VIDEO),
    **dict.fromkeys(("plt", "ttr", "connect", "sequence", "cpu"), _LOAD),
    **dict.fromkeys(("fcp", "lcp"), _BROWSER),
    **dict.fromkeys(("fairness", "fmp", "convergence_time"), _SEVERAL),
    "fct": _TRANSFER,
    "datagrams": Need("flows over UDP", _any(lambda flow: flow.transport == "udp")),
    **dict.fromkeys(
        ("cwnd", "deviations"),
        Need("flows with a window", _any(lambda flow: flow.transport != "udp")),
    ),
    "retransmissions": Need("flows that send again", _any(lambda flow: flow.transport != "udp")),
}
"""Metric -> what it is of; the others are of anything."""


class Measured:
    """Which metrics have had no flow so far, configuration by configuration."""

    def __init__(self, requests: Iterable[MetricRequest]) -> None:
        self._open = [request for request in requests if request.name in NEEDS]

    def note(self, scenario: Scenario) -> None:
        """Look at the flows of one configuration."""
        self._open = [
            request
            for request in self._open
            if not NEEDS[request.name].met(
                [f for f in scenario.flows if not request.sessions or _named(f, request.sessions)]
            )
        ]

    def warnings(self) -> Iterator[Diagnostic]:
        """Yield a warning for each metric that no flow has a value of; all have been looked at."""
        for request in self._open:
            need = NEEDS[request.name]
            named = ", ".join(f"`{session}`" for session in request.sessions)
            of = f" among {named}" if named else ""
            yield Diagnostic(
                code="nothing-to-measure",
                message=f"`{request.name}` is of {need.words}, and {need.instead}{of}",
                span=request.span,
                help=f"leave `{request.name}` out of `measure`, or give it what it measures",
                severity=Severity.WARNING,
            )


def _named(flow: Flow, sessions: Sequence[str]) -> bool:
    return bool({flow.name, flow.declared, flow.users} & set(sessions))

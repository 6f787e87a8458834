"""Checks of changes that wait for a state of a flow's controller."""

from __future__ import annotations

from fairc.dsl.model import Event, Flow, Scenario
from fairc.words.enters import OF_OWN_KERNELS, STATES

from .report import Report

SHOWN = 5
"""The most flows that are named."""


def check_entering(scenario: Scenario, report: Report) -> frozenset[str]:
    """Return the names of the flows whose states links wait for; report those without."""
    flows = {flow.name: flow for flow in scenario.flows}
    links = (*scenario.network.links, *scenario.network.own)
    events = (
        event
        for link in links
        for way in (link.forward, link.backward)
        for event in way.events
        if event.entering is not None
    )
    watched: set[str] = set()
    for event in events:
        _check(event, flows, scenario.kernel is not None, report)
        assert event.entering is not None
        watched.add(event.entering.flow)
    return frozenset(watched)


def _known(flow: Flow, on_own_kernel: bool) -> tuple[str, ...]:
    """Return the states that a flow's controller logs."""
    if flow.transport == "quic":
        return STATES.get(flow.cca or "", ())
    return OF_OWN_KERNELS.get(flow.cca or "", ()) if on_own_kernel else ()


def _check(event: Event, flows: dict[str, Flow], on_own_kernel: bool, report: Report) -> None:
    """Report what keeps a change from its state."""
    assert event.entering is not None
    name, state = event.entering.flow, event.entering.state
    flow = flows.get(name)
    if flow is None:
        report.reject(
            "unknown-flow",
            f"no flow is called `{name}`",
            event.span,
            help=f"known: {', '.join(f'`{other}`' for other in sorted(flows)[:SHOWN])}",
        )
        return
    known = _known(flow, on_own_kernel)
    if flow.image is not None or not known:
        report.reject(
            "unknown-state",
            f"nothing logs the states of the flow `{flow.label}`",
            flow.span,
            "the CCAs over QUIC tell theirs: "
            + ", ".join(STATES)
            + "; over TCP, `bbr` of your own kernel with version 3",
            "write `over = quic  cca = bbr3` in the flow, or give the change a time",
        )
    elif state not in known:
        report.reject(
            "unknown-state",
            f"`{flow.cca}` has no state `{state}`",
            event.span,
            help=f"known: {', '.join(known)}",
        )

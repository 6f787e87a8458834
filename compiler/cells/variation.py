"""The text of what seeds vary between repetitions (measurement.md, rule 11)."""

from __future__ import annotations

from collections.abc import Callable

from fairc.compiler.passes.unrolling import draws
from fairc.dsl.model import Flow, Scenario
from fairc.mechanisms.queues.registry import QUEUES
from fairc.words.distributions import is_drawn


def _random_starts(scenario: Scenario) -> bool:
    return any(flow.start_ns is None and flow.random_start is None for flow in scenario.flows)


def _drawn_starts(scenario: Scenario) -> bool:
    drawn = (flow.random_start for flow in scenario.flows)
    return any(start is not None and start.kind != "constant" for start in drawn)


def _drawn_rtts(scenario: Scenario) -> bool:
    drawn = (flow.random_rtt for flow in scenario.flows)
    return any(rtt is not None and is_drawn(rtt) for rtt in drawn)


def _hashed_ways(scenario: Scenario) -> bool:
    return scenario.hashed is not None


def draws_workload(flow: Flow) -> bool:
    """Whether any part of a flow's workload is drawn: sizes, intervals, on and off times,
    pauses.
    """
    return flow.workload.is_drawn or flow.workload.draws_pauses


def _drawn_workloads(scenario: Scenario) -> bool:
    return any(flow.workload.is_drawn for flow in scenario.flows)


def _drawn_pauses(scenario: Scenario) -> bool:
    return any(flow.workload.draws_pauses for flow in scenario.flows)


def _random_losses(scenario: Scenario) -> bool:
    links = scenario.network.links
    ways = (way for link in links for way in (link.forward, link.backward))
    return any(
        way.impairment.loss > 0
        or way.impairment.damaged > 0
        or way.recordings.loss
        or any(e.loss for e in way.events)
        for way in ways
    )


def _drawn_links(scenario: Scenario) -> bool:
    return draws(scenario.network)


def _random_delays(scenario: Scenario) -> bool:
    links = scenario.network.links
    states = (way.impairment for link in links for way in (link.forward, link.backward))
    return any(each.jitter_ns or each.reorder or each.duplicate for each in states)


def _random_releases(scenario: Scenario) -> bool:
    links = scenario.network.links
    media = (way.medium for link in links for way in (link.forward, link.backward))
    return any(medium is not None and medium.planned.random for medium in media)


def _random_queues(scenario: Scenario) -> bool:
    links = scenario.network.links
    ways = (way for link in links for way in (link.forward, link.backward))
    return any(QUEUES[part.kind].is_random for way in ways for part in way.queue.parts)


def _processing(scenario: Scenario) -> bool:
    return bool(scenario.processing_ns)


VARIATIONS: tuple[tuple[Callable[[Scenario], bool], str], ...] = (
    (
        _random_starts,
        "the start of each flow without a `start`: uniform in [0, one base RTT or 10 ms)",
    ),
    (_drawn_starts, "the start of each connection of a flow whose `start` is a distribution"),
    (_drawn_rtts, "the extra round trip of each flow whose `rtt` is a distribution"),
    (_hashed_ways, "the hashes by which routers spread flows over equal next hops"),
    (_drawn_links, "the values of links that are distributions: one stream per link and change"),
    (_drawn_workloads, "what `requests` and `onoff` draw: one stream per flow and connection"),
    (_drawn_pauses, "the pauses between the loads of a page: one stream per flow"),
    (_random_losses, "the random losses: one stream per link and direction"),
    (_random_delays, "jitter, reordering and duplicates: from the same stream as the losses"),
    (_random_releases, "the slots and the times of aggregates: one stream per link and direction"),
    (_processing, "the time that hosts take for a packet, and the gaps of constant-rate sources"),
    (
        _random_queues,
        "the random decisions and the hashes of the queues, from the kernel's generator",
    ),
)


WITHOUT_LOSSES = frozenset(
    varied
    for holds, varied in VARIATIONS
    if holds
    in (
        _random_starts,
        _drawn_starts,
        _drawn_rtts,
        _drawn_links,
        _drawn_workloads,
        _drawn_pauses,
    )
)
"""The draws that all configurations of a repetition share unless the file says `draws = own`."""

PAIRED = WITHOUT_LOSSES | {
    varied
    for holds, varied in VARIATIONS
    if holds in (_random_losses, _random_delays, _random_releases, _processing)
}
"""The draws that they share with `paired = on`: all except those inside the kernel."""


def variations(scenario: Scenario) -> frozenset[str]:
    """Return what the seeds vary in one configuration; nothing means that repetitions are equal."""
    return frozenset(varied for holds, varied in VARIATIONS if holds(scenario))


def in_order(found: frozenset[str]) -> tuple[str, ...]:
    """Return what was found in the order of the table."""
    return tuple(varied for _, varied in VARIATIONS if varied in found)

"""Packets take as long as the plan says: the base RTT of the idle path, the delays behind a
queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from fairc.cell.observation import PING_BYTES
from fairc.compiler.plan import Impairment
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.changes import History
from fairc.runtime.measurement.paths import Place, longest_ns

from . import random_delays
from .finding import Finding, or_busy, see

BASE_RTT_TOLERANCE_S, BASE_RTT_TOLERANCE = 0.5e-3, 0.01
# How often a check may be wrong about a correct emulator.
LEVEL = 1e-4
# Fewer packets than this show no distribution.
MIN_PACKETS = 200


def base_rtt(measurement: Measurement) -> Iterator[Finding]:
    """Rules 1, 20: the idle path has the plan's base RTT and its frames' times, within 0.5 ms or 1
    %, plus chance.
    """
    for flow in measurement.flows:
        pings, impairments = flow.pings, _on_path(measurement, flow)
        if pings is None or not len(pings.rtts_s):
            lost = 1.0 - float(np.prod([1 - i.lost for i in impairments]))
            chance = lost**pings.sent if pings is not None else 0.0
            yield Finding(
                "flagged" if chance > LEVEL else "invalid",
                f"flow {flow.name}: no ping came back on the idle network"
                + (
                    f", which can happen with a round-trip loss of {lost:.1%}"
                    if chance > LEVEL
                    else f": a route or a link on its path is down; {see('ping.json')}"
                ),
            )
            continue
        skipped = 1.0 - float(np.prod([1 - i.skipping for i in impairments]))
        if skipped ** len(pings.rtts_s) > LEVEL:
            continue  # every ping may have skipped a delay
        hosts = _of_hosts(measurement, flow)
        planned_s, slack_s = _expected_rtt(flow, impairments, hosts, len(pings.rtts_s))
        planned_s += measurement.paths.transmission_s(_round_trip(measurement, flow), PING_BYTES)
        typical = _TYPICAL[bool(skipped), bool(slack_s)]
        tried = _repeated(impairments)
        if tried:
            if tried ** len(pings.rtts_s) > LEVEL:
                continue  # every ping may have been sent again
            typical = np.min
        most_s = _longest_wait_s(measurement, flow, impairments)
        measured_s = float(typical(pings.rtts_s))
        tolerance_s = max(BASE_RTT_TOLERANCE_S, BASE_RTT_TOLERANCE * planned_s)
        planned_s = float(np.clip(measured_s, planned_s, planned_s + most_s))
        if abs(measured_s - planned_s) > tolerance_s + slack_s:
            yield Finding(
                "invalid",
                f"flow {flow.name}: the base RTT is {measured_s * 1e3:.2f} ms,"
                f" not {planned_s * 1e3:.2f} ms: a hop has another delay"
                f" ({see('qdisc-before.json')}){or_busy(measurement)}",
            )


# Whether pings may skip a delay, and whether delays vary -> the statistic that represents them.
_TYPICAL: Mapping[tuple[bool, bool], Callable[[Floats], np.floating[Any]]] = {
    (False, False): np.median,
    (False, True): np.mean,
    (True, False): np.max,
    (True, True): np.max,
}


def _round_trip(measurement: Measurement, flow: FlowRecord) -> tuple[Place, ...]:
    return (*measurement.paths.of(flow.plan), *measurement.paths.back(flow.plan))


def _repeated(impairments: list[Impairment]) -> float:
    """Return the probability that a ping's packets need more than one transmission."""
    return 1.0 - float(np.prod([1 - i.loss for i in impairments if i.repair is not None]))


def _longest_wait_s(
    measurement: Measurement, flow: FlowRecord, impairments: list[Impairment]
) -> float:
    """Return the longest time that media let a ping wait, s: until an aggregate closes, or for a
    slot. It may also join the aggregate of another one, or come just before a slot.

    Jitter that only adds to a delay counts as such a wait: a few pings in a row, each behind the
    one before it, tell no more of its mean.
    """
    added_ns = sum(longest_ns(i) - i.delay_ns for i in impairments if not i.least_delay_ns)
    shapers = (measurement.paths.interfaces[p].shaper for p in _round_trip(measurement, flow))
    media = (shaper.medium for shaper in shapers if shaper is not None)
    return (added_ns + sum(medium.longest_ns for medium in media if medium is not None)) * 1e-9


def _on_path(measurement: Measurement, flow: FlowRecord) -> list[Impairment]:
    places = _round_trip(measurement, flow)
    found = (measurement.paths.interfaces[place].impairment for place in places)
    return [impairment for impairment in found if impairment]


def _of_hosts(measurement: Measurement, flow: FlowRecord) -> list[Impairment]:
    """Return how the two hosts of a flow delay the packets of a ping; each host sends one."""
    ways = (measurement.paths.of(flow.plan), measurement.paths.back(flow.plan))
    found = (measurement.processing.delay_of(*way[0]) for way in ways if way)
    return [impairment for impairment in found if impairment]


def _expected_rtt(
    flow: FlowRecord, impairments: list[Impairment], hosts: list[Impairment], pings: int
) -> tuple[float, float]:
    """Return the mean RTT that the plan implies, and how far chance may move it, s.

    Where order is kept, a ping may be held back by the one before it, by less than a deviation on
    average. The hosts' processing is not part of the planned propagation delay.
    """
    moments = [random_delays.moments(i) for i in (*impairments, *hosts) if i.least_delay_ns]
    nominal_s = sum(i.delay_ns for i in impairments if i.least_delay_ns) * 1e-9
    planned_s = flow.plan.base_rtt_ns * 1e-9 + sum(mean for mean, _ in moments) - nominal_s
    deviation_s = float(np.sqrt(sum(variance for _, variance in moments)))
    few = pings if not any(i.reorder for i in impairments) else 1
    return planned_s, deviation_s * (1 + random_delays.DEVIATIONS / float(np.sqrt(few)))


def random_delay(measurement: Measurement) -> Iterator[Finding]:
    """Rules 12, 20: delays behind a queue have the plan's mean and spread, where they vary."""
    for queue in measurement.queues:
        place = measurement.paths.delivery(queue.place)
        history = measurement.histories[place] if place else None
        if history is None or not _varies(history):
            continue
        arrived = queue.behind.found >= 0
        # Like packets that overtake one another may be taken for each other, which changes the
        # spread.
        arrived[arrived] &= queue.behind.certain[queue.behind.found[arrived]]
        sent_s = queue.sent_s[arrived]
        arrived_s = queue.seconds(queue.delivered)[queue.behind.found[arrived]]
        settled, (order, begins) = queue.known_at(history)[arrived], history.grouped(sent_s)
        latest_s = np.maximum.accumulate(arrived_s[order])
        for number, planned in history.impairments():
            if planned is None or planned.repair is not None:
                continue  # the repair judges the latter
            first = begins[number]
            ours = order[first : begins[number + 1]]
            # Packets that skipped the delay are counted elsewhere.
            slow = arrived_s[ours] - sent_s[ours] > (
                BASE_RTT_TOLERANCE_S if planned.reorder else -1.0
            )
            ours = ours[slow & settled[ours]]
            if len(ours) < MIN_PACKETS:
                continue
            before_s = float(latest_s[first - 1]) if first else -np.inf
            test = random_delays.compare(planned, sent_s[ours], arrived_s[ours], before_s)
            tolerance_s = max(BASE_RTT_TOLERANCE_S, BASE_RTT_TOLERANCE * planned.delay_ns * 1e-9)
            if not test.plausible(tolerance_s):
                yield Finding(
                    "invalid",
                    f"behind {queue.name} packets took {test.mean_s * 1e3:.3g} ms with a deviation"
                    f" of {test.spread**0.5 * 1e3:.3g} ms; the plan explains"
                    f" {test.expected_s * 1e3:.3g} ms and {test.expected_spread**0.5 * 1e3:.3g} ms:"
                    " the hop has another delay or jitter"
                    f" ({see('qdisc-after.json')}){or_busy(measurement)}",
                )


def _varies(history: History) -> bool:
    """Return whether a hop's delay is random or changes."""
    found = [planned for _, planned in history.impairments() if planned]
    return any(i.jitter_ns for i in found) or len({i.delay_ns for i in found}) > 1

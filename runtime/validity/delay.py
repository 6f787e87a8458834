"""Packets take as long as the plan says: the base RTT of the idle path, the delays behind a
queue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from fairc.cell.observation import MORE_PINGS, PING_BYTES
from fairc.compiler.plan import Impairment
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.changes import NS, History
from fairc.runtime.measurement.paths import Place, longest_ns
from fairc.runtime.measurement.queues import QueueRecord
from fairc.runtime.measurement.record import Pings

from . import random_delays
from .expected_losses import tails
from .finding import Finding, invalid, or_busy, see
from .guest import may_be_busy
from .random_delays import LEVEL

BASE_RTT_TOLERANCE_S, BASE_RTT_TOLERANCE = 0.5e-3, 0.01
EXACT_S = 1e-6
"""How far from its time a packet may arrive where computing takes no time: each reading of the
clock takes a nanosecond.
"""
MOST_DIFFERENT = 1e-3
"""Share of packets that may take another delay before the cell is invalid: those that are taken for
others.
"""
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
            chance = 0.0
            if pings is not None:  # bursts of losses can outlast all of them
                bursts = [i.bursts for i in impairments if i.bursts is not None]
                all_lost = [tails(each, pings.sent, pings.sent)[1] for each in bursts]
                chance = max(lost**pings.sent, *all_lost, 0.0)
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
        planned_s, varying = _expected_rtt(flow, impairments, hosts)
        planned_s += measurement.paths.transmission_s(_round_trip(measurement, flow), PING_BYTES)
        statistic = _STATISTIC[bool(skipped), bool(varying)]
        tried = _repeated(impairments)
        if tried:
            if tried ** len(pings.rtts_s) > LEVEL:
                continue  # every ping may have been sent again
            statistic = "min"
        least_s, most_s = _by_chance(varying, pings, statistic, bool(skipped))
        most_s += _longest_wait_s(measurement, flow, impairments)
        measured_s = random_delays.typical(statistic, pings.rtts_s)
        tolerance_s = max(BASE_RTT_TOLERANCE_S, BASE_RTT_TOLERANCE * planned_s)
        nearest_s = float(np.clip(measured_s, planned_s + least_s, planned_s + most_s))
        if abs(measured_s - nearest_s) > tolerance_s:
            yield invalid(
                f"flow {flow.name}: the base RTT is {measured_s * 1e3:.2f} ms,"
                f" not {nearest_s * 1e3:.2f} ms: a hop has another delay"
                f" ({see('qdisc-before.json')}){or_busy(measurement)}"
            )


# Whether pings may skip a delay, and whether delays vary -> the statistic that represents them.
_STATISTIC: Mapping[tuple[bool, bool], random_delays.Statistic] = {
    (False, False): "median",
    (False, True): "mean",
    (True, False): "max",
    (True, True): "max",
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
    flow: FlowRecord, impairments: list[Impairment], hosts: list[Impairment]
) -> tuple[float, tuple[Impairment, ...]]:
    """Return the RTT that the plan implies without the delays that vary, s, and these.

    The hosts' processing is not part of the planned propagation delay.
    """
    varying = tuple(random_delays.alone(i) for i in (*impairments, *hosts) if i.least_delay_ns)
    nominal_s = sum(i.delay_ns for i in impairments if i.least_delay_ns) * 1e-9
    return flow.plan.base_rtt_ns * 1e-9 - nominal_s, varying


def _by_chance(
    varying: tuple[Impairment, ...],
    pings: Pings,
    statistic: random_delays.Statistic,
    skipping: bool,
) -> tuple[float, float]:
    """Return the least and the most that the delays which vary may come to by chance, s.

    skipping: whether pings may skip a delay; then a single one may have met all of them. Pings that
    are lost hold up none, so the least is that of pings far apart.
    """
    if not varying:
        return 0.0, 0.0
    sent, received = min(pings.sent, MORE_PINGS), len(pings.rtts_s)
    most_s = random_delays.round_trips(varying, sent, received, statistic, apart=False)[1]
    if skipping:
        sent = received = 1
    least_s = random_delays.round_trips(varying, sent, received, statistic, apart=True)[0]
    return least_s, most_s


def constant_delay(measurement: Measurement) -> Iterator[Finding]:
    """Rules 1, 20: where delays do not vary, every packet takes the plan's delay behind a queue.

    Pings show the whole round trip, before the flows begin, within the tolerance above. On a clock
    that neither computing nor system calls advance packets show each delay, but for the rounding of
    their own times on the link; elsewhere timers are late. Programs that are not ours read the
    clock often, and what that takes is charged at once: packets that are due meanwhile are late by
    that (2 us behind one in Go).
    """
    if not measurement.processing.computing_is_free or measurement.cell.syscall_cost_ns:
        return
    polls = any(flow.plan.workload.measures_itself for flow in measurement.flows)
    exact_s = BASE_RTT_TOLERANCE_S if polls or may_be_busy(measurement) else EXACT_S
    for queue in measurement.queues:
        place = measurement.paths.delivery(queue.place)
        history = measurement.histories[place] if place else None
        if history is None or _varies(history):
            continue
        states = [planned for _, planned in history.impairments() if planned]
        if not states or any(each.reorder or each.repair is not None for each in states):
            continue
        arrived = queue.behind.found >= 0
        arrived[arrived] &= queue.behind.certain[queue.behind.found[arrived]]
        arrived &= queue.known_at(history)
        took_s = queue.seconds(queue.delivered)[queue.behind.found[arrived]] - queue.sent_s[arrived]
        delay_s = states[0].delay_ns * NS
        rounding_s = min(len(queue.left) * NS, BASE_RTT_TOLERANCE_S)  # of each frame's own time
        most_s = exact_s + queue.late_s + rounding_s
        wrong = int((np.abs(took_s - delay_s) > most_s).sum())
        if wrong > MOST_DIFFERENT * len(took_s):
            yield invalid(
                f"behind {queue.name} {wrong} of {len(took_s)} packets took another time than the"
                f" {delay_s * 1e3:.6g} ms of the plan, typically {np.median(took_s) * 1e3:.6g} ms:"
                f" the hop has another delay; {see('qdisc-before.json')}"
            )


def random_delay(measurement: Measurement) -> Iterator[Finding]:
    """Rules 12, 20: delays behind a queue have the plan's mean and spread, where they vary.

    All comparisons of a cell together are wrong about a correct one as often as a single one may
    be: a recording has one for each of its stages.
    """
    samples = [sample for queue in measurement.queues for sample in _samples(measurement, queue)]
    for queue, planned, sent_s, arrived_s, before_s in samples:
        test = random_delays.compare(planned, sent_s, arrived_s, before_s, len(samples))
        tolerance_s = max(BASE_RTT_TOLERANCE_S, BASE_RTT_TOLERANCE * planned.delay_ns * 1e-9)
        if not test.plausible(tolerance_s):
            yield invalid(
                f"behind {queue.name} packets took {test.mean_s * 1e3:.3g} ms with a deviation"
                f" of {test.spread**0.5 * 1e3:.3g} ms; the plan explains"
                f" {test.expected_s * 1e3:.3g} ms and {test.expected_spread**0.5 * 1e3:.3g} ms:"
                " the hop has another delay or jitter"
                f" ({see('qdisc-after.json')}){or_busy(measurement)}"
            )


def _samples(
    measurement: Measurement, queue: QueueRecord
) -> Iterator[tuple[QueueRecord, Impairment, Floats, Floats, float]]:
    """Yield, for each stage of the hop behind a queue, what was in force, when packets were sent
    and when they arrived, s, and when the last one before them arrived; where delays vary, and
    packets suffice.
    """
    place = measurement.paths.delivery(queue.place)
    history = measurement.histories[place] if place else None
    if history is None or not _varies(history):
        return
    arrived = queue.behind.found >= 0
    # Like packets that overtake one another may be taken for each other, which changes the spread.
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
        slow = arrived_s[ours] - sent_s[ours] > (BASE_RTT_TOLERANCE_S if planned.reorder else -1.0)
        ours = ours[slow & settled[ours]]
        if len(ours) >= MIN_PACKETS:
            before_s = float(latest_s[first - 1]) if first else -np.inf
            yield queue, planned, sent_s[ours], arrived_s[ours], before_s


def _varies(history: History) -> bool:
    """Return whether a hop's delay is random or changes."""
    found = [planned for _, planned in history.impairments() if planned]
    return any(i.jitter_ns for i in found) or len({i.delay_ns for i in found}) > 1

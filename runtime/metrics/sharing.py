"""Shared by metrics of a bottleneck's sharing: who competes, when, and for what share.

x, throughout: the throughput of a session over its max-min fair throughput, so that sessions behind
different bottlenecks can be compared; in IP bytes at the bottleneck's exit, apportioned by
serialisation time. A session that wants less than an equal share has what it wants as its fair
throughput, and the others share the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.paths import Place


@dataclass(frozen=True, slots=True)
class Competition:
    """The time in which all sessions compete, s after the epoch, and the whole slots in it.

    edges_s: shape (S + 1,), S >= 0.
    """

    begin_s: float
    end_s: float
    edges_s: Floats


@dataclass(frozen=True, slots=True)
class Sharing:
    """Shares of sessions: x over the whole competition, shape (n,), and per slot, shape (n, S)."""

    sessions: tuple[FlowRecord, ...]
    time: Competition
    whole: Floats
    x: Floats

    @property
    def slots(self) -> int:
        """S, the number of whole slots; there may be none."""
        return int(self.x.shape[1])


def share(
    measurement: Measurement,
    sessions: tuple[FlowRecord, ...],
    slot_s: float,
    what: str,
    *,
    warm: bool = True,
) -> Sharing | str:
    """Return how sessions share, or the reason why they do not.

    what: the metric that asks. warm: leave the warm-up out, unless a window begins in it.
    """
    if len(sessions) < 2:
        return f"{what} needs two sessions"
    if alone := apart(measurement, sessions):
        return alone
    ways = {(_bottlenecks(flow), bool(flow.plan.subflows)) for flow in sessions}
    if len(ways) > 1 and (several := on_several_paths(sessions)):
        return several
    window = measurement.window
    cold_s = 0.0 if window is None or window.begin_s is None else window.begin_s
    begin_s = measurement.begin_s if warm else cold_s
    time = competition(sessions, slot_s, begin_s, measurement.until_s)
    if isinstance(time, str):
        return time
    whole = normalised(measurement, sessions, np.array([time.begin_s, time.end_s]))
    return Sharing(sessions, time, whole[:, 0], normalised(measurement, sessions, time.edges_s))


def _bottlenecks(flow: FlowRecord) -> frozenset[Place] | None:
    """Return where a flow with several paths is slowest on each of them; None: it has one path."""
    further = flow.plan.further_bottlenecks
    return frozenset((flow.plan.bottleneck, *further)) if further else None


def on_several_paths(flows: Iterable[FlowRecord]) -> str:
    """Return why there is no fair share beside these flows, or nothing: one with subflows, or one
    that routers move, has what several paths have, and a max-min share is that of one.
    """
    names = [flow.name for flow in flows if flow.plan.further_bottlenecks]
    return (
        f"{', '.join(names)} can take several paths, and a fair share is one path's"
        if names
        else ""
    )


def competition(
    sessions: tuple[FlowRecord, ...],
    slot_s: float,
    not_before_s: float,
    until_s: float = math.inf,
) -> Competition | str:
    """Return when the sessions compete, or the reason why they never do (measurement.md, rule
    15).
    """
    firsts: list[float] = []
    for flow in sessions:
        if flow.endpoints.first_byte_s is None:
            return f"flow {flow.name} never received data, so the sessions never competed"
        firsts.append(flow.endpoints.first_byte_s)
    begin = max(*firsts, not_before_s)
    end = min(until_s, *(flow.end_s for flow in sessions))
    if end <= begin:
        if until_s < math.inf:
            return "the sessions did not compete in the window"
        return "one session ended before the other had its first data"
    return competition_between(begin, end, slot_s)


def competition_between(begin_s: float, end_s: float, slot_s: float) -> Competition:
    """Return the time from `begin_s` to `end_s`, with the slots wholly in it."""
    first, last = math.ceil(begin_s / slot_s - 1e-9), math.floor(end_s / slot_s + 1e-9)
    edges_s = np.arange(first, max(first, last) + 1, dtype=float) * slot_s
    return Competition(begin_s, end_s, edges_s)


def no_slot(slot_s: float) -> str:
    """Return the reason where the competition holds no whole slot."""
    return f"the sessions competed for less than one whole slot of {slot_s:g} s"


def apart(measurement: Measurement, sessions: tuple[FlowRecord, ...]) -> str:
    """Return a sentence naming the sessions that share no bottleneck with the rest; empty if all
    compete.
    """
    bottlenecks = {flow.queue.place for flow in sessions}
    crossed = {f.name: bottlenecks & set(measurement.data_paths[f.name]) for f in sessions}
    together, reached = {sessions[0].name}, set(crossed[sessions[0].name])
    while reachable := {n for n, places in crossed.items() if places & reached} - together:
        together |= reachable
        reached |= {place for name in reachable for place in crossed[name]}
    others = [flow.name for flow in sessions if flow.name not in together]
    if not others:
        return ""
    names = f"{', '.join(others)} and {', '.join(sorted(together))}"
    passed = [set(measurement.data_paths[flow.name]) for flow in sessions]
    if {queue.place for queue in measurement.queues}.intersection(*passed):
        return f"{names} compete where their ways meet, but have no slowest link in common"
    return f"{names} share no bottleneck, so they do not compete"


def normalised(
    measurement: Measurement, sessions: tuple[FlowRecord, ...], edges_s: Floats
) -> Floats:
    """Return x between edges, shape (sessions, slots); 0 where a session does not run."""
    shares = measurement.fair_share_bps(edges_s, of_running=True)
    rates = [8 * flow.ip_bytes(edges_s) / np.diff(edges_s) / shares[flow.name] for flow in sessions]
    return np.stack(rates)


def product(measurement: Measurement, whole: Floats) -> tuple[float | None, str]:
    """Return the product of x over the whole competition, or why there is none.

    whole: shape (n,).
    """
    if several := on_several_paths(measurement.flows):
        return None, several
    unknown = [flow.name for flow in measurement.flows if flow.demand_bps is None]
    if unknown:
        return (
            None,
            f"it is not known how much {', '.join(unknown)} would take, so fair shares are not",
        )
    return float(np.prod(whole)), ""


def jain(x: Floats) -> Floats:
    """Return Jain's index of each column; x: shape (sessions, slots), >= 0. All zero gives 1.

    Source: Jain, Chiu and Hawe, A quantitative measure of fairness, DEC-TR-301, 1984.
    """
    squares = len(x) * np.sum(x * x, axis=0)
    index: Floats = np.divide(
        np.sum(x, axis=0) ** 2, squares, out=np.ones(x.shape[1]), where=squares > 0
    )
    return index


def dominant(x: Floats) -> Floats:
    """Return d of each slot: -1 where the first of two sessions has more, +1 the second, 0 for a
    tie.
    """
    side: Floats = np.sign(x[1] - x[0])
    return side


def epsilon_fairness(x: Floats) -> float | None:
    """Return min x / max x, x: shape (n,); None if all are zero.

    An allocation is epsilon-fair for every epsilon >= 1 - this. Source: RFC 5166, section 2.3.
    """
    return float(x.min() / x.max()) if x.max() > 0 else None

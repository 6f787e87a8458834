"""Readings of a link against the theory of queues: what a packet waits, and how many are dropped.

None of this was built on the mechanism that it checks: the shaper, and the transmitter behind it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fairc.cell.links import VIRTUAL_SLACK_NS
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.queues import QueueRecord

from .reading import Reading, near

BATCHES = 30
NORMAL_99 = 2.576
LATE_S = 1e-3
"""How late a program of the emulated or the real machine can be when it hands a packet on, s."""
DIFFERING = 0.01
"""Share of packets that late timers may let into a short queue, or keep out of it."""


def link(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read everything about the packets of a link that drops none."""
    yield from waits(setting, cells)
    yield from transmission(setting, cells)
    yield from mean_wait(setting, cells)


def lindley(arrival_s: Floats, service_s: Floats) -> Floats:
    """Return when each packet begins to be served, first come, first served, s; shape (packets,).

    b[i] = max(a[i], b[i - 1] + s[i - 1]). Source: Lindley, Proceedings of the Cambridge
    Philosophical Society 48(2), 1952.
    """
    ahead_s = np.concatenate(([0.0], np.cumsum(service_s)[:-1]))
    return np.asarray(ahead_s + np.maximum.accumulate(arrival_s - ahead_s), np.float64)


def waits(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read how far any packet's wait is from Lindley's recursion over the captured arrivals.

    Accepted within what timers may be late: a microsecond where they are exact.
    """
    for cell in cells:
        (queue,) = cell.queues
        within_s = _late_s(cell)
        begin_s = lindley(queue.arrival_s, queue.serialisation_s)
        worst_s = float(np.abs(queue.left_s - begin_s).max(initial=0.0))
        yield Reading(
            "largest error of a wait (n: packets)",
            setting,
            1e6 * worst_s,
            0.0,
            0.0,
            1e6 * within_s,
            "us",
            "Lindley 1952, from the captured arrivals",
            len(begin_s),
        )


def transmission(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read how far any packet's way from the queue to the other end is from length / rate and the
    delay.
    """
    for cell in cells:
        (queue,) = cell.queues
        within_s = 2 * _late_s(cell)
        arrived = queue.behind.found >= 0
        there_s = queue.seconds(queue.delivered)[queue.behind.found[arrived]]
        planned = cell.paths.impairment_behind(queue.place)
        delay_s = planned.delay_ns * 1e-9 if planned is not None else 0.0
        off_s = there_s - queue.sent_s[arrived] - delay_s
        yield Reading(
            "largest error of a transmission (n: packets)",
            setting,
            1e6 * float(np.abs(off_s).max(initial=0.0)),
            0.0,
            0.0,
            1e6 * within_s,
            "us",
            "length / rate, and the plan's delay",
            int(arrived.sum()),
        )


def mean_wait(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the mean wait of Poisson arrivals: l E[S^2] / (2 (1 - l E[S])).

    Accepted if its 99 % interval, from the means of batches, contains that. Source: Pollaczek and
    Khinchine; Kleinrock, Queueing Systems, volume 1, equation 5.61 (M/G/1; of equal packets:
    M/D/1).
    """
    for cell in cells:
        (queue,) = cell.queues
        after = queue.left_s >= cell.warmup_s
        wait_s, service_s = queue.delay_s[after], queue.serialisation_s[after]
        rate = _arrivals_per_s(queue, cell)
        load = rate * float(service_s.mean())
        expected_s = rate * float((service_s**2).mean()) / (2 * (1 - load))
        half_s = _half_width(wait_s)
        yield near(
            f"mean wait at a load of {load:.2f} (n: packets)",
            setting,
            float(wait_s.mean()),
            expected_s,
            within=half_s,
            unit="s",
            source="Pollaczek-Khinchine, 99 % interval of batch means",
            n=len(wait_s),
        )


def losses(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read what a short queue drops: against an ideal queue with the same arrivals and, where
    programs take no time and so keep the arrivals Poisson's, against M/D/1/K.

    Accepted: one packet in a hundred that only one of the two queues drops, where timers are late;
    the share within 99 %, from batches of arrivals. Source: Brun and Garcia, Journal of Applied
    Probability 37(4), 2000.
    """
    for cell in cells:
        (queue,) = cell.queues
        planned = queue.interface.queue
        assert planned is not None and planned.limit_packets is not None, "it counts packets"
        service_s = float(queue.serialisation_s.mean())
        load = _arrivals_per_s(queue, cell) * service_s
        entered_s = queue.seconds(queue.entered)
        counted = entered_s >= cell.warmup_s
        dropped = _dropped(entered_s, service_s, planned.limit_packets + 1)
        lost = queue.through.lost[counted].astype(np.float64)
        yield near(
            "share of packets that an ideal queue treats otherwise (n: packets)",
            setting,
            float((queue.through.lost != dropped)[counted].mean()),
            0.0,
            within=DIFFERING,
            unit="1",
            source="the same arrivals, each with its service time",
            n=len(lost),
        )
        if _late_s(cell) > LATE_S:
            continue
        yield near(
            f"share of drops at a load of {load:.2f} (n: packets)",
            setting,
            float(lost.mean()),
            blocking(load, planned.limit_packets + 1),
            within=_half_width(lost),
            unit="1",
            source="M/D/1/K, Brun and Garcia 2000",
            n=len(lost),
        )


def _dropped(entered_s: Floats, service_s: float, places: int) -> NDArray[np.bool_]:
    """Return which of several arrivals find all places taken, the one in service included."""
    leaving: deque[float] = deque()
    dropped = np.zeros(len(entered_s), np.bool_)
    free_s = 0.0
    for number, arrival_s in enumerate(entered_s.tolist()):
        while leaving and leaving[0] <= arrival_s:
            leaving.popleft()
        if len(leaving) == places:
            dropped[number] = True
        else:
            free_s = max(free_s, arrival_s) + service_s
            leaving.append(free_s)
    return dropped


def blocking(load: float, places: int) -> float:
    """Return the probability that an arrival at M/D/1/K finds all places taken, the one in service
    included.

    With b_n = sum over k from 0 to n of (-1)^k / k! (n - k)^k e^((n - k) load) load^k, it is
    1 - b_(K-1) / (1 + load b_(K-1)). Source: Brun and Garcia 2000, theorem 1.
    """
    n = places - 1
    terms = (
        (-1) ** k / math.factorial(k) * ((n - k) * load) ** k * math.exp((n - k) * load)
        for k in range(n + 1)
    )
    b = math.fsum(terms)
    return 1 - b / (1 + load * b)


def _late_s(cell: Measurement) -> float:
    """Return how late a packet can be because of timers, s."""
    slack_ns = cell.processing.slack_ns
    return slack_ns * 1e-9 + (0.0 if slack_ns <= VIRTUAL_SLACK_NS else LATE_S)


def _arrivals_per_s(queue: QueueRecord, cell: Measurement) -> float:
    entered_s = queue.seconds(queue.entered)
    entered_s = entered_s[entered_s >= cell.warmup_s]
    return (len(entered_s) - 1) / float(entered_s[-1] - entered_s[0])


def _half_width(values: Floats) -> float:
    """Return half the 99 % interval of a mean of dependent values, from the means of batches."""
    means = np.array([batch.mean() for batch in np.array_split(values, BATCHES)])
    return NORMAL_99 * float(means.std(ddof=1)) / math.sqrt(BATCHES)

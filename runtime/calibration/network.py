"""Readings of the emulated network: is it the one that the plan describes?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fairc.cell.observation import PING_BYTES
from fairc.runtime.measurement import Measurement
from fairc.runtime.statistics.distributions import binomial_quantile
from fairc.runtime.validity import judge, loss_counts
from fairc.runtime.validity.expected_losses import pooled
from fairc.runtime.validity.service import backlogged_rate

from .reading import Reading, near

RATE_SHARE = 0.01
BASE_RTT_S = 0.5e-3
# Where computing takes no time, only the rounding of clocks and of tokens is left.
EXACT_RATE_SHARE = 1e-4
EXACT_RTT_S = 10e-6
LOSS_CONFIDENCE = 0.99


def rate(
    setting: str, cells: Sequence[Measurement], share: float = RATE_SHARE
) -> Iterator[Reading]:
    """Read the rate at which frames leave the bottleneck while others wait.

    share: how far it may be off.
    """
    for cell in cells:
        (queue,) = cell.queues
        _, slowest_bps, fastest_bps = backlogged_rate(queue, cell.processing.slack_ns * 1e-9)
        yield near(
            "rate",
            setting,
            (slowest_bps + fastest_bps) / 2,
            queue.rate_bps,
            within=share * queue.rate_bps,
            unit="bit/s",
            source="plan",
        )


def delay(
    setting: str, cells: Sequence[Measurement], within_s: float = BASE_RTT_S
) -> Iterator[Reading]:
    """Read the RTTs of small packets on the idle path: their median and their spread.

    within_s: how far each may be off.
    """
    for cell in cells:
        (flow,) = cell.flows
        rtts_s = flow.pings.rtts_s if flow.pings else np.array([np.nan])
        ways = (*cell.paths.of(flow.plan), *cell.paths.back(flow.plan))
        planned_s = flow.plan.base_rtt_ns * 1e-9 + cell.paths.transmission_s(ways, PING_BYTES)
        median_s = float(np.median(rtts_s))
        yield near(
            "base RTT", setting, median_s, planned_s, within=within_s, unit="s", source="plan"
        )
        spread_s = float(np.ptp(rtts_s))
        yield near(
            "spread of RTTs (largest less smallest)",
            setting,
            spread_s,
            0.0,
            within=within_s,
            unit="s",
            source="plan",
        )


def exact_rate(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the rate where computing takes no time."""
    return rate(setting, cells, EXACT_RATE_SHARE)


def exact_delay(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the RTTs where computing takes no time."""
    return delay(setting, cells, EXACT_RTT_S)


def loss(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the probability of random loss, over the pooled packets of all repetitions.

    Accepted if its exact 99 % interval (Clopper and Pearson, Biometrika 26, 1934) contains the
    planned probability; stated the other way round, as a range for the measured share.
    """
    (count,) = pooled(count for cell in cells for count in loss_counts(cell))
    tail = (1 - LOSS_CONFIDENCE) / 2
    low, high = (
        binomial_quantile(share, count.sent, count.expected) / count.sent
        for share in (tail, 1 - tail)
    )
    yield Reading(
        "loss probability (n: packets)",
        setting,
        count.lost / count.sent,
        count.expected,
        low,
        high,
        "1",
        "99 % of the binomial distribution",
        count.sent,
    )


def buffer(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the largest backlog, the queue's limit to one packet, and the longest queueing delay, to
    two.
    """
    for cell in cells:
        (queue,) = cell.queues
        planned = queue.interface.queue
        assert planned is not None, "the suite's bottlenecks have a queue"
        packets, waiting_bytes = queue.largest_backlog()
        frame = int(queue.left.frame_bytes.max())
        if planned.limit_bytes is not None:
            yield near(
                "queue limit",
                setting,
                waiting_bytes,
                planned.limit_bytes,
                within=frame,
                unit="B",
                source="plan, to one packet",
            )
            limit_bytes = planned.limit_bytes
        else:
            limit = planned.limit_packets or 0
            yield near(
                "queue limit",
                setting,
                packets,
                limit,
                within=1,
                unit="pkt",
                source="plan, to one packet",
            )
            limit_bytes = limit * frame
        yield near(
            "longest queue delay",
            setting,
            float(np.nanmax(queue.delay_s)),
            8 * limit_bytes / queue.rate_bps,
            within=2 * 8 * frame / queue.rate_bps,
            unit="s",
            source="limit / rate, to the packet in service and one more",
        )


def trusted(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the share of cells, at the edge of what the engine can do, that are valid or at least
    flagged.
    """
    judged = [judge(cell)[0] for cell in cells]
    yield near(
        "cells that are valid or flagged",
        setting,
        sum(verdict != "invalid" for verdict in judged) / len(judged),
        1.0,
        within=0.0,
        unit="1",
        source="measurement.md, rule 21",
        n=len(judged),
    )

"""Readings of the kernel's Reno against its theory: what the whole chain must reproduce."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from fairc.cell.frames import segment_bytes
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.metrics.sharing import jain

from .reading import Reading, near

SQUARE_ROOT_SHARE = 0.10
EQUAL_JAIN = 0.95
UNFAIRNESS_EXPONENT = 0.15
INITIAL_WINDOW = 10
ROUNDS = 1.0
SAWTOOTH_SHARE = 0.02
PFTK_SHARE = 0.5
RED_EXPONENT = 0.1


def square_root(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the mean window of Reno at a loss probability p: sqrt(3 / (2 p)) packets.

    Linux grows the window by what was acknowledged, so delayed acks do not slow it down (b = 1).
    Source: Mathis, Semke, Mahdavi, Ott, ACM CCR 27(3), 1997.
    """
    windows = [_mean_window(cell, flow) for cell in cells for flow in cell.flows]
    planned = cells[0].paths.impairment_behind(cells[0].flows[0].queue.place)
    assert planned is not None and planned.loss > 0, "this case loses packets"
    expected = math.sqrt(3 / (2 * planned.loss))
    yield near(
        "mean window of Reno",
        setting,
        float(np.mean(windows)),
        expected,
        within=SQUARE_ROOT_SHARE * expected,
        unit="pkt",
        source="sqrt(3 / (2 p)), Mathis et al. 1997",
        n=len(windows),
    )


def _mean_window(cell: Measurement, flow: FlowRecord) -> float:
    """Return the mean congestion window after the warm-up, packets; samples are evenly spaced."""
    samples = flow.endpoints.samples
    return float(samples.cwnd_packets[samples.t_s >= cell.warmup_s].mean())


def equal_flows(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read Jain's index of the long-run goodputs of identical flows."""
    indices = [float(jain(np.array(_goodputs_bps(cell))[:, np.newaxis])[0]) for cell in cells]
    yield Reading(
        "Jain's index of equal flows",
        setting,
        float(np.mean(indices)),
        1.0,
        EQUAL_JAIN,
        1.0,
        "1",
        "symmetry",
        len(indices),
    )


def unequal_rtts(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read how flows with RTTs T1 < T2 and the same loss probability share: x1 / x2 = T2 / T1.

    Both have the same mean window, so their rates are proportional to 1 / T. At a drop-tail queue,
    where both lose packets at the same time, the ratio is larger: Lakshman and Madhow, IEEE/ACM ToN
    5(3), 1997. Source: Mathis, Semke, Mahdavi, Ott, ACM CCR 27(3), 1997, equation 3.
    """
    exponents = []
    for cell in cells:
        short, long = cell.flows
        x1, x2 = _goodputs_bps(cell)
        ratio = long.plan.base_rtt_ns / short.plan.base_rtt_ns
        exponents.append(math.log(x1 / x2) / math.log(ratio))
    yield near(
        "RTT unfairness of Reno (exponent)",
        setting,
        float(np.mean(exponents)),
        1.0,
        within=UNFAIRNESS_EXPONENT,
        unit="1",
        source="x1 / x2 = T2 / T1, Mathis et al. 1997",
        n=len(exponents),
    )


def _goodputs_bps(cell: Measurement) -> list[float]:
    edges_s = np.array([cell.warmup_s, cell.ended_s])
    span_s = cell.ended_s - cell.warmup_s
    return [8 * float(flow.delivered_bytes(edges_s)[0]) / span_s for flow in cell.flows]


def sawtooth(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the utilization of one Reno whose queue is shorter than a BDP.

    The window grows by one in each round from W / 2 to W = C + B: C packets fit into the path, B
    wait. Below C a round lasts one base RTT T, above it w / C of that; so in a cycle 3 W^2 / 8
    packets take

        (C - W / 2) T + (W^2 - C^2) / (2 C) T.

    Source: Appenzeller, Keslassy, McKeown, SIGCOMM 2004, section 2, with a buffer below their rule
    of thumb.
    """
    for cell in cells:
        (flow,) = cell.flows
        queue = flow.queue
        planned = queue.interface.queue
        assert planned is not None and planned.limit_packets is not None, "it counts packets"
        frame_bytes = queue.interface.frame_bytes
        ways = (*cell.paths.of(flow.plan), *cell.paths.back(flow.plan))
        rtt_s = flow.plan.base_rtt_ns * 1e-9 + cell.paths.transmission_s(ways, frame_bytes)
        fits = queue.rate_bps * rtt_s / (8 * frame_bytes)
        top = fits + planned.limit_packets
        rounds = max(0.0, fits - top / 2) + (top**2 - max(fits, top / 2) ** 2) / (2 * fits)
        edges_s = np.array([cell.warmup_s, cell.ended_s])
        bits = queue.rate_bps * queue.serialisation_s[(queue.left_s >= edges_s[0])].sum()
        yield near(
            "utilization of one Reno",
            setting,
            float(bits / (queue.rate_bps * (edges_s[1] - edges_s[0]))),
            3 / 8 * top**2 / (fits * rounds),
            within=SAWTOOTH_SHARE,
            unit="1",
            source="AIMD sawtooth, Appenzeller et al. 2004",
        )


def timeouts(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the throughput of Reno without SACK against PFTK, which counts timeouts; nothing is
    tuned.

        B = 1 / (T sqrt(2 b p / 3) + T0 min(1, 3 sqrt(3 b p / 8)) p (1 + 32 p^2))

    with b = 1, as Linux grows the window by what was acknowledged, T the mean RTT and T0 = T + 0.2
    s (Linux's least variance, RTO_MIN). The deviation is to be seen; only its order of magnitude is
    checked. Source: Padhye, Firoiu, Towsley, Kurose, IEEE/ACM ToN 8(2), 2000, equation 31.
    """
    shares, expected = [], []
    for cell in cells:
        (flow,) = cell.flows
        planned = cell.paths.impairment_behind(flow.queue.place)
        assert planned is not None and planned.loss > 0, "this case loses packets"
        p, rtt_s = planned.loss, flow.plan.base_rtt_ns * 1e-9
        rto_s = rtt_s + 0.2
        fast = rtt_s * math.sqrt(2 * p / 3)
        slow = rto_s * min(1.0, 3 * math.sqrt(3 * p / 8)) * p * (1 + 32 * p**2)
        packet_bits = 8 * segment_bytes(flow.plan.mtu)
        expected.append(packet_bits / (fast + slow))
        shares.append(_goodputs_bps(cell)[0])
    planned_bps = float(np.mean(expected))
    yield near(
        "throughput of Reno without SACK",
        setting,
        float(np.mean(shares)),
        planned_bps,
        within=PFTK_SHARE * planned_bps,
        unit="bit/s",
        source="PFTK, Padhye et al. 2000",
        n=len(shares),
    )


def red_exponent(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read how flows of unequal RTT share a queue that drops at random: x1 sqrt(p1) / (x2 sqrt(p2))
    = T2 / T1.

    T: base RTT and the mean time in the queue. p: the share that RED dropped of each flow; the
    source takes it to be the same, but at twice the RTT it was 1.2 times as large, which alone
    moved the exponent from 1.05 to 1.19. Source: Lakshman and Madhow, IEEE/ACM ToN 5(3), 1997.
    """
    exponents = []
    for cell in cells:
        short, long = cell.flows
        queue = short.queue
        times_s, rates = [], []
        after, entered = queue.left_s >= cell.warmup_s, queue.seconds(queue.entered)
        waits_s = float(np.nanmean(queue.delay_s[after]))
        for flow, goodput_bps in zip((short, long), _goodputs_bps(cell), strict=True):
            data = flow.entered & (entered >= cell.warmup_s) & (queue.entered.payload_bytes > 0)
            dropped = float(queue.through.lost[data].mean())
            times_s.append(flow.plan.base_rtt_ns * 1e-9 + waits_s)
            rates.append(goodput_bps * math.sqrt(dropped))
        exponents.append(math.log(rates[0] / rates[1]) / math.log(times_s[1] / times_s[0]))
    yield near(
        "RTT unfairness of Reno under RED (exponent, at its drops)",
        setting,
        float(np.mean(exponents)),
        1.0,
        within=RED_EXPONENT,
        unit="1",
        source="x1 / x2 = T2 / T1, Lakshman and Madhow 1997",
        n=len(exponents),
    )


def slow_start(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the round trips from the first data until the window reaches the BDP: log2(BDP / IW).

    Interpolated between two samples by the logarithm of the window, which grows by one per round
    trip. Source: RFC 5681, section 3.1 (doubling), RFC 6928 (initial window of 10).
    """
    for cell in cells:
        (flow,) = cell.flows
        queue, samples = flow.queue, flow.endpoints.samples
        rtt_s = flow.plan.base_rtt_ns * 1e-9
        largest = int(queue.left.frame_bytes.max())
        bdp_packets = queue.rate_bps * rtt_s / (8 * largest)
        first_s = float(queue.left_s[flow.left & (queue.left.frame_bytes == largest)][0])
        after = samples.cwnd_packets >= bdp_packets
        if not after.any():
            rounds = math.nan
        else:
            here = int(np.argmax(after))
            logs = np.log2(samples.cwnd_packets[[max(here - 1, 0), here]])
            share = (math.log2(bdp_packets) - logs[0]) / (logs[1] - logs[0]) if here else 1.0
            before_s, at_s = samples.t_s[[max(here - 1, 0), here]]
            rounds = (before_s + share * (at_s - before_s) - first_s) / rtt_s
        yield near(
            "slow start up to the BDP (in RTTs)",
            setting,
            float(rounds),
            math.log2(bdp_packets / INITIAL_WINDOW),
            within=ROUNDS,
            unit="1",
            source="log2(BDP / IW), RFC 5681",
        )

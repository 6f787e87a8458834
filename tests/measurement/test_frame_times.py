"""A link that sends as fast as the kernel's arithmetic lets it is not too fast, however long; one
that is faster by 0.01 %, or by 1 ns for each frame, is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
from madeartefacts import crowded

from fairc.cell.links import VIRTUAL_SLACK_NS, Shaper
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.changes import History
from fairc.runtime.measurement.frame_times import divided_ns, multiplied_ns
from fairc.runtime.measurement.pcap import Packets
from fairc.runtime.validity.service import backlogged_rate, overrun

MBPS = 10**6
RATES = [n * MBPS for n in range(1, 1001)]
SIZES = np.arange(60, 1515)
SHORT = (1_500_000, *(n * MBPS for n in (3, 6, 7, 12, 15, 24, 30, 48, 60, 75, 120, 150, 300, 600)))
"""Rates at which the kernel lets many frames last 1 ns less than length / rate."""


U32, U64 = 2**32 - 1, 2**64 - 1


@cache
def precomputed(rate_bps: int) -> tuple[int, int]:
    """psched_ratecfg_precompute__ of Linux 6.12, with the widths of C."""
    rate, factor, shift = rate_bps // 8, 1_000_000_000, 0
    while True:
        mult = (factor // rate) & U32
        if mult & (1 << 31) or factor & (1 << 63):
            return mult, shift
        factor, shift = (factor << 1) & U64, shift + 1


def l2t_ns(rate_bps: int, size: int) -> int:
    """psched_l2t_ns."""
    mult, shift = precomputed(rate_bps)
    return ((size * mult) & U64) >> shift


def leaving(rate_bps: int, size: int, frames: int) -> Iterator[int]:
    """Yield when a class of htb lets frames begin that all wait, ns (htb_dequeue_tree: tokens that
    it had, those of the time since, at most its burst, less those of the frame; it sleeps until
    they are no longer negative).
    """
    buffer_ns = VIRTUAL_SLACK_NS // 64 * 64  # PSCHED_TICKS2NS
    lasts_ns = l2t_ns(rate_bps, size)
    now_ns, since_ns, tokens = 0, 0, buffer_ns
    for _ in range(frames):
        tokens = min(buffer_ns, tokens + now_ns - since_ns)
        if tokens < 0:
            now_ns, tokens = now_ns - tokens, 0
        yield now_ns
        tokens, since_ns = tokens - lasts_ns, now_ns


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Measurement:
    """A cell of which the queue is taken, with a machine whose timers are exact."""
    case = crowded()
    found = load(case.cell, case.write(tmp_path_factory.mktemp("made")))
    exact = replace(found.processing, slack_ns=VIRTUAL_SLACK_NS)
    return replace(found, processing=exact, flows=())


def sent(made: Measurement, rate_bps: int, size: int, left_ns: np.ndarray) -> Measurement:
    """The cell with other frames, which left its link at these times, and all had come before."""
    queue, count = made.queues[0], len(left_ns)
    assert queue.interface.shaper is not None
    shaper: Shaper = replace(queue.interface.shaper, rate_bps=rate_bps, transmitter="below")
    interface = replace(queue.interface, shaper=shaper)
    columns = {f.name: np.zeros(count, np.int64) for f in fields(Packets)}
    columns |= {"time_ns": left_ns + queue.epoch_ns, "frame_bytes": np.full(count, size)}
    unseen = replace(queue.through, found=np.full(count, -1))
    now = replace(
        queue,
        interface=interface,
        history=History(interface),
        left=Packets(**columns),
        entered=Packets(**columns),
        through=unseen,
    )
    return replace(made, queues=(now,))


def one_second(rate_bps: int, size: int) -> np.ndarray:
    """When htb lets frames of equal size begin that all wait, for a second, ns."""
    lasts_ns = l2t_ns(rate_bps, size)
    first = np.fromiter(leaving(rate_bps, size, 200), np.int64)
    more = first[-1] + lasts_ns * np.arange(1, max(1, 10**9 // lasts_ns - 200))
    assert len(set(np.diff(first)[-20:])) == 1, "it has found its pace"
    return np.concatenate((first, more))


def test_frames_last_as_long_as_in_the_kernel() -> None:
    """At every rate from 1 to 1000 Mbit/s, for every size from 60 to 1514 bytes."""
    which = np.zeros(len(SIZES), np.int64)
    short = 0
    for rate_bps in RATES:
        exact_ns = SIZES * 8 * 10**9 // rate_bps
        kernels_ns = multiplied_ns([rate_bps], which, SIZES)
        assert kernels_ns.tolist() == [l2t_ns(rate_bps, size) for size in SIZES.tolist()]
        assert divided_ns([rate_bps], which, SIZES).tolist() == exact_ns.tolist()
        assert set((exact_ns - kernels_ns).tolist()) <= {0, 1}
        short += int((exact_ns > kernels_ns).sum())
    assert short > 1000, "there are pairs at which the two differ"
    assert multiplied_ns([12 * MBPS], which, SIZES)[SIZES == 66].tolist() == [43_999]


@pytest.mark.parametrize("rate_bps", [MBPS, 10 * MBPS, 100 * MBPS, *SHORT, 1000 * MBPS])
def test_links_as_fast_as_the_kernels_and_faster(made: Measurement, rate_bps: int) -> None:
    sizes = (66, 787, 1506) if rate_bps > 200 * MBPS else (60, 66, 78, 114, 590, 1434, 1506, 1514)
    for size in sizes:
        left_ns = one_second(rate_bps, size)
        now = sent(made, rate_bps, size, left_ns)
        assert list(overrun(now)) == [], size
        # Where a frame lasts less than a microsecond, the burst lets several begin at once.
        frames, slowest_bps, fastest_bps = backlogged_rate(now.queues[0], VIRTUAL_SLACK_NS * 1e-9)
        assert frames == len(left_ns) - 1
        assert slowest_bps <= rate_bps <= fastest_bps, size
        lasts_ns = l2t_ns(rate_bps, size)
        faster_ns = lasts_ns - max(1e-4 * lasts_ns, 1.0)
        early_ns = np.floor(faster_ns * np.arange(len(left_ns))).astype(np.int64)
        (finding,) = overrun(sent(made, rate_bps, size, early_ns))
        assert "was faster than its rate" in finding.reason, size


def test_frames_of_many_sizes(made: Measurement) -> None:
    """A second of frames of all sizes, which leave as htb and the reading of the clock let them."""
    dice = np.random.default_rng(3)
    for rate_bps in SHORT:
        sizes = dice.choice(SIZES, 10**9 // l2t_ns(rate_bps, 787))
        lasts_ns = np.array([l2t_ns(rate_bps, size) for size in sizes.tolist()])
        left_ns = np.cumsum(lasts_ns) - lasts_ns + dice.integers(0, 4, len(sizes))
        now = sent(made, rate_bps, 1, left_ns)
        queue = now.queues[0]
        of_sizes = replace(queue, left=replace(queue.left, frame_bytes=sizes))
        assert list(overrun(replace(now, queues=(of_sizes,)))) == []


def test_what_transmits_takes_longer_than_the_shaper_in_front(made: Measurement) -> None:
    """netem lets a frame begin when the one ahead has been sent (netem_enqueue), and divides: at 12
    Mbit/s 1,000 frames of 66 bytes that htb lets go have been sent 1 us later than the first.
    """
    rate_bps, size = 12 * MBPS, 66
    left_ns = np.fromiter(leaving(rate_bps, size, 5_000), np.int64)
    queue = sent(made, rate_bps, size, left_ns).queues[0]
    expected, until_ns = [], 0
    for now_ns in left_ns.tolist():
        until_ns = max(until_ns, now_ns) + size * 10**9 // (rate_bps // 8)
        expected.append(until_ns)
    assert np.round(queue.sent_s * 1e9).astype(np.int64).tolist() == expected
    assert expected[1_000] - left_ns[1_000] - (expected[0] - left_ns[0]) > 1_000

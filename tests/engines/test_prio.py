"""Strict priority, against the captured arrivals played through a server with bands."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairc.compiler import Cell
from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.queues import QueueRecord

SPEC = """fexp 1
experiment classes {
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, access: 10Gbit/s,
    queue: prio(ef: fifo(2000pkt), af41: fifo(3pkt), cs0: fifo(6000B), cs1: red(100pkt)))
  hosts { processing = off }
  flow call  { over = udp  dscp = ef    count = 20  workload = onoff(rate: 100Mbit/s, on: 13us, off: exponential(mean: 10.667ms), packet: 186B) }
  flow video { over = udp  dscp = af41  count = 20  workload = onoff(rate: 100Mbit/s, on: 100us, off: exponential(mean: 80ms), packet: 1500B) }
  flow plain { over = udp               count = 20  workload = onoff(rate: 100Mbit/s, on: 100us, off: exponential(mean: 100ms), packet: 1500B) }
  flow other { over = udp  dscp = af11  count = 10  workload = onoff(rate: 100Mbit/s, on: 13us, off: exponential(mean: 10ms), packet: 186B) }
  flow back  { cca = reno  dscp = cs1  workload = bulk }
  duration = 10s
  measure  = [queue_delay]
}
"""
BANDS = {46: 0, 34: 1, 8: 3}
"""Code points of `ef`, `af41` and `cs1`; all others wait with `cs0`."""
OTHERS = 2

EXACT_S = 2e-6

Floats = NDArray[np.float64]


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    verdict, reasons = validity.judge(measured)
    assert verdict != "invalid", reasons


def test_the_kernel_has_the_bands_of_the_plan(cell: Cell, folder: Path) -> None:
    node, interface = cell.flows[0].bottleneck
    document = json.loads((folder / "qdisc-after.json").read_text())[node]
    of = {
        each["parent"]: each for each in document if each["dev"] == interface and "parent" in each
    }
    assert of["1:1"]["kind"] == "prio"
    shown = of["1:1"]["options"]
    assert (shown["bands"], shown["priomap"]) == (4, [OTHERS] * 16)
    found = {parent: each["kind"] for parent, each in of.items() if parent.startswith("2:")}
    assert found == {"2:1": "pfifo", "2:2": "pfifo", "2:3": "bfifo", "2:4": "gred"}
    assert of["2:2"]["options"]["limit"] == 3
    assert of["2:3"]["options"]["limit"] == 6000


def test_each_packet_begins_when_a_server_with_bands_begins_it(measured: Measurement) -> None:
    """And its queue drops what does not fit there, however much room the other bands have."""
    queue = bottleneck(measured)
    kept = ~queue.through.lost & ~queue.through.pending
    come_s, frames = queue.seconds(queue.entered), queue.entered.frame_bytes
    bands = np.array([BANDS.get(int(tos) >> 2, OTHERS) for tos in queue.entered.tos])
    for band in range(4):
        assert (bands == band).sum() > 200
    begun_s = served(come_s[kept], 8 * frames[kept] / queue.rate_bps, bands[kept])
    left_s = np.full(len(come_s), np.nan)
    left_s[queue.through.found >= 0] = queue.seconds(queue.left)[
        queue.through.found[queue.through.found >= 0]
    ]
    off_s = np.abs(left_s[kept] - begun_s)
    # What comes in the microsecond in which the shaper may be late goes before what it was to send.
    assert np.quantile(off_s, 0.99) < EXACT_S

    waiting = np.array([limit_met(band, come_s, left_s, bands, frames) for band in (1, 2)])
    (most_packets, _), (_, most_bytes) = waiting
    assert 2 <= most_packets <= 4
    assert 6000 - 1514 <= most_bytes <= 6000 + 1514
    assert queue.through.lost[bands == 1].sum() > 20
    assert queue.through.lost[bands == 2].sum() > 20
    assert not queue.through.lost[bands == 0].any()


def test_no_packet_leaves_while_one_of_an_earlier_band_waits(measured: Measurement) -> None:
    queue = bottleneck(measured)
    sent = queue.through.found >= 0
    come_s = queue.seconds(queue.entered)[sent]
    left_s = queue.seconds(queue.left)[queue.through.found[sent]]
    bands = np.array([BANDS.get(int(tos) >> 2, OTHERS) for tos in queue.entered.tos[sent]])
    for band in range(1, 4):
        first, now_s = bands < band, left_s[bands == band]
        waiting = np.searchsorted(np.sort(come_s[first]), now_s - EXACT_S)
        gone = np.searchsorted(np.sort(left_s[first]), now_s, side="right")
        assert (waiting <= gone).all()


def bottleneck(measured: Measurement) -> QueueRecord:
    return measured.flows[0].queue


def served(come_s: Floats, takes_s: Floats, bands: NDArray[np.int64]) -> Floats:
    """Return when a server begins each packet: of the first band that holds one, in order."""
    begun_s = np.full(len(come_s), np.nan)
    waiting: list[deque[int]] = [deque() for _ in range(int(bands.max()) + 1)]
    free_s, coming = 0.0, 0
    while coming < len(come_s) or any(waiting):
        if not any(waiting):
            free_s = max(free_s, come_s[coming])
        while coming < len(come_s) and come_s[coming] <= free_s:
            waiting[bands[coming]].append(coming)
            coming += 1
        one = next(band for band in waiting if band).popleft()
        begun_s[one] = free_s
        free_s += takes_s[one]
    return begun_s


def limit_met(
    band: int, come_s: Floats, left_s: Floats, bands: NDArray[np.int64], frames: NDArray[np.int64]
) -> tuple[int, int]:
    """Return the most packets and bytes of a band that wait at once."""
    mine = (bands == band) & ~np.isnan(left_s)
    times = np.concatenate([left_s[mine], come_s[mine]])
    order = np.argsort(times, kind="stable")
    ones = np.concatenate([-np.ones(mine.sum()), np.ones(mine.sum())])[order]
    sizes = np.concatenate([-frames[mine], frames[mine]])[order]
    return int(np.cumsum(ones).max()), int(np.cumsum(sizes).max())

"""Framing where a rate changes, at a host's own link, behind AQMs, and in CAKE's own shaper."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import kept_cells
import numpy as np
import pytest
from specs import compilation_of

from fairc.runtime import validity
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import Measurement, load

CHANGING = """fexp 1
experiment changing {
  sweep { q = [fifo(100pkt), fq_codel(1000pkt)] }
  topology = bottleneck(rate: 10Mbit/s, rtt: 40ms, queue: q) with {
    link left -> right { framing = atm(overhead: 10B)  at 2s { rate = 5Mbit/s } }
  }
  flow d { over = udp  rate = 12Mbit/s  workload = bulk }
  duration = 5s
  measure = [utilization]
}
"""
OWN = """fexp 1
experiment own {
  topology {
    node server, client
    router a
    link server -- a { rate = 10Mbit/s  framing = atm(overhead: 10B)  delay = 10ms }
    link a -- client { rate = 100Mbit/s  delay = 10ms }
  }
  flow d { cca = cubic  workload = bulk }
  duration = 5s
  measure = [utilization]
}
"""
SHAPED = """fexp 1
experiment shaped {
  let rate = 10Mbit/s
  sweep { f = [linux, atm(overhead: 32B), docsis] }
  topology = bottleneck(rate: rate, rtt: 40ms, queue: cake(200pkt, rate: 0.9 * rate, framing: f))
  flow d { over = udp  rate = 12Mbit/s  workload = bulk }
  flow p { over = udp  workload = ping(every: 3ms, packet: 68B) }
  duration = 5s
  measure = [utilization]
}
"""
OPTIONS: tuple[dict[str, object], ...] = (
    {"raw": True, "overhead": 0},
    {"atm": "atm", "overhead": 32},
    {"atm": "noatm", "overhead": 18, "mpu": 64},
)


def run(engine: Engine, text: str, folder: Path) -> list[tuple[Measurement, Path]]:
    """Run the cells of an experiment; return each measured, with its artefacts."""
    found = []
    for number, cell in enumerate(compilation_of(text).cells()):
        inside = folder / str(number)
        inside.mkdir()
        artefacts = kept_cells.artefacts(engine, cell, inside)
        found.append((load(cell, artefacts), artefacts))
    return found


@pytest.fixture(scope="module")
def shaped(
    engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[Measurement, Path]]:
    """The cells with CAKE's own shaper."""
    return run(engine, SHAPED, tmp_path_factory.mktemp("shaped"))


def in_atm(ip_bytes: int, overhead: int) -> int:
    """Cells of 53 bytes with 48 of content."""
    return math.ceil((ip_bytes + overhead) / 48) * 53


@pytest.mark.parametrize("text", [CHANGING, OWN], ids=["changing", "own"])
def test_a_link_carries_its_rate_in_cells(engine: Engine, text: str, tmp_path: Path) -> None:
    for measured, _ in run(engine, text, tmp_path):
        assert validity.judge(measured) == ("valid", ())
        queue = measured.flows[0].queue
        left_s = queue.seconds(queue.left)
        spans = ((0.5, 1.9, 10e6), (2.1, 4.9, 5e6)) if text == CHANGING else ((2, 4.9, 10e6),)
        for begin_s, end_s, rate_bps in spans:
            which = np.flatnonzero((left_s > begin_s) & (left_s < end_s))
            sizes = [in_atm(int(n), 10) for n in queue.left.ip_bytes[which[:-1]]]
            time_s = float(left_s[which[-1]] - left_s[which[0]])
            assert 8 * sum(sizes) / time_s == pytest.approx(rate_bps, rel=1e-3)


def test_cells_with_cakes_own_shaper_are_valid(shaped: list[tuple[Measurement, Path]]) -> None:
    for measured, _ in shaped:
        assert validity.judge(measured) == ("valid", ())


def test_the_kernel_has_the_shaper_that_the_file_says(
    shaped: list[tuple[Measurement, Path]],
) -> None:
    for (_, folder), expected in zip(shaped, OPTIONS, strict=True):
        shown = json.loads((folder / "qdisc-after.json").read_text())["left"]
        (cake,) = [each["options"] for each in shown if each["kind"] == "cake"]
        assert cake["bandwidth"] == 9_000_000 // 8
        assert {key: cake.get(key) for key in expected} == expected


def test_what_leaves_cake_counts_as_it_is_told(shaped: list[tuple[Measurement, Path]]) -> None:
    """At 0.9 of the link's rate, in its own sizes; large and small packets beside each other."""
    sizes: tuple[Callable[[int], int], ...] = (
        lambda n: n + 14,
        lambda n: in_atm(n, 32),
        lambda n: max(n + 18, 64),
    )
    for (measured, _), size in zip(shaped, sizes, strict=True):
        queue = measured.flows[0].queue
        left_s = queue.seconds(queue.left)
        which = np.flatnonzero((left_s > 1) & (left_s < 4.9))
        total = sum(size(int(n)) for n in queue.left.ip_bytes[which[:-1]])
        time_s = float(left_s[which[-1]] - left_s[which[0]])
        assert 8 * total / time_s == pytest.approx(9e6, rel=1e-3)


def test_a_cell_of_another_framing_is_invalid(shaped: list[tuple[Measurement, Path]]) -> None:
    """The check is one: in ATM's sizes Ethernet is too fast."""
    (plain, folder), (cells, _), _ = shaped
    wrong = replace(cells.cell, id=plain.cell.id)
    verdict, reasons = validity.judge(load(wrong, folder))
    assert verdict == "invalid"
    assert any("its shaper has another rate" in text for text in reasons)

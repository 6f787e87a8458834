"""`fairc report --warmup-sensitivity`, with the fake engine: the answer with half and twice the
warm-up.
"""

from __future__ import annotations

import csv
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from fairc.runtime.analysis.cells import analyse
from fairc.runtime.ranges.cells import finished
from fairc.runtime.store.folder import Store

Fairc = Callable[..., Any]  # conftest.py
WARM = """fexp 1
experiment tiny {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(2bdp))
  flow a { cca = cubic   workload = file(2MB) }
  flow b { cca = bbr     workload = file(2MB) }
  warmup  = 2s
  repeat  = 3
  measure = [goodput, fairness]
}
"""


@pytest.fixture
def run(fairc: Fairc, kept: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    Path("tiny.fexp").write_text(WARM)
    if not kept.exists():
        with monkeypatch.context() as patch:
            patch.setattr("fairc.runtime.report.build.build", lambda path, _: [path])
            assert fairc("run", "tiny.fexp", "-o", "one").status == 0
        shutil.copytree("one", kept)
    else:
        shutil.copytree(kept, "one")
    return Path("one")


def medians(run: Path, factor: float) -> list[float]:
    """Return the medians of both goodputs with another warm-up, by the analysis of a whole cell."""
    found: dict[str, list[float]] = {}
    store = Store(run)
    for cell, folder in finished(store):
        with tempfile.TemporaryDirectory() as raw:
            store.unpack(folder.name, Path(raw))
            other = replace(cell, warmup_ns=round(cell.warmup_ns * factor))
            for value in analyse(other, Path(raw), store.plan.requests).metrics:
                if value.metric == "goodput" and value.flow and value.value is not None:
                    found.setdefault(value.flow, []).append(value.value)
    return [median(found[flow]) for flow in ("a", "b")]


@pytest.mark.usefixtures("without_drawing")
def test_the_answer_with_half_and_twice_the_warm_up(fairc: Fairc, run: Path) -> None:
    fairc("report", "one", "--warmup-sensitivity", "--format", "csv", "--format", "html").require(0)
    with (run / "figures/warmup.csv").open(newline="") as file:
        rows = {row["metric"]: row for row in csv.DictReader(file)}
    own = [rows[f"goodput of {flow} (bit/s)"] for flow in ("a", "b")]
    for column, factor in (("half", 0.5), ("as specified", 1.0), ("twice", 2.0)):
        assert [float(row[column]) for row in own] == pytest.approx(medians(run, factor))
    assert len({own[0][column] for column in ("half", "as specified", "twice")}) == 3
    page = (run / "report.html").read_text("utf-8")
    assert "Sensitivity to the warm-up" in page and "half and with twice the warm-up of 2 s" in page
    assert fairc("report", "one").status == 0
    assert "Sensitivity to the warm-up" not in (run / "report.html").read_text("utf-8")


def test_it_needs_raw_artefacts(fairc: Fairc, run: Path) -> None:
    store = Store(run)
    store.remove_raw()
    made = fairc("report", "one", "--warmup-sensitivity")
    assert made.status != 0
    assert "the raw artefacts of cell" in made.err and "run --drop-raw" in made.err


def test_it_needs_a_warm_up(fairc: Fairc, finished: Path) -> None:
    made = fairc("report", finished / "run/results/tiny", "--warmup-sensitivity")
    assert made.status != 0
    assert "has no `warmup`" in made.err

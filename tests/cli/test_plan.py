"""`fairc plan`: what is counted, and estimates from some of many configurations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairc.cli.plan import LOOKED_AT

from .conftest import Fairc

GRID = """fexp 1

experiment grid {
  sweep { size = (1..40) * 100kB  cca = [cubic, bbr, reno]  n = 1..10 }
  topology = bottleneck(rate: 10Mbit/s, rtt: 50ms)
  flow a { cca = cca  count = n  workload = file(size) }
  SAMPLE
  repeat  = 5
  measure = [goodput]
}
"""


def planned(fairc: Fairc, tmp_path: Path, sample: str) -> dict[str, float]:
    (tmp_path / "grid.fexp").write_text(GRID.replace("SAMPLE", sample))
    called = fairc("plan", "grid.fexp", "--format", "json", "--jobs", "1").require(0)
    found: dict[str, float] = json.loads(called.out)
    return found


def test_an_estimate_of_many_configurations(fairc: Fairc, tmp_path: Path) -> None:
    whole = planned(fairc, tmp_path, "# all")
    assert whole["configurations"] == 1200 > LOOKED_AT
    assert whole["cells"] == 6000
    # Files of 2.05 MB on average, 5.5 connections: 9.4 s with their headers at 10 Mbit/s.
    assert whole["virtual_s"] == pytest.approx(
        6000 * 2.05e6 * 5.5 * 8 / 1e7 * 1514 / 1448, rel=0.05
    )
    assert "evenly spread" in fairc("plan", "grid.fexp").out


def test_a_sample_is_counted(fairc: Fairc, tmp_path: Path) -> None:
    part = planned(fairc, tmp_path, "sample = 10 per cca  exclude n > 5")
    assert (part["configurations"], part["cells"]) == (30, 150)
    assert (part["excluded"], part["unsampled"]) == (3000, 2850)
    out = fairc("plan", "grid.fexp").out
    assert "cells not drawn   2850" in out and "repetitions       5" in out


COMPARED = """fexp 1

experiment compared {
  sweep { cca = [cubic, reno, vegas] }
  topology = bottleneck(rate: 10Mbit/s, rtt: 40ms, queue: fifo(1bdp))
  flow a { cca = cca    workload = bulk }
  flow b { cca = cubic  workload = bulk }
  flow c { cca = cubic  workload = requests(size: 10kB, every: 1s) }
  warmup   = 0s
  duration = 10s
  repeat   = 6
  DRAWS
  measure  = [fairness, goodput, queue_delay, fct]
}
"""


@pytest.mark.parametrize(("draws", "decided", "needed"), [("", 1, 10), ("draws = own", 23, 7)])
def test_comparisons_that_the_repetitions_cannot_decide(
    fairc: Fairc, tmp_path: Path, draws: str, decided: int, needed: int
) -> None:
    """3 pairs of configurations and 8 values: F, goodput and delay of 3 flows, completion times of
    c.
    """
    (tmp_path / "compared.fexp").write_text(COMPARED.replace("DRAWS", draws))
    found = json.loads(fairc("plan", "compared.fexp", "--format", "json").out)
    tests = 3 * (1 + 3 + 3 + 1)
    assert found["comparisons"] == {
        "tests": tests,
        "repetitions": 6,
        "decided": decided,
        "needed": needed,
    }
    text = fairc("plan", "compared.fexp").out
    assert (
        f"6 repetitions can decide at most {decided} of the {tests} comparisons that the"
        f" report makes;"
        f" `repeat = {needed}` can decide all"
    ) in text
    more = fairc("plan", "compared.fexp", "--set", "repeat=10").out
    assert "can decide" not in more


def test_time_to_settle(fairc: Fairc, tmp_path: Path) -> None:
    """Reno beside CUBIC at 10 Mbit/s, 40 ms and 1 BDP: W = 2 x 50000 B / 1514 B / 2 = 33.0, R = 80
    ms.

    Reno's epochs take W R / 2 = 1.32 s, five of them 6.6 s; CUBIC's the shorter of 2.91 s and 0.3 W
    R / 0.53 = 1.50 s, nine of them 13.5 s. Both rise from 10 to 66 packets in log2(6.6) R = 0.218
    s, and start within 40 ms.
    """
    (tmp_path / "compared.fexp").write_text(COMPARED.replace("DRAWS", ""))
    found = json.loads(fairc("plan", "compared.fexp", "--format", "json").out)["settling"]
    window, epoch_s = 100_000 / 1514 / 2, 0.3 * 100_000 / 1514 / 2 * 0.08 / (0.9 / 1.7)
    assert window == pytest.approx(33.0, abs=0.05) and epoch_s == pytest.approx(1.5, abs=0.01)
    assert found["cca"] == "cubic"
    assert found["warmup_s"] == pytest.approx(9 * epoch_s + 0.218, abs=0.05)
    assert found["duration_s"] - found["warmup_s"] == pytest.approx(10 * epoch_s, abs=0.01)
    assert (found["has_warmup_s"], found["lasts_s"]) == (0, 10)
    out = fairc("plan", "compared.fexp").out
    assert (
        "(cubic) needs about `warmup = 14s` and 29s in all; the file gives no warm-up and 10 s"
        in out
    )
    enough = fairc("plan", "compared.fexp", "--set", "warmup=15s", "--set", "duration=40s").out
    assert "may not have settled" not in enough


def test_deep_buffers_and_bbr_need_more_time(fairc: Fairc, tmp_path: Path) -> None:
    """BBR's epoch is 10 s, three for the warm-up; CoDel keeps CUBIC's queue at 5 ms, whatever its
    limit.
    """
    spec = COMPARED.replace("DRAWS", "").replace("cubic, reno, vegas", "cubic, bbr")
    (tmp_path / "compared.fexp").write_text(spec)
    found = json.loads(fairc("plan", "compared.fexp", "--format", "json").out)["settling"]
    assert (found["flow"], found["cca"]) == ("a", "bbr")
    assert found["warmup_s"] == pytest.approx(30.2, abs=0.1)
    assert found["duration_s"] == pytest.approx(130.2, abs=0.1)
    (tmp_path / "codel.fexp").write_text(
        COMPARED.replace("DRAWS", "").replace("fifo(1bdp)", "codel")
    )
    found = json.loads(fairc("plan", "codel.fexp", "--format", "json").out)["settling"]
    pipe, rtt_s = (50_000 + 6250) / 1514, 0.045
    epoch_s = 0.3 * pipe / 2 * rtt_s / (0.9 / 1.7)
    assert found["duration_s"] - found["warmup_s"] == pytest.approx(10 * epoch_s, abs=0.01)


def test_what_does_not_depend_on_settling_gets_no_advice(fairc: Fairc, tmp_path: Path) -> None:
    spec = COMPARED.replace("DRAWS", "").replace("[fairness, goodput, queue_delay, fct]", "[fct]")
    (tmp_path / "compared.fexp").write_text(spec)
    assert "settling" not in json.loads(fairc("plan", "compared.fexp", "--format", "json").out)

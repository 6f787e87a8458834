"""A range of repetitions that ends when its claims are decided, with the fake engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pytest

from fairc.runtime.ranges.cells import endings
from fairc.runtime.store.folder import Store, StoreError, read_plan

pytestmark = pytest.mark.usefixtures("without_report")

Fairc = Callable[..., Any]  # conftest.py

FILE = """fexp 1

experiment until {{
  sweep {{ rate = [1Mbit/s, 2Mbit/s] }}
  topology = bottleneck(rate: rate, rtt: 50ms, queue: fifo(2bdp))
  flow a {{ cca = cubic  workload = file(100kB) }}
  flow b {{ cca = bbr    workload = file(100kB) }}
  repeat = 8..{most}
  precision {{ {precision} }}
  measure = [fairness, goodput]
  claim "all get something" {{ holds = median(goodput, flow: a) > {bound} }}
}}
"""


def write(bound: str, most: int = 20, precision: str = "claims = decided") -> str:
    Path("until.fexp").write_text(FILE.format(bound=bound, most=most, precision=precision))
    return "until.fexp"


def cells(run: str) -> list[int]:
    """Return the number of repetitions of each configuration in a run's tables."""
    with duckdb.connect() as connection:
        query = f"SELECT count(*) FROM '{run}/tables/cells.parquet' GROUP BY rate ORDER BY rate"
        return [count for (count,) in connection.execute(query).fetchall()]


def in_the_middle(run: str) -> str:
    """Return a bound that the first configuration leaves undecided: the median of what it has."""
    with duckdb.connect() as connection:
        query = (
            f"SELECT value FROM '{run}/tables/metrics.parquet' JOIN '{run}/tables/cells.parquet'"
            " USING (cell) WHERE metric = 'goodput' AND flow = 'a' AND cells.rate = '1Mbit/s'"
        )
        return f"{median(v for (v,) in connection.execute(query).fetchall()):.0f}bit/s"


def verdicts(fairc: Fairc, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fairc("verdict", run, "--format", "json").out)
    return found


def test_it_ends_early_when_the_claims_are_decided(fairc: Fairc) -> None:
    """Two pairs are at 97.5 % each, which takes 9 values: the look at 12 decides, that at 8
    cannot.
    """
    called = fairc("run", write("1kbit/s"), "-o", "one").require(0)
    assert cells("one") == [12, 12]
    assert "after 8 repetitions: the claim is undecided" in called.err
    assert "after 12 repetitions: the claim is decided" in called.err
    assert "hold simultaneously at every interim analysis" in called.out
    (found,) = verdicts(fairc, "one")["claims"]
    assert found["verdict"] == "holds" and [r["n"] for r in found["configurations"]] == [12, 12]


@pytest.mark.full
def test_it_does_not_end_while_a_claim_is_undecided(fairc: Fairc) -> None:
    assert fairc("run", write("1kbit/s", precision="goodput = 1%  claims = decided")).status == 0
    assert cells("results/until") == [20, 20]
    called = fairc("run", write(in_the_middle("results/until")), "-o", "one").require(0)
    assert cells("one") == [20, 20]
    assert "after 20 repetitions: the claim is undecided" in called.err
    assert verdicts(fairc, "one")["claims"][0]["verdict"] == "undecided"
    (ending,) = endings(Store(Path("one")))
    assert (ending.why, ending.result.undecided) == ("used up", ("all get something",))
    assert fairc("run", "until.fexp", "-o", "one", "--strict").status == 1


def test_values_and_claims_must_both_be_reached(fairc: Fairc) -> None:
    called = fairc("run", write("1kbit/s", precision="goodput = 90%  claims = decided"))
    assert "after 8 repetitions: 2 of 2 configurations are precise enough, the claim is und" in (
        called.err
    )
    assert cells("results/until") == [12, 12]


@pytest.mark.full
def test_verdicts_of_looks_and_of_the_end_are_of_the_same_intervals(fairc: Fairc) -> None:
    """Whatever the bound is: where the range ended early, every claim is decided; used up, one is
    not.
    """
    assert fairc("run", write("1kbit/s", precision="goodput = 1%  claims = decided")).status == 0
    middle = int(in_the_middle("results/until").removesuffix("bit/s"))
    for share in (0.8, 1.0, 1.1):
        fairc("run", write(f"{share * middle:.0f}bit/s"), "-o", "results/until")
        (ending,) = endings(Store(Path("results/until")))
        decided = verdicts(fairc, "results/until")["claims"][0]["verdict"] != "undecided"
        assert decided == (ending.why == "reached"), share


@pytest.mark.full
def test_the_cells_of_a_cluster_end_where_the_run_ends(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    fairc("run", write("1kbit/s"), "-o", "one")
    fairc("compile", "until.fexp", "-o", "plan", "--target", "json")
    assert fairc("cell", "plan", "--index", "0-15").status == 0
    called = fairc("run", "plan", "--collect", "-o", "two")
    assert called.status == 1 and "missing: 8 of 40: 16-23" in called.err
    assert fairc("cell", "plan", "--index", "16-31").status == 0
    called = fairc("run", "plan", "--collect", "-o", "two").require(0)
    assert "24 cells: 24 valid" in called.out
    assert verdicts(fairc, "two")["claims"] == verdicts(fairc, "one")["claims"]


@pytest.mark.full
def test_a_pack_of_it_is_verified(fairc: Fairc) -> None:
    fairc("run", write("1kbit/s"), "-o", "one")
    assert fairc("pack", "one", "-o", "one.zip").status == 0
    called = fairc("verify", "one.zip", "--all", "--format", "json").require(0)
    found = {row["what"]: row for row in json.loads(called.out)["checks"]}
    assert "24 run again: 24 equal" in found["cells"]["found"]
    assert found["claims"]["verdict"] == "holds"


def test_a_fixed_number_ends_nothing_and_has_ordinary_intervals(fairc: Fairc) -> None:
    called = fairc("run", write("1kbit/s"), "-o", "one", "--set", "repeat=8")
    assert "precision-ignored" in called.err and cells("one") == [8, 8]
    assert verdicts(fairc, "one")["claims"][0]["verdict"] == "holds"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"per": ["rate"]}, "end the repetitions of all"),
        ({"claims": False, "goals": []}, "nothing ends its repetitions"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(
    fairc: Fairc, change: dict[str, Any], words: str
) -> None:
    fairc("compile", write("1kbit/s"), "-o", "plan", "--target", "json")
    path = Path("plan/plan.json")
    plan = json.loads(path.read_text())
    assert plan["precision"] == {"least": 8, "goals": [], "per": [], "claims": True}
    path.write_text(json.dumps(plan | {"precision": plan["precision"] | change}))
    with pytest.raises(StoreError, match=words):
        read_plan(Path("plan"))
    path.write_text(json.dumps({**plan, "claims": []}))
    with pytest.raises(StoreError, match="and it has none"):
        read_plan(Path("plan"))

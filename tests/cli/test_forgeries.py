"""Who forges results and mends every hash is found: by `verify`, and what exchanges cells by
`report` and `table` too.
"""

from __future__ import annotations

import json
import random
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import forgery
import pytest
from representatives import few

from fairc.runtime.pack import checking

from .conftest import packed_once

pytestmark = pytest.mark.usefixtures("without_report")
Fairc = Callable[..., Any]  # conftest.py
RUN, PACK, FORGED = Path("results/tiny"), Path("tiny.zip"), Path("forged.zip")
CLAIM = (
    '  claim "a is slow" { where = rate == 1Mbit/s  holds = median(goodput, flow: a) < 5Mbit/s }\n'
)


@pytest.fixture
def packed(fairc: Fairc, kept: Path) -> Fairc:
    """A run of eight repetitions with a claim that holds, and its pack."""
    text = Path("tiny.fexp").read_text()
    Path("tiny.fexp").write_text(text.replace("repeat  = 3", f"repeat  = 8\n{CLAIM}"))
    return packed_once(fairc, kept, 0)


def forged(name: str, seed: int = 1) -> Path:
    """Write a forged pack."""
    files = forgery.read(PACK)
    forgery.FORGERIES[name](random.Random(seed), files)
    forgery.mend(files)
    forgery.write(FORGED, files)
    return FORGED


def forged_run(name: str, seed: int = 1) -> None:
    """Forge the run directory."""
    files = forgery.folder_files(RUN)
    forgery.FORGERIES[name](random.Random(seed), files)
    forgery.mend(files)
    forgery.write_folder(RUN, files)


def rows(called: Any) -> dict[str, dict[str, Any]]:
    return {row["what"]: row for row in json.loads(called.out)["checks"]}


def test_who_only_mends_hashes_has_changed_nothing(packed: Fairc) -> None:
    """The forgeries below are found by what they change, not by how their packs are written."""
    files = forgery.read(PACK)
    forgery.mend(files)
    forgery.write(FORGED, files)
    called = packed("verify", FORGED, "--all").require(0)
    first = called.out.splitlines()[0]
    assert first == (
        "forged.zip holds: 16 of the plan's 16 cells; 16 of them run again, 16 equal to the"
        " byte; tables, claims and"
        " page follow from the cells"
    )


FOUND_BY = {
    **dict.fromkeys(("exchanged ids", "relabelled", "relabelled with hashes", "claim"), "plan"),
    "cherry-picked with the plan": "plan",
    **dict.fromkeys(("exchanged", "cherry-picked", "twice", "no record"), "results"),
    **dict.fromkeys(("field image", "field emitted", "field engine", "field analysis"), "results"),
    "not a number": "files",
    "a name twice": "files",
    "no records": "files",
    **dict.fromkeys(("page", "figure", "pdf", "more"), "page"),
    "table": "tables",
    **dict.fromkeys(("README", "citation", "metadata"), "texts"),
    "claims.json": "claims",
}
"""Found without running a cell.

All others rewrite results as only an analysis could: the cells are run again.
"""


@pytest.mark.parametrize(
    "name",
    few(
        forgery.FORGERIES,
        # One for each row that finds them.
        *("relabelled", "cherry-picked", "not a number", "page", "table", "README"),
        *("claims.json", "better"),
    ),
)
def test_a_forged_pack_does_not_hold(packed: Fairc, name: str) -> None:
    found_by = FOUND_BY.get(name, "cells")
    which = ("--all",) if found_by == "cells" else ("--sample", "0")
    called = packed("verify", forged(name), *which, "--format", "json").require(1)
    document = json.loads(called.out)
    assert not document["holds"] and document["proved"].startswith("does not hold: ")
    assert rows(called)[found_by]["verdict"] == "differs", called.out


IN_RUNS = [
    *forgery.EXCHANGED,
    *forgery.CHERRY_PICKED,
    "better",
    "twice",
    "series",
    "table",
    "no records",
]


@pytest.mark.parametrize("name", few(IN_RUNS, "exchanged", "better", "table"))
def test_a_forged_run_is_not_whole(packed: Fairc, name: str) -> None:
    """Its raw artefacts are there, so nobody has to run anything."""
    forged_run(name)
    called = packed("verify", RUN).require(1)
    assert not called.out.splitlines()[0].startswith(f"{RUN} is whole")


@pytest.mark.parametrize(
    "name", few(["exchanged", "exchanged ids", "relabelled", "relabelled with hashes"], "exchanged")
)
@pytest.mark.parametrize("command", ["report", "table"])
def test_no_report_or_table_is_made_of_exchanged_cells(
    packed: Fairc, command: str, name: str
) -> None:
    forged_run(name)
    arguments = ("report", RUN) if command == "report" else ("table", RUN, "goodput")
    called = packed(*arguments).require(2)
    assert "it is the result of the cell" in called.err or "has been changed" in called.err


def test_run_runs_exchanged_cells_again(packed: Fairc) -> None:
    before = forgery.folder_files(RUN)
    forged_run("exchanged")
    called = packed("run", "tiny.fexp")
    assert called.status == 0 and "2 cells to run; 14 already done" in called.err
    after = forgery.folder_files(RUN)
    series = [n for n in before if n.startswith("cells/") and n.endswith(".parquet")]
    assert series
    assert all(after[name] == before[name] for name in series)
    assert packed("verify", RUN).status == 0


def test_who_deletes_the_worst_cells_and_packs_anew_decides_no_claim(packed: Fairc) -> None:
    """The tool itself writes a consistent pack of what is left, and says what it lacks."""
    assert packed("verdict", RUN).out.startswith("1 claim: 1 holds")
    forged_run("cherry-picked")
    assert packed("report", RUN).status == 0
    called = packed("verdict", RUN)
    assert "5 of its 8 repetitions are missing" in called.out and "is undecided" in called.out
    called = packed("pack", RUN, "-o", FORGED)
    assert called.status == 0 and "5 of the plan's 16 cells have no result" in called.err
    called = packed("verify", FORGED, "--all", "--format", "json").require(1)
    document = json.loads(called.out)
    assert document["proved"].startswith("does not hold: 11 of the plan's 16 cells; ")
    assert "5 missing" in rows(called)["results"]["found"]
    assert "1 is undecided" in rows(called)["claims"]["found"]


def test_invalid_cells_are_left_out_and_counted(packed: Fairc) -> None:
    forged_run("left out")
    packed("report", RUN)
    called = packed("verdict", RUN)
    assert "5 invalid" in called.out and "missing" not in called.out


def test_a_sample_is_drawn_anew_each_time() -> None:
    cells: Any = [type("Cell", (), {"id": str(n)}) for n in range(24)]
    draws = [tuple(c.id for c in checking.drawn(cells, 3)) for _ in range(400)]
    assert all(len(set(draw)) == 3 and sorted(draw, key=int) == list(draw) for draw in draws)
    assert len(set(draws)) > 200  # of 2024
    assert set(Counter(name for draw in draws for name in draw)) == {c.id for c in cells}
    assert checking.drawn(cells, None) == checking.drawn(cells, 24) == cells


@pytest.mark.parametrize(
    ("total", "number", "several"), [(7, 3, 2), (6, 1, 5), (5, 4, 1), (4, 0, 2)]
)
def test_the_probability_of_detection(total: int, number: int, several: int) -> None:
    draws = list(combinations(range(total), number))
    met = sum(any(one < several for one in draw) for draw in draws)
    assert checking.detection(total, number, several) == pytest.approx(met / len(draws))


def test_the_first_line_says_how_much_was_proved(packed: Fairc) -> None:
    called = packed("verify", PACK, "--sample", "6")
    first = called.out.splitlines()[0]
    assert called.status == 0
    assert "6 of them run again, 6 equal to the byte" in first
    assert "one forged cell among the 16 would be found with a probability of 38%" in first
    called = packed("verify", PACK, "--sample", "0")
    assert (
        "no cell was run again, so their numbers are the pack's word" in called.out.splitlines()[0]
    )


@pytest.mark.full
def test_another_build_agrees_and_says_so(packed: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairc_fake.engine.FakeEngine.identity", "another build")
    called = packed("verify", PACK, "--sample", "1")
    first = called.out.splitlines()[0]
    assert called.status == 0, called.out
    assert "8 of them run again, on another build, where" in first
    called = packed("verify", forged("left out"), "--all", "--format", "json").require(1)
    assert "5 count on one side only" in rows(called)["cells"]["found"]
    called = packed("verify", forged("better"), "--all", "--format", "json")
    assert called.status == 1 and rows(called)["cells"]["verdict"] != "holds"


@pytest.mark.full
def test_raw_artefacts_in_a_pack_prove_its_results(packed: Fairc) -> None:
    assert packed("pack", RUN, "--with-raw").status == 0
    called = packed("verify", PACK, "--sample", "0", "--format", "json")
    assert rows(called)["raw artefacts"]["found"].startswith(
        "the results of 16 cells derived again"
    )
    assert rows(called)["raw artefacts"]["verdict"] == "holds"
    for name in ("better", "series", "exchanged and renamed"):
        called = packed("verify", forged(name), "--sample", "0", "--format", "json")
        assert called.status == 1 and rows(called)["raw artefacts"]["verdict"] == "differs"


@pytest.mark.full
def test_repetitions_that_a_spec_excludes_are_named(packed: Fairc) -> None:
    text = Path("tiny.fexp").read_text()
    Path("tiny.fexp").write_text(text.replace("  repeat", "  exclude repetition == 3\n  repeat"))
    assert packed("run", "tiny.fexp", "-o", "fewer").status == 0
    assert packed("pack", "fewer", "-o", "fewer.zip").status == 0
    called = packed("verify", "fewer.zip", "--sample", "0", "--format", "json").require(0)
    assert "excludes 2 repetitions" in rows(called)["plan"]["found"]


def test_a_run_without_its_last_cells_is_not_complete(packed: Fairc) -> None:
    assert packed("run", "tiny.fexp", "-o", "part", "--where", "repetition <= 2").status == 0
    called = packed("verify", "part")
    first = called.out.splitlines()[0]
    assert called.status == 1
    assert first.startswith("part is not complete: 4 of the plan's 16 cells")
    assert "12 cells have no result; to run them: fairc run part -o part" in called.out


def test_the_repair_that_is_printed_repairs_the_folder(packed: Fairc) -> None:
    place = Path("my runs/one")
    place.parent.mkdir()
    shutil.move(RUN, place)
    raw = min(place.glob("cells/*/raw.tar.zst"))
    raw.write_bytes(raw.read_bytes()[:-1] + b"x")
    shutil.rmtree(max(place.glob("cells/*")))
    (damaged,) = json.loads(packed("verify", place, "--format", "json").out)["damaged"]
    remove, run = map(shlex.split, damaged["repair"].split("; "))
    subprocess.run(remove, check=True)
    assert run[0] == "fairc" and packed(*run[1:]).status == 0
    assert packed("verify", place).status == 0
    assert not RUN.exists()


@pytest.mark.full
def test_a_pack_has_its_phase_check_and_a_forged_one_does_not_hold(packed: Fairc) -> None:
    assert packed("run", "tiny.fexp", "--phase-check").status == 0
    assert packed("pack", RUN).status == 0
    called = packed("verify", PACK, "--sample", "1", "--format", "json").require(0)
    assert rows(called)["phase check"]["found"].startswith("16 of the plan's 16 cells")
    assert rows(called)["phase check cells"]["verdict"] == "holds"
    inner = "phase-check/"
    for name in ("exchanged", "cherry-picked", "better"):
        files = forgery.read(PACK)
        checked = {n.removeprefix(inner): files.pop(n) for n in [*files] if n.startswith(inner)}
        forgery.FORGERIES[name](random.Random(1), checked)
        forgery.mend(checked)
        files |= {inner + n: content for n, content in checked.items()}
        forgery.mend(files)
        forgery.write(FORGED, files)
        called = packed("verify", FORGED, "--all", "--format", "json")
        assert called.status == 1, name
        found = rows(called)["phase check cells" if name == "better" else "phase check"]
        assert found["verdict"] == "differs"


def test_a_pack_that_is_unpacked_brings_no_tables_and_no_page(packed: Fairc) -> None:
    files = forgery.read(PACK)
    for name in ("page", "table", "figure"):
        forgery.FORGERIES[name](random.Random(1), files)
    forgery.mend(files)
    forgery.write(FORGED, files)
    shutil.move(RUN, "before")
    expected = packed("table", "before", "goodput").out
    assert packed("report", FORGED).status == 0
    assert (RUN / "report.html").read_bytes() != files["report.html"]
    assert (RUN / "figures/one.svg").read_bytes() != files["figures/one.svg"]
    assert packed("table", RUN, "goodput").out == expected

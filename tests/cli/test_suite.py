"""`fairc suite`: folders of experiments and of criteria that their claims decide."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torture.faults.specs import at_most

from fairc.dsl import load_all
from fairc.dsl import read as read_spec
from fairc.runtime.store.folder import Store
from fairc.runtime.suites.folder import read, shipped
from fairc.runtime.suites.standing import Variant, headings

Fairc = Callable[..., Any]  # conftest.py

SPEC = """fexp 1
let cca  = cubic
let over = tcp
template base {
  topology = bottleneck(rate: rate, rtt: 50ms, queue: fifo(2bdp))
  sweep { rate = [1Mbit/s, 2Mbit/s] }
  flow a { over = over  cca = cca  workload = file(100kB) }
  repeat  = 8
  measure = [goodput]
  claim "no faster than the link" { holds = median(goodput(a)) <= rate }
}
experiment one extends base {
  claim "twice as fast as the link" { holds = median(goodput(a)) > 2 * rate }
}
experiment two extends base { title = "TITLE" }
experiment broken extends base { flow a { workload = fil(1MB) } }
"""
TOML = """title = "Mine"
source = "RFC 0"
cost = "seconds"

[parameters.cca]
default = "cubic"
about = "the controller"

[parameters.over]
default = "tcp"
about = "its transport"

[quick]
rate = "[1Mbit/s]"

[member.one]
spec = "a.fexp"

[member.second]
spec = "a.fexp"
experiment = "two"

[member.broken]
spec = "a.fexp"

[criterion."5.1"]
title = "Slow"
members = ["second"]

[criterion."5.2"]
title = "Fast"
members = ["one", "second"]
claims = ["twice as fast as the link"]

[criterion."5.3"]
title = "Broken"
members = ["broken"]

[criterion."5.4"]
title = "Deployment"
reason = "it is a text"
"""
RESULTS = Path("results/suites/mine")


@pytest.fixture(autouse=True)
def folder(fairc: Fairc) -> Path:
    place = Path("mine")
    place.mkdir()
    (place / "a.fexp").write_text(SPEC, encoding="utf-8")
    (place / "suite.toml").write_text(TOML, encoding="utf-8")
    return place


def standings() -> dict[str, dict[str, str]]:
    """Return how each criterion stands, by variant, from the Markdown."""
    lines = (RESULTS / "report.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines if line[:1] == "|"]
    first = rows[: next(i for i, row in enumerate(rows) if row[0] == "scenario")]
    heads = first[0][2:]
    return {head: {row[0]: row[2 + place] for row in first[2:]} for place, head in enumerate(heads)}


@pytest.mark.usefixtures("without_report")
def test_members_run_and_criteria_are_decided(fairc: Fairc) -> None:
    called = fairc("suite", "run", "mine").require(1)
    assert "error[unknown-workload]" in called.err and "did you mean `file`?" in called.err
    assert "1 refuted, 1 broken, 1 holds, 1 not tested" in called.out
    here = "cca=cubic, over=tcp"
    expected = {"5.1": "holds", "5.2": "refuted", "5.3": "broken", "5.4": "not tested"}
    assert standings() == {here: expected}

    page = (RESULTS / "report.html").read_text(encoding="utf-8")
    assert "no workload is called" in page and "it is a text" in page
    link = "cca%3Dcubic%2Cover%3Dtcp/a/one/report.html"
    assert f'href="{link}"' in page
    assert (RESULTS / "cca=cubic,over=tcp/a/one/report.html").is_file()

    (cases,) = ET.parse(RESULTS / "junit.xml").getroot()
    assert cases.get("name") == here
    counts = [cases.get(each) for each in ("tests", "failures", "errors", "skipped")]
    assert counts == ["4", "1", "1", "1"]

    bencher = json.loads((RESULTS / "bencher.json").read_text(encoding="utf-8"))
    name = f"mine/{here}/second/no faster than the link/rate = 2Mbit/s"
    values = bencher[name]["value (bit/s)"]
    assert set(values) == {"value", "lower_value", "upper_value"}
    assert values["lower_value"] <= values["value"] <= values["upper_value"] <= 2e6


@pytest.mark.usefixtures("without_report")
def test_each_combination_of_parameters_has_its_own_results(fairc: Fairc) -> None:
    """A controller that does not exist over a transport is named, and not called broken."""
    assert fairc("suite", "run", "mine", "--only", "one", "--only", "second").status == 1
    over = fairc(
        "suite", "run", "mine", "--set", "cca=bbr3", "--only", "one", "--only", "second"
    ).require(0)
    assert "one: not applicable: `bbr3` is not available over TCP" in over.err
    fairc("suite", "run", "mine", "--set", "cca=bbr3", "--set", "over=quic", "--only", "second")
    found = standings()
    assert found["cca=cubic, over=tcp"]["5.3"] == "not run"
    assert found["cca=bbr3, over=tcp"]["5.1"] == "not applicable"
    assert found["cca=bbr3, over=quic"]["5.1"] in ("holds", "undecided")
    assert found["cca=bbr3, over=quic"]["5.2"] == "not run"
    again = fairc("suite", "run", "mine", "--only", "second")
    assert "cells to run" not in again.err


def test_columns_name_what_distinguishes_them() -> None:
    """A draft has room for columns of ten controllers, not for what all of them share."""

    def variant(cca: str, over: str = "quic", *, quick: bool = True) -> Variant:
        return Variant(Path(), {"cca": cca, "over": over}, quick)

    assert headings([variant("bbr3")]) == ("", ["cca=bbr3, over=quic, quick"])
    assert headings([variant("bbr3"), variant("copa")]) == (
        "over=quic, quick",
        ["cca=bbr3", "cca=copa"],
    )
    both = [variant("bbr"), variant("bbr", "tcp"), variant("bbr", "tcp", quick=False)]
    assert headings(both) == ("cca=bbr", ["over=quic, quick", "over=tcp, quick", "over=tcp"])


@pytest.mark.usefixtures("without_report")
def test_what_changed_since_a_run_does_not_count(fairc: Fairc, folder: Path) -> None:
    here = "cca=cubic, over=tcp"
    chosen = ("--only", "one", "--only", "second")
    fairc("suite", "run", "mine", *chosen)
    assert standings()[here]["5.1"] == "holds"
    text = SPEC.replace("TITLE", "Other")
    (folder / "a.fexp").write_text(text, encoding="utf-8")
    assert fairc("suite", "report", "mine").status == 0
    assert standings()[here]["5.1"] == standings()[here]["5.2"] == "not run"
    again = fairc("suite", "run", "mine", "--only", "second")
    assert "planned again" in again.err and "cells to run" not in again.err
    assert standings()[here]["5.1"] == "holds" and standings()[here]["5.2"] == "not run"


@pytest.mark.usefixtures("without_report")
def test_results_inside_of_the_suite_are_no_part_of_it(fairc: Fairc) -> None:
    """Run directories have copies of the `.fexp` files."""
    for place in ("mine/out", "mine/results"):
        fairc("suite", "run", "mine", "--only", "second", "-o", place)
        again = fairc("suite", "run", "mine", "--only", "second", "-o", place)
        assert "planned again" not in again.err and "1 holds" in again.out


@pytest.mark.usefixtures("without_report")
def test_quick_sets_what_the_suite_says(fairc: Fairc) -> None:
    planned = json.loads(fairc("suite", "plan", "mine", "--quick", "--format", "json").out)
    assert [each.get("cells") for each in planned["members"]] == [8, 8, None]
    assert fairc("suite", "run", "mine", "--quick", "--only", "second").status == 0
    assert list(standings()) == ["cca=cubic, over=tcp, quick"]
    plan = json.loads((RESULTS / "cca=cubic,over=tcp,quick/a/two/plan.json").read_text())
    values = {each["name"]: each["value"] for each in plan["settings"]}
    assert values == {"cca": "cubic", "over": "tcp", "rate": "[1Mbit/s]"}


@pytest.mark.usefixtures("without_report")
def test_cells_of_a_suite_keep_no_raw_artefacts(fairc: Fairc) -> None:
    """What is left decides the criteria, and nothing runs again."""
    arguments = ("suite", "run", "mine", "--quick", "--only", "second")
    variant = RESULTS / "cca=cubic,over=tcp,quick"
    fairc(*arguments, "--keep-raw", "-o", "kept")
    assert len(list(Path("kept").rglob("raw.tar.zst"))) == 8
    assert "1 holds" in fairc(*arguments).out
    assert not list(variant.rglob("raw.tar.zst"))
    again = fairc(*arguments)
    assert "1 holds" in again.out and "cells to run" not in again.err
    verified = fairc("verify", variant / "a/two")
    assert verified.status == 0 and "no result derived" in verified.out


@pytest.mark.usefixtures("without_report")
def test_an_experiment_that_another_process_runs_is_not_broken(fairc: Fairc) -> None:
    arguments = ("suite", "run", "mine", "--quick", "--only", "second")
    variant = RESULTS / "cca=cubic,over=tcp,quick"
    assert fairc(*arguments).status == 0
    before = (variant / "suite.json").read_bytes()
    with Store(variant / "a/two"):
        called = fairc(*arguments)
    assert called.status == 2 and "is being written by another fairc" in called.err
    assert (variant / "suite.json").read_bytes() == before


def test_plan_says_what_is_broken(fairc: Fairc) -> None:
    called = fairc("suite", "plan", "mine").require(2)
    assert "broken: broken: no workload is called `fil`" in called.out
    assert "2 experiments: at most 32 cells" in called.out and "with --keep-raw" in called.out
    assert not Path("results").exists()


@pytest.mark.full
def test_the_pack_of_a_file_of_a_suite_is_verified(fairc: Fairc) -> None:
    only = ("--only", "one", "--only", "second")
    fairc("suite", "run", "mine", "--quick", "--keep-raw", *only)
    assert fairc("pack", RESULTS / "cca=cubic,over=tcp,quick/a", "-o", "a.zip").status == 0
    verified = fairc("verify", "a.zip", "--sample", "1")
    assert "missing: broken" in verified.out


WRONG = {
    'titel = "x"\n' + TOML: (1, "`titel` is no key of suite.toml", "did you mean `title`?"),
    TOML.replace('title = "Mine"\n', ""): (1, "`title` is missing", "write it in quotes"),
    TOML.replace('"RFC 0"', "7"): (2, "`source` is not a text", "write it in quotes"),
    TOML.replace('"RFC 0"', "RFC 0"): (2, "not TOML", "texts are in quotes"),
    TOML.replace('"a.fexp"', '"../a.fexp"', 1): (17, "own folder", "without folders"),
    TOML.replace('"a.fexp"', '"b.fexp"', 1): (17, "there is no file `b.fexp`", "`a.fexp`"),
    TOML.replace('experiment = "two"', 'experiment = "one"'): (
        19,
        "runs the experiment",
        "extends",
    ),
    TOML.replace('rate = "[1', 'cca = "[1'): (14, "`cca` is a parameter", "--set"),
    TOML.replace('rate = "[1Mbit/s]"', "rate = 1"): (13, "`quick` is not a table", 'repeat = "3"'),
    TOML.replace('"one", "second"', '"onee"'): (32, "no member `onee`", "did you mean `one`?"),
    TOML.replace('claims = ["twice', 'claims = ["thrice'): (33, "no member makes", "copy its text"),
    TOML.replace("reason = ", "run = "): (41, "`run` is no key of [criterion.5.4]", "reason"),
    TOML.replace('reason = "it is a text"\n', ""): (39, "needs either members", "reason"),
    TOML.replace("[member.one]", '[member."o ne"]'): (16, "`o ne` is not a name", "letters"),
    TOML.replace('"5.4"', r'"5\n4"'): (1, r"a criterion is called '5\n4'", "a text of one line"),
}


@pytest.mark.parametrize("text", WRONG, ids=[message for _, message, _ in WRONG.values()])
def test_what_is_wrong_with_a_suite_is_said_with_its_line(
    fairc: Fairc, folder: Path, text: str
) -> None:
    line, message, help = WRONG[text]
    (folder / "suite.toml").write_text(text, encoding="utf-8")
    called = fairc("suite", "run", "mine").require(2)
    first, second = called.err.splitlines()
    assert first.startswith("error: mine/suite.toml:") and message in first
    assert f"suite.toml:{line}: " in first
    assert second.startswith("help: ") and help in second
    assert not Path("results").exists()


def test_a_number_of_thousands_of_digits(fairc: Fairc, folder: Path) -> None:
    (folder / "suite.toml").write_text(TOML.replace('"RFC 0"', "9" * 5000))
    called = fairc("suite", "run", "mine")
    assert called.status == 2
    assert "suite.toml: a number in it has thousands of digits" in called.err


def test_a_key_of_many_spaces(fairc: Fairc, folder: Path) -> None:
    """A pattern that begins at each of them takes minutes."""
    key = f'"{" " * 200_000}" = 1\n'
    (folder / "suite.toml").write_text(key + key)
    with at_most(20):
        assert "not TOML" in fairc("suite", "run", "mine").err


def test_a_slip_in_a_value_is_no_column_of_the_page(fairc: Fairc) -> None:
    called = fairc("suite", "run", "mine", "--set", "cca=cubik").require(2)
    assert "did you mean `cubic`?" in called.err and "cells to run" not in called.err
    assert not Path("results").exists()


def test_wrong_names(fairc: Fairc, folder: Path) -> None:
    unknown = fairc("suite", "run", "rfc9742")
    assert unknown.status == 2 and "there is no suite `rfc9742`" in unknown.err
    assert "did you mean `cca`?" in fairc("suite", "run", "mine", "--set", "cc=reno").err
    assert "its parameters are cca, over" in fairc("suite", "plan", "mine", "--set", "x=1").err
    assert "did you mean `one`?" in fairc("suite", "run", "mine", "--only", "ome").err
    assert "has no results" in fairc("suite", "report", "mine").err
    (folder / "suite.toml").unlink()
    (folder / "suite.toml").symlink_to("/etc/hostname")
    assert "it has no regular file suite.toml" in fairc("suite", "run", "mine").err


def test_a_foreign_state_or_page_is_not_replaced(fairc: Fairc) -> None:
    state = RESULTS / "cca=cubic,over=tcp/suite.json"
    for mine in (state, RESULTS / "report.html"):
        mine.parent.mkdir(parents=True, exist_ok=True)
        mine.write_text("mine")
        refused = fairc("suite", "run", "mine")
        assert refused.status == 2 and "move or remove it" in refused.err
        assert "cells to run" not in refused.err and mine.read_text() == "mine"
        mine.unlink()


def test_nothing_is_written_through_a_link_in_results(fairc: Fairc, tmp_path: Path) -> None:
    """The folder of a suite may be a stranger's, and bring its results."""
    variant, victim = RESULTS / "cca=cubic,over=tcp", tmp_path / "victim"
    unfinished = variant / ".partial/suite.json.part"
    unfinished.parent.mkdir(parents=True)
    victim.write_text("mine")
    unfinished.symlink_to(victim)
    fairc("suite", "run", "mine", "--only", "broken")
    assert victim.read_text() == "mine"
    assert not unfinished.is_symlink() and (variant / "suite.json").is_file()
    victim.unlink()
    victim.mkdir()
    for place in (variant / ".partial", variant):
        shutil.rmtree(place)
        place.symlink_to(victim)
        refused = fairc("suite", "run", "mine", "--only", "broken")
        assert refused.status == 2 and f"{place} is a link" in refused.err
        assert not [*victim.iterdir()]
        place.unlink()
        place.mkdir()


def test_a_folder_with_a_name_that_a_terminal_obeys(
    fairc: Fairc, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = folder.rename("a\x1b[31mb")
    monkeypatch.chdir(odd)
    refused = fairc("suite", "run", ".")
    assert refused.status == 2 and r"'a\x1b[31mb'" in refused.err


def test_list_names_what_is_shipped(fairc: Fairc) -> None:
    listed = json.loads(fairc("suite", "list", "--format", "json").out)
    assert {each["name"] for each in listed} == set(shipped())
    text = fairc("suite", "list").out
    assert all(each["title"] in text for each in listed)


OVER_TCP = {"multipath"}
"""Members for controllers over TCP alone."""


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_suite_compiles_and_decides_its_criteria(name: str) -> None:
    """With what `--quick` sets, too: every criterion that is tested has a claim left."""
    suite = read(shipped()[name])
    for quick in (False, True):
        claims: dict[str, set[str]] = {}
        for member in suite.members:
            source = read_spec(suite.folder / member.spec)
            settings = suite.settings(member, {}, quick=quick)
            if member.name in OVER_TCP:
                settings |= {"cca": "cubic", "over": "tcp"}
            experiments, found = load_all(source, settings, member.experiment)
            assert not found.errors, [error.message for error in found.errors]
            (experiment,) = experiments
            claims[member.name] = {claim.text for claim in experiment.claims}
        for criterion in suite.criteria:
            of = set().union(*(claims[member] for member in criterion.members))
            assert criterion.reason or of, criterion.name
            assert set(criterion.claims) <= of, criterion.name
    decides = {member for criterion in suite.criteria for member in criterion.members}
    assert {member.name for member in suite.members} <= decides


def test_shipped_suites_are_found_through_a_link(fairc: Fairc) -> None:
    """As the package has them, and as a copy of the user's own."""
    for name, place in shipped().items():
        copy = Path("copy", name)
        shutil.copytree(place, copy)
        assert read(copy).name == name

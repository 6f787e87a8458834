"""`fairc pack`, and packs where a run directory is expected."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forgery
import pytest
from representatives import few

from fairc.runtime.pack import zipped
from fairc.words.metrics import METRICS

from .conftest import packed_once

Fairc = Callable[..., Any]  # conftest.py
PACK = Path("tiny.zip")


def test_a_pack_holds_the_study(packed: Fairc) -> None:
    with zipfile.ZipFile(PACK) as opened:
        names = set(opened.namelist())
        readme = opened.read("README.md").decode()
    assert {"plan.json", "lock.json", "report.html", "spec/tiny.fexp", "SHA256SUMS"} <= names
    assert {"README.md", "LICENSE", "CITATION.cff", "ro-crate-metadata.json"} <= names
    assert "programs/cells/fairc-endpoints" in names
    assert sum(name.startswith("cells/") and name.endswith("result.json") for name in names) == 6
    assert not any(name.endswith("raw.tar.zst") for name in names)
    assert "| goodput | 1Mbit/s | a |" in readme
    before = PACK.read_bytes()
    assert packed("pack", "results/tiny", "-o", "again.zip").status == 0
    assert Path("again.zip").read_bytes() == before


def test_a_pack_is_verified_without_trust(packed: Fairc) -> None:
    called = packed("verify", PACK, "--all", "--format", "json")
    document = json.loads(called.out)
    assert called.status == 0, called.out
    rows = ("files", "plan", "results", "tables", "page", "programs", "texts", "endpoints", "cells")
    assert {row["what"]: row["verdict"] for row in document["checks"]} == dict.fromkeys(
        rows, "holds"
    )
    (cells,) = [row["found"] for row in document["checks"] if row["what"] == "cells"]
    assert cells == "6 run again: 6 equal to the byte, wall times aside"


@pytest.mark.full
def test_a_pack_with_a_whole_report_is_verified(fairc: Fairc) -> None:
    """It is drawn three times."""
    assert fairc("run", "tiny.fexp").status == 0
    assert fairc("pack", "results/tiny").status == 0
    called = fairc("verify", PACK, "--sample", "0", "--format", "json").require(0)
    (page,) = [row for row in json.loads(called.out)["checks"] if row["what"] == "page"]
    assert page["verdict"] == "holds"


def changed(name: str, old: bytes, new: bytes) -> Path:
    """Return a pack with a file that has been edited, and hashes that fit."""
    with zipfile.ZipFile(PACK) as opened:
        files = {n: opened.read(n) for n in opened.namelist()}
    (place,) = [n for n in files if n.endswith(name) and old in files[n]][:1]
    files[place] = files[place].replace(old, new)
    forgery.mend(files)
    path = Path("changed.zip")
    forgery.write(path, files)
    return path


def test_an_edited_result_is_found_by_running_it_again(packed: Fairc) -> None:
    with zipfile.ZipFile(PACK) as opened:
        name = next(n for n in opened.namelist() if n.endswith("result.json"))
        value = json.loads(opened.read(name))["metrics"][0]["value"]
    path = changed("result.json", json.dumps(value).encode(), b"0.123456")
    called = packed("verify", path, "--all").require(1)
    assert "5 equal to the byte" in called.out


def test_an_edited_spec_gives_another_plan(packed: Fairc) -> None:
    called = packed("verify", changed("tiny.fexp", b"100kB", b"200kB"), "--sample", "0").require(1)
    assert "0 of the pack's 6 are among them" in called.out


def test_run_and_report_take_a_pack(packed: Fairc) -> None:
    called = packed("run", PACK, "-o", "again").require(0)
    assert "6 cells: 6 valid" in called.out
    assert Path("again/spec/tiny.fexp").is_file()
    Path("results/tiny").rename("results/other")
    assert packed("report", PACK).status == 0
    assert Path("results/tiny/report.html").is_file()


def test_more_repetitions_of_a_pack_are_run_from_its_file(packed: Fairc) -> None:
    called = packed("run", PACK, "-o", "mine", "--set", "repeat=4").require(2)
    assert "fairc run mine/spec/tiny.fexp -o mine --set" in called.err
    called = packed("run", "mine/spec/tiny.fexp", "-o", "mine", "--set", "repeat=4").require(0)
    assert "2 cells to run; 6 already done" in called.err


def test_a_folder_with_something_else_is_left_alone(packed: Fairc) -> None:
    Path("here").mkdir()
    Path("here/mine.txt").write_text("mine")
    called = packed("run", PACK, "-o", "here").require(2)
    assert "holds something other" in called.err
    assert [path.name for path in Path("here").iterdir()] == ["mine.txt"]


def test_wrong_use(packed: Fairc) -> None:
    for arguments, words in (
        (("pack", "results/tiny", "-o", "x.tar"), "`x.tar` has no `.zip`"),
        (("pack", "nothing"), "nothing holds no plan"),
        (("verify", "results/tiny", "--all"), "are for packs"),
        (("verify", PACK, "--all", "--sample", "2"), "--all and --sample contradict each other"),
    ):
        called = packed(*arguments)
        assert called.status == 2 and words in called.err


@pytest.mark.parametrize(
    ("engine", "words"),
    few(
        [
            ("mininet", "runs on this machine's kernel"),
            ("docker", "kernel"),
            ("theirs", "no engine"),
        ],
        ("mininet", "runs on this machine's kernel"),
    ),
)
def test_a_pack_chooses_no_engine_that_touches_this_machine(
    packed: Fairc, monkeypatch: pytest.MonkeyPatch, engine: str, words: str
) -> None:
    """Nor one of a plug-in, which may do anything: neither `verify` nor `run` begins a cell."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("an engine was made")

    monkeypatch.setattr("fairc.runtime.engines.make", never)
    path = changed("plan.json", b'"engine": "fake"', f'"engine": "{engine}"'.encode())
    monkeypatch.delenv("FAIRC_ENGINE")
    called = packed("verify", path).require(1)
    assert words in called.out
    if engine != "docker":
        assert packed("run", path, "-o", "theirs").status == 2


def test_a_link_beside_the_spec_is_not_packed(packed: Fairc, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    Path("results/tiny/spec/more.txt").symlink_to(tmp_path / "secret")
    before = PACK.read_bytes()
    assert packed("pack", "results/tiny").status == 0
    assert PACK.read_bytes() == before


@pytest.mark.parametrize(
    "name", ["report.html", "spec/tiny.fexp", "tables", "cells/*/slots.parquet"]
)
def test_a_link_in_a_run_puts_no_file_of_this_machine_into_a_pack(
    packed: Fairc, tmp_path: Path, name: str
) -> None:
    (place,) = list(Path("results/tiny").glob(name))[:1] or [Path("results/tiny") / name]
    secret = tmp_path / "secret"
    if place.is_dir():
        place.rename(secret)
    else:
        place.unlink(missing_ok=True)
        secret.write_text("secret")
    place.symlink_to(secret)
    PACK.unlink()
    called = packed("pack", "results/tiny").require(2)
    assert "is a link" in called.err
    assert not PACK.exists()


CLAIMS = """
  claim "something arrives" { holds = median(goodput, flow: a) > 1kbit/s }
  claim "more than the link" { where = rate == 1Mbit/s  holds = median(goodput, flow: a) > 5Mbit/s }
"""


@pytest.fixture
def claimed(fairc: Fairc, without_report: None, kept: Path) -> Fairc:
    """A pack of ten repetitions of each configuration, with a claim that holds and one that
    fails.
    """
    text = Path("tiny.fexp").read_text().replace("repeat  = 3", f"repeat  = 10{CLAIMS}")
    Path("tiny.fexp").write_text(text)
    return packed_once(fairc, kept, 1)


def claims_of(called: Any) -> dict[str, str]:
    rows = json.loads(called.out)["checks"]
    (found,) = [row for row in rows if row["what"] == "claims"]
    return dict(found)


def test_a_pack_states_its_claims_with_command_and_interval(claimed: Fairc) -> None:
    with zipfile.ZipFile(PACK) as opened:
        readme = opened.read("README.md").decode()
        verdicts = json.loads(opened.read("claims.json"))["claims"]
    assert "**something arrives** (holds, confirmatory)" in readme
    assert "fairc verify study.zip --all" in readme and "| rate = 1Mbit/s | fails |" in readme
    assert [row["verdict"] for row in verdicts] == ["holds", "fails"]
    called = claimed("verdict", PACK)
    assert called.status == 1 and "fails  more than the link" in called.out


def test_claims_of_a_pack_are_decided_again(claimed: Fairc) -> None:
    found = claims_of(claimed("verify", PACK, "--all", "--format", "json"))
    assert found["verdict"] == "holds"
    assert "3 of 3 pairs of claim and configuration come out the same again" in found["found"]
    found = claims_of(claimed("verify", PACK, "--sample", "2", "--format", "json"))
    assert found["verdict"] == "holds" and "(--all)" in found["found"]


def test_a_verdict_that_the_results_do_not_give_is_found(claimed: Fairc) -> None:
    changed("claims.json", b'"verdict": "fails"', b'"verdict": "holds"')
    called = claimed("verify", "changed.zip", "--sample", "0", "--format", "json").require(1)
    assert claims_of(called)["verdict"] == "differs"


def test_programs_of_a_pack_that_are_not_ours_are_reported(packed: Fairc) -> None:
    with zipfile.ZipFile(PACK) as opened:
        files = {n: opened.read(n) for n in opened.namelist() if n != zipped.SUMS}
    files["programs/cells/cell/clock.py"] += b"# a stranger's"
    zipped.write(Path("changed.zip"), files)
    called = packed("verify", "changed.zip", "--sample", "0", "--format", "json")
    rows = {row["what"]: row for row in json.loads(called.out)["checks"]}
    assert rows["programs"]["verdict"] == "differs" and "`cell/`" in rows["programs"]["found"]
    assert packed("verify", "results/tiny", "--trust").status == 2


def test_a_metric_that_is_not_installed_is_no_forgery(
    packed: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = {name: entry for name, entry in METRICS._all().items() if name != "fairness"}
    monkeypatch.setattr(METRICS, "_entries", rest)  # a key that comes back would come last
    called = packed("verify", "tiny.zip").require(1)
    assert called.out.startswith("tiny.zip is not proved: ")
    assert re.search(
        "^plan +cannot tell  `fairness` is not installed here", called.out, re.MULTILINE
    )
    Path("there").mkdir()
    with zipfile.ZipFile("tiny.zip") as pack:
        pack.extractall("there")
    table = packed("table", "there", "fairness.F").require(0)
    assert "fairness.F" in table.out

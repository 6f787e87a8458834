"""The calibration: its suite, its readings, its table, and where it is kept."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from waiting import completed

from fairc import compiler, dsl
from fairc.compiler.engine_choice import VIRTUAL_TIME
from fairc.runtime import engines
from fairc.runtime.calibration.cases import CASES, FOLDER
from fairc.runtime.calibration.reading import Reading, near
from fairc.runtime.calibration.suite import Calibration, obstacle
from fairc.runtime.calibration.table import as_json, as_markdown, as_text
from fairc.runtime.engines.kept_calibration import keep, kept
from fairc.runtime.engines.uml import UmlEngine
from fairc_fake.engine import FakeEngine

RATE = near("rate", "rate 10Mbit/s", 9.97e6, 10e6, within=0.1e6, unit="bit/s", source="plan", n=1)
DELAY = near("base RTT", "rtt 10ms", 0.011, 0.010, within=0.5e-3, unit="s", source="plan", n=1)
FOUND = Calibration("fake", "0123456789abcdef01", {"fake": "1"}, (RATE, DELAY), ())


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.fexp")), ids=lambda path: path.stem)
def test_every_experiment_of_the_suite_compiles_without_a_word(file: Path) -> None:
    experiment, found = dsl.load(dsl.read(file), {})
    assert experiment is not None
    compilation = compiler.compile(experiment)
    assert compilation.plan.engine in VIRTUAL_TIME
    assert list(compilation.cells())
    assert not list(found) and not list(compilation.diagnostics)


def test_every_experiment_of_the_suite_is_read() -> None:
    read = {case.name for case in CASES} | {"speed"}
    assert read == {path.stem for path in FOLDER.glob("*.fexp")}


def test_what_an_engine_cannot_run_is_left_out() -> None:
    assert not any(obstacle(case, UmlEngine()) for case in CASES)
    assert {case.name for case in CASES if obstacle(case, FakeEngine())} == {"gigabit"}


def test_a_reading_holds_inside_its_range_only() -> None:
    assert RATE.holds
    assert not DELAY.holds
    assert not replace(RATE, measured=float("nan")).holds


def test_a_calibration_holds_when_all_readings_do_and_no_cell_failed() -> None:
    assert not FOUND.holds
    assert replace(FOUND, readings=(RATE,)).holds
    assert not replace(FOUND, readings=(RATE,), failures=("rate: it crashed",)).holds


def test_the_table_says_what_holds_in_units_for_people() -> None:
    text = "\n".join(as_text(replace(FOUND, failures=("loss: it crashed",))))
    rate, delay = (line for line in text.splitlines() if line.startswith(("rate", "base")))
    assert "9.97 Mbit/s" in rate and "9.90 .. 10.10 Mbit/s" in rate and rate.endswith("holds")
    assert "11.00 ms" in delay and delay.endswith("OUTSIDE")
    assert "failed: loss: it crashed" in text
    assert text.endswith("engine fake: 1 of 2 readings hold")


def test_the_markdown_table_has_a_row_for_each_reading() -> None:
    lines = list(as_markdown(FOUND))
    assert sum(line.startswith("|") for line in lines) == 2 + len(FOUND.readings)


def test_the_document_is_in_si_units() -> None:
    document = json.loads(as_json(FOUND))
    assert [reading["measured"] for reading in document["readings"]] == [9.97e6, 0.011]
    assert document["holds"] is False


class Prepared(FakeEngine):
    """The fake engine under the identity of FOUND."""

    @property
    def identity(self) -> str:
        """Return another one."""
        return FOUND.identity


def test_a_kept_calibration_is_found_by_its_engine_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    engine = Prepared()
    assert kept(engine) is None
    path = keep(FOUND.engine, FOUND.identity, as_json(FOUND))
    said = kept(engine)
    assert said is not None
    assert (said["readings"], said["hold"]) == (2, 1)
    path.write_text("{")
    assert kept(engine) is None


def test_only_the_virtual_machine_has_half_its_speed() -> None:
    from fairc.runtime.calibration.suite import slower_than

    slower = slower_than("vm", lambda _: None)
    assert slower is not None and slower.name == "vm-half"
    assert slower_than("mininet", lambda _: None) is None
    assert "vm-half" not in engines.names()


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return completed(
        [sys.executable, "-m", "fairc", "calibrate", *arguments],
        cwd=folder,
        env={
            "FAIRC_ENGINE": "fake",
            "PATH": "/usr/bin",
            "PYTHONPATH": _root(),
            "HOME": str(folder),
        },
        timeout=120,
    )


def _root() -> str:
    return str(Path(__file__).parents[2])


def test_the_fake_engine_can_be_calibrated(tmp_path: Path) -> None:
    called = call(tmp_path, "--case", "rate", "--case", "equal", "--format", "json")
    document = json.loads(called.stdout)
    quantities = [reading["quantity"] for reading in document["readings"]]
    assert quantities == ["rate"] * 3 + ["Jain's index of equal flows"]
    assert document["readings"][0]["setting"].startswith("rate 1Mbit/s")
    assert called.returncode == (0 if document["holds"] else 1)
    assert not list(tmp_path.glob(".cache/**/calibrations/*")), "a part of the suite is not kept"


def test_a_case_that_there_is_not_is_refused(tmp_path: Path) -> None:
    called = call(tmp_path, "--case", "rat")
    assert called.returncode == 2
    assert "there is no case `rat`; known: rate, delay" in called.stderr


def test_a_case_that_the_engine_cannot_run_is_refused(tmp_path: Path) -> None:
    called = call(tmp_path, "--case", "gigabit")
    assert called.returncode == 2 and called.stdout == ""
    assert "fake cannot run gigabit: its link is too fast" in called.stderr
    assert "--engine NAME" in called.stderr


def test_half_the_speed_is_a_case_of_the_virtual_machine_alone(tmp_path: Path) -> None:
    called = call(tmp_path, "--case", "speed")
    assert called.returncode == 2 and called.stdout == ""
    assert "fake cannot run speed: it has no processor whose speed" in called.stderr


def test_readings_are_of_known_units() -> None:
    from fairc.runtime.calibration.table import SHOWN

    assert {reading.unit for reading in (RATE, DELAY)} <= set(SHOWN)
    assert isinstance(RATE, Reading)

"""The labs of a class: right answers pass, those that a lab comes with do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from waiting import completed

LABS = Path(__file__).parents[2] / "examples" / "labs"
ANSWERS = {
    "buffers": ("one=1bdp", "four=0.5bdp", "sixteen=0.25bdp"),
    "fairness": ("flows=3", "ratio=6", "equal=fq_codel"),
    "aqm": ("full=440ms", "queue=codel"),
}


def graded(lab: str, answers: tuple[str, ...], out: Path) -> subprocess.CompletedProcess[str]:
    """Run a lab and return what `fairc verdict` does with it."""
    fairc = [sys.executable, "-m", "fairc"]
    given = [part for answer in answers for part in ("--set", answer)]
    run = [*fairc, "run", str(LABS / f"{lab}.fexp"), "-o", str(out), "--quiet", *given]
    assert subprocess.run(run, check=False, capture_output=True).returncode in (0, 1)
    return completed([*fairc, "verdict", str(out), "--format", "junit"])


@pytest.mark.full
@pytest.mark.parametrize("lab", ANSWERS)
def test_right_answers_pass(lab: str, tmp_path: Path) -> None:
    done = graded(lab, ANSWERS[lab], tmp_path / "run")
    assert done.returncode == 0, done.stdout
    assert "<failure" not in done.stdout and "<skipped" not in done.stdout


@pytest.mark.full
def test_a_wrong_answer_fails_its_claim_alone(tmp_path: Path) -> None:
    done = graded("aqm", ("full=440ms", "queue=fifo(20ms)"), tmp_path / "run")
    assert done.returncode == 1
    assert done.stdout.count("<failure") == 1
    assert "the ping is quick" in done.stdout.partition("<failure")[0].rpartition("<testcase")[2]

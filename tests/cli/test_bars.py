"""What is said of steps that take long: packages, endpoints, the image and the kernel."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import completed

from fairc.runtime.uml import kernel

PROGRESS = Path(__file__).parents[2] / "scripts" / "progress"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRESS), *arguments]
    return completed(command, timeout=60)


def test_a_command_that_ends_well_says_how_far_it_was() -> None:
    counted = run(
        "packages", "--of", "3", "^got", "sh", "-c", "echo got; sleep 3.2; echo got; echo"
    )
    assert counted.returncode == 0 and not counted.stdout
    assert [line[-5:] for line in counted.stderr.splitlines()] == [" 50 %", "100 %"]
    told = run("endpoints", r"(\d+)/(\d+)", "sh", "-c", r"sleep 3.2; printf ' 2/9: a\r 4/9: b\r'")
    assert [line[-5:] for line in told.stderr.splitlines()] == [" 20 %", "100 %"]


def test_a_command_that_fails_shows_what_it_printed() -> None:
    failed = run("endpoints", r"(\d+)/(\d+)", "sh", "-c", "echo 1/2; echo error: no; exit 7")
    assert failed.returncode == 7
    assert failed.stderr == "error: no\nendpoints: failed\n"


def test_the_kernel_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "REPORT_EVERY_S", 0.0)
    lines = ["I: running apt-get update...", "I: extracting", "unpacking"]
    lines += [f"applying {number}" for number in range(3)]
    lines += [f"  CC      a{number}.o" for number in range(kernel.FILES + 50)]
    said: list[str] = []
    kept = io.StringIO()
    kernel._follow(io.BytesIO("\n".join(lines).encode()), kept, said.append)
    shares = [int(line.split("]")[1].split("%")[0]) for line in said]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 95
    assert kept.getvalue() == "\n".join(lines)

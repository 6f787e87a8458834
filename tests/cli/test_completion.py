"""What a shell offers after TAB, in an interpreter of its own, as bash asks."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from waiting import completed

CODE = "import sys; sys.argv[0] = 'fairc'; from fairc.__main__ import main; main()"


def offered(words: str) -> list[str]:
    """Return what is offered for the last of some words."""
    environment = {
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
        "_FAIRC_COMPLETE": "bash_complete",
    }
    done = completed([sys.executable, "-c", CODE], env={**os.environ, **environment})
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the plan of a run."""
    plan = {
        "axes": [{"name": "rate"}, {"name": "cca"}, {"name": "a\nb"}, 7],
        "formulas": [{"name": "power"}],
        "measure": [{"name": "power"}, {"name": "goodput"}],
    }
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "plan.json").write_text("[[[")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("fairc ver", ["verdict", "verify"]),
        ("fairc table run ", ["power", "goodput"]),
        ("fairc table run g", ["goodput"]),
        ("fairc table run goodput --by r", ["rate", "repetition"]),
        ("fairc table run goodput --by rate,c", ["rate,cca"]),
        ("fairc table wrong ", []),
        ("fairc table none ", []),
    ],
)
def test_what_is_offered(words: str, found: list[str]) -> None:
    assert offered(words) == found

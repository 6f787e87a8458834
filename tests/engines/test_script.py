"""Why a script did not come to its end, from what it left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairc.runtime.engines.script import ending, failure


def leave(folder: Path, ended_by: str, *notes: str) -> None:
    (folder / "cell.json").write_text(json.dumps({"ended_by": ended_by, "notes": notes}))


def test_a_script_that_came_to_its_end(tmp_path: Path) -> None:
    leave(tmp_path, "finished", "a note")
    assert failure(tmp_path) == ""
    assert ending(tmp_path, "anything") == ""


def test_a_script_that_says_why_it_failed(tmp_path: Path) -> None:
    leave(tmp_path, "failed", "tc: unknown qdisc")
    assert failure(tmp_path) == "the script failed: tc: unknown qdisc"


def test_a_script_that_left_nothing(tmp_path: Path) -> None:
    assert failure(tmp_path) is None
    assert (
        ending(tmp_path, "one\nTraceback\nKeyError: 1\n") == "the script ended early: KeyError: 1"
    )
    assert ending(tmp_path, "") == "the script ended early: it printed nothing"


@pytest.mark.parametrize("text", ["{", "{}", "[]"])
def test_a_broken_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "cell.json").write_text(text)
    assert "broken cell.json" in ending(tmp_path, "")

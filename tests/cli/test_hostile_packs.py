"""A pack from a stranger: `fairc run PACK` refuses what is damaged, and names that no folder can
have.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Fairc = Callable[..., Any]  # conftest.py


def packed(*names: str) -> Path:
    """Write a zip file with members of these names."""
    path = Path("made.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in (*names, "SHA256SUMS"):
            made.writestr(name, b"content of a member\n" * 50)
    return path


@pytest.mark.parametrize("names", [["x" * 300], ["x", "x/y"], ["x/y", "x"], ["x" * 255 + "/y"]])
@pytest.mark.parametrize("command", ["run", "verify"])
def test_names_that_no_folder_can_have(fairc: Fairc, names: list[str], command: str) -> None:
    called = fairc(command, packed(*names))
    assert called.status == (2 if command == "run" else 1), called.err
    said = called.out + called.err
    assert "damaged" in said or "cannot be read" in said


def test_damage_inside_of_a_member(fairc: Fairc) -> None:
    path = packed("x")
    content = bytearray(path.read_bytes())
    content[31:40] = b"\xff" * 9  # behind the local header of 30 bytes and the name
    path.write_bytes(content)
    called = fairc("run", path)
    assert called.status == 2, called.err


def test_what_a_killed_run_left_of_a_pack_is_removed(fairc: Fairc) -> None:
    from fairc.runtime.host import supervisor

    gone = supervisor.temporary_prefix("pack").replace(str(os.getpid()), str(2**22 + 1), 1)
    (Path("results") / f"{gone}x").mkdir(parents=True)
    (Path("results") / "fairc-pack-mine").mkdir()
    assert fairc("run", packed("x")).status == 2
    assert [path.name for path in Path("results").iterdir()] == ["fairc-pack-mine"]

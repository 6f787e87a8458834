"""A snapshot in a place that cannot be written: each machine gets a copy of its memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairc.runtime.vm import image, recipe
from fairc.runtime.vm.snapshot import Snapshot


def test_the_memory_of_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, scratch = tmp_path / "snapshot", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    saved = Snapshot(folder, "0123", image.Image(recipe.PLAIN, folder, "", "", ""))
    content = b"page" + bytes(1 << 20)
    saved.memory.write_bytes(content)
    assert saved.memory_for(scratch) == saved.memory
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everything
    copy = saved.memory_for(scratch)
    assert copy.parent == scratch and copy.read_bytes() == content
    assert copy.stat().st_blocks * 512 < len(content)  # sparse, as the original is

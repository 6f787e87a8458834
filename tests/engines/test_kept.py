"""Files that a machine has compiled: whole or not there, and nothing beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairc.runtime.host import supervisor
from fairc.runtime.uml import kept


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "cache/one"
    kept.write(place, b"compiled")
    assert kept.read(place) == b"compiled"
    (place.parent / f"fairc-kept-999999999-1-{supervisor.namespace()}-abc").mkdir()

    def full(self: Path, target: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        kept.write(place.with_name("two"), b"compiled")
    assert [path.name for path in place.parent.iterdir()] == ["one"]

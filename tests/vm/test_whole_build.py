"""A build of an image or a kernel is whole, or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairc.runtime.vm.image import whole_build


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "images" / "abc"
    with pytest.raises(ValueError, match="broken"), whole_build(target) as work:
        (work / "root.ext2").write_text("half")
        raise ValueError("broken")
    assert list(target.parent.iterdir()) == []


def test_the_first_of_two_builds_stays(tmp_path: Path) -> None:
    target = tmp_path / "images" / "abc"
    for text in ("first", "second"):
        with whole_build(target) as work:
            (work / "root.ext2").write_text(text)
            assert work.parent == target.parent, "on the same file system, to be renamed"
    assert (target / "root.ext2").read_text() == "first"
    assert list(target.parent.iterdir()) == [target]

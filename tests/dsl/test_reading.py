"""Files that are no experiments: one diagnostic each, never a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairc.dsl import CompileError, load, read


def refused(path: Path | str) -> str:
    with pytest.raises(CompileError) as caught:
        read(path)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b" \n\t\n", "empty-file"),
        (bytes(range(256)), "not-text"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "not-text"),
        (b"# " + b"x" * 10_000_000, "too-large"),
    ],
    ids=["blank", "binary", "program", "10 MB"],
)
def test_content(tmp_path: Path, content: bytes, code: str) -> None:
    file = tmp_path / "x.fexp"
    file.write_bytes(content)
    assert refused(file) == code


def test_device_and_strange_names(tmp_path: Path) -> None:
    assert refused("/dev/zero") == "not-text"
    assert refused("a\0b") == "unreadable"
    assert refused(str(tmp_path / ("x" * 5000))) == "unreadable"


def test_loop_of_links(tmp_path: Path) -> None:
    loop = tmp_path / "loop.fexp"
    loop.symlink_to(loop)
    assert refused(loop) in ("unreadable", "no-such-file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_unreadable_file(tmp_path: Path) -> None:
    file = tmp_path / "x.fexp"
    file.write_text("fexp 1\n")
    file.chmod(0)
    assert refused(file) == "unreadable"


def test_marks_and_line_ends_of_other_systems(tmp_path: Path, examples: Path) -> None:
    text = (examples / "quickstart.fexp").read_bytes()
    file = tmp_path / "x.fexp"
    file.write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
    experiment, found = load(read(file))
    assert experiment is not None and len(found) == 0


def test_the_name_is_the_path_as_given(examples: Path) -> None:
    path = os.path.relpath(examples / "quickstart.fexp")
    assert read(path).name == path

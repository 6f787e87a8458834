"""`fairc fmt`: files, statuses, permissions."""

from __future__ import annotations

from pathlib import Path

from .conftest import Fairc

UGLY = "fexp 1\nexperiment e{topology=bottleneck(rate:1Mbit/s)   # slow\n}"
NICE = "fexp 1\n\nexperiment e {\n  topology = bottleneck(rate: 1Mbit/s)   # slow\n}\n"


def test_a_file_is_rewritten_once(fairc: Fairc, tmp_path: Path) -> None:
    file = tmp_path / "ugly.fexp"
    file.write_text(UGLY)
    file.chmod(0o640)
    assert fairc("fmt", "--check", "ugly.fexp").status == 1
    assert file.read_text() == UGLY
    assert fairc("fmt", "ugly.fexp").status == 0
    assert file.read_text() == NICE
    assert file.stat().st_mode & 0o777 == 0o640
    before = file.stat().st_mtime_ns
    assert fairc("fmt", "ugly.fexp").status == fairc("fmt", "--check", "ugly.fexp").status == 0
    assert file.stat().st_mtime_ns == before
    assert sorted(path.name for path in tmp_path.glob("*ugly*")) == ["ugly.fexp"]


def test_diff_shows_lines_and_changes_nothing(fairc: Fairc, tmp_path: Path) -> None:
    (tmp_path / "ugly.fexp").write_text(UGLY)
    called = fairc("fmt", "--diff", "ugly.fexp").require(1)
    assert "+  topology = bottleneck(rate: 1Mbit/s)   # slow" in called.out.splitlines()
    assert (tmp_path / "ugly.fexp").read_text() == UGLY


def test_a_link_is_followed(fairc: Fairc, tmp_path: Path) -> None:
    (tmp_path / "ugly.fexp").write_text(UGLY)
    (tmp_path / "link.fexp").symlink_to("ugly.fexp")
    assert fairc("fmt", "link.fexp").status == 0
    assert (tmp_path / "link.fexp").is_symlink()
    assert (tmp_path / "ugly.fexp").read_text() == NICE


def test_what_does_not_parse_stays(fairc: Fairc, tmp_path: Path) -> None:
    (tmp_path / "broken.fexp").write_text("fexp 1 experiment {")
    (tmp_path / "ugly.fexp").write_text(UGLY)
    called = fairc("fmt", "broken.fexp", "ugly.fexp", "missing.fexp").require(2)
    assert "error[syntax]" in called.err and "error[no-such-file]" in called.err
    assert (tmp_path / "broken.fexp").read_text() == "fexp 1 experiment {"
    assert (tmp_path / "ugly.fexp").read_text() == NICE

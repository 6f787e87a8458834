"""Archives of strangers: what they unpack to is bounded."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
import zstandard

from fairc.runtime.host import archive


def bomb(path: Path, files: dict[str, int], pax: dict[str, str] | None = None) -> None:
    """Write an archive of files of so many zeros."""
    with (
        path.open("wb") as file,
        zstandard.ZstdCompressor().stream_writer(file, closefd=False) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, size in files.items():
            member = tarfile.TarInfo(name)
            member.size = size
            member.pax_headers = pax or {}
            tar.addfile(member, io.BytesIO(bytes(size)))


def test_what_it_unpacks_to_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 100_000)
    monkeypatch.setattr(archive, "MOST_TIMES", 2)
    (tmp_path / "out").mkdir()
    for name, files, pax in (
        ("one", {"a": 10_000_000}, None),
        ("several", {f"f{n}": 30_000 for n in range(20)}, None),
        ("header", {"a": 1}, {"comment": "x" * 1_000_000}),
    ):
        bomb(tmp_path / name, files, pax)
        out = tmp_path / f"{name}.out"
        out.mkdir()
        with pytest.raises(ValueError, match="more than it can hold"):
            archive.unpack(tmp_path / name, out)
        assert sum(path.stat().st_size for path in out.iterdir()) <= 130_000
    bomb(tmp_path / "well", {"a": 50_000})
    archive.unpack(tmp_path / "well", tmp_path / "out")
    assert (tmp_path / "out/a").read_bytes() == bytes(50_000)


def test_how_many_files_it_has_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_FILES", 10)
    bomb(tmp_path / "many", {f"f{n}": 1 for n in range(20)})
    (tmp_path / "out").mkdir()
    with pytest.raises(ValueError, match="more than it can hold"):
        archive.unpack(tmp_path / "many", tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == 10

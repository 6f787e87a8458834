"""Archives of strangers: what they unpack to is bounded."""

from __future__ import annotations

import io
import random
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


def test_another_library_reads_what_it_writes(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a").write_bytes(bytes(range(256)) * 1000)
    archive.pack(tmp_path / "in", tmp_path / "raw")
    with (tmp_path / "raw").open("rb") as file:
        tar = zstandard.ZstdDecompressor().stream_reader(file).read()
    with tarfile.open(fileobj=io.BytesIO(tar)) as found:
        content = found.extractfile("a")
        assert content is not None and content.read() == bytes(range(256)) * 1000


def test_one_that_is_cut_off_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a").write_bytes(random.Random(1).randbytes(300_000))
    archive.pack(tmp_path / "in", tmp_path / "raw")
    whole = (tmp_path / "raw").read_bytes()
    for number, size in enumerate((0, 1, 3, 4, 5, 100, len(whole) // 2, len(whole) - 200)):
        (tmp_path / "cut").write_bytes(whole[:size])
        out = tmp_path / f"out{number}"
        out.mkdir()
        with pytest.raises(ValueError, match="is damaged"):
            archive.unpack(tmp_path / "cut", out)

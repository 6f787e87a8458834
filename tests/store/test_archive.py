"""Archives of strangers: what they unpack to is bounded."""

from __future__ import annotations

import io
import random
import tarfile
from pathlib import Path

import pytest
import zstandard

from fairc.runtime.host import archive
from fairc.runtime.uml import machine


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


def header(kind: bytes, name: str = "x", size: int = 0) -> bytearray:
    """Return a tar's header, of which tarfile reads more than it writes."""
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return bytearray(member.tobuf(tarfile.GNU_FORMAT))


def sparse(name: str, size: int) -> bytes:
    """Return a sparse file of one byte and a hole, as GNU tar writes it (format 0.1 of pax)."""
    records = b""
    for key, value in (("map", "0,1"), ("name", name), ("realsize", str(size))):
        record = f" GNU.sparse.{key}={value}\n".encode()
        records += b"%d" % (len(record) + 2) + record
    padded = records + bytes(-len(records) % 512)
    return (
        bytes(header(b"x", size=len(records))) + padded + bytes(header(b"0", name, 1)) + b"x" * 512
    )


def cut_off() -> bytes:
    """Return the header of an old sparse file whose further headers are missing."""
    found = header(tarfile.GNUTYPE_SPARSE)
    found[482] = 1  # isextended
    found[148:156] = b" " * 8
    found[148:156] = b"%06o\0 " % sum(found)
    return bytes(found)


def common(number: int) -> bytes:
    """Return a global header with this number of values; tarfile copies them for every member."""
    records = b"".join(b"15 k%07d=1\n\n" % n for n in range(number))
    return bytes(header(b"g", size=len(records))) + records + bytes(-len(records) % 512)


STRANGE = {
    "values for all files": common(200),
    "sparse files": b"".join(sparse(f"f{n}", 1 << 20) for n in range(3)),
    "an old sparse file": bytes(header(tarfile.GNUTYPE_SPARSE)),
    "a header that is cut off": cut_off(),
    "names without end": bytes(header(tarfile.GNUTYPE_LONGNAME)) * 1500,
    "a large header": bytes(header(b"x", size=4 << 20)) + bytes(4 << 20),
}


@pytest.mark.parametrize("what", STRANGE)
def test_strange_headers_are_damage(what: str, tmp_path: Path) -> None:
    """What nothing else bounds: the holes of sparse files, and headers that tarfile holds."""
    tar = STRANGE[what] + bytes(header(b"0")) + bytes(1024)
    stranger = STRANGE[what] if what == "a header that is cut off" else tar
    (tmp_path / "raw").write_bytes(zstandard.ZstdCompressor().compress(stranger))
    (tmp_path / "out").mkdir()
    with pytest.raises(ValueError, match="is damaged"):
        archive.unpack(tmp_path / "raw", tmp_path / "out")
    assert not [*(tmp_path / "out").iterdir()]


def test_headers_of_many_small_files_are_no_large_header(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3000):  # 1.5 MB of headers
        (tmp_path / f"in/{number}").touch()
    archive.pack(tmp_path / "in", tmp_path / "raw")
    (tmp_path / "out").mkdir()
    archive.unpack(tmp_path / "raw", tmp_path / "out")
    assert len([*(tmp_path / "out").iterdir()]) == 3000


@pytest.mark.parametrize("what", STRANGE)
def test_strange_headers_of_a_guest_are_no_files(what: str) -> None:
    wanted = bytes(header(b"0", "wanted", 1)) + b"x" * 512
    tar = wanted + STRANGE[what]
    assert machine.files_in(wanted + bytes(1024), lambda *_: True) == {"wanted": b"x"}
    assert machine.files_in(tar, lambda *_: True) in ({}, {"wanted": b"x"})

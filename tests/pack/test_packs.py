"""Packs: equal bytes, checked without trust, used like the run that they hold."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from fairc.runtime.pack import comparing, zipped
from fairc.runtime.pack.zipped import PackError
from fairc.runtime.run import verification

FILES: dict[str, Path | bytes] = {"plan.json": b"{}", "a/b.txt": b"text\n", "run": b"#!/bin/sh\n"}


def pack(tmp_path: Path) -> Path:
    path = tmp_path / "a.zip"
    zipped.write(path, FILES)
    return path


def unpacked(path: Path, to: Path) -> Path:
    to.mkdir()
    zipped.unpack(path, to)
    return to


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """Return a copy of a pack whose members have been changed."""
    with zipfile.ZipFile(path) as before:
        members = {name: before.read(name) for name in before.namelist()}
    change(members)
    other = path.with_name("other.zip")
    with zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as after:
        for name, content in members.items():
            after.writestr(name, content)
    return other


def test_equal_files_give_equal_bytes_and_come_back(tmp_path: Path) -> None:
    first = pack(tmp_path).read_bytes()
    again = tmp_path / "again.zip"
    zipped.write(again, dict(reversed(FILES.items())))
    assert again.read_bytes() == first
    folder = unpacked(again, tmp_path / "to")
    for name, content in FILES.items():
        assert (folder / name).read_bytes() == content
        assert not (folder / name).stat().st_mode & stat.S_IXUSR
    with zipfile.ZipFile(again) as opened:
        assert opened.getinfo("run").external_attr >> 16 & stat.S_IXUSR


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update({"a/b.txt": b"other"}), "does not match its hash"),
        (lambda m: m.update({"more": b""}), "does not name"),
        (lambda m: m.pop("run"), "lacks run"),
        (lambda m: m.pop("SHA256SUMS"), "not a pack"),
        (lambda m: m.update({"SHA256SUMS": b"rubbish\n"}), "cannot be read"),
        (lambda m: m.update({"SHA256SUMS": b"\xff"}), "cannot be read"),
        (lambda m: m.update({"../out": b"x"}), "refused"),
        (lambda m: m.update({"/etc/out": b"x"}), "refused"),
        (lambda m: m.update({"a/./c": b"x"}), "refused"),
        (lambda m: m.update({"a\\c": b"x"}), "refused"),
        (lambda m: m.update({"a\nb": b"x"}), "refused"),
        (lambda m: m.update({"RUN": b"x"}), "twice"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, change: Callable[[dict[str, bytes]], None], words: str
) -> None:
    path = rewritten(pack(tmp_path), change)
    with pytest.raises(PackError, match=words):
        unpacked(path, tmp_path / "to")
    assert not (tmp_path / "out").exists()


def test_links_bombs_and_rubbish_are_refused(tmp_path: Path) -> None:
    link = tmp_path / "link.zip"
    with zipfile.ZipFile(link, "w") as made:
        member = zipfile.ZipInfo("link")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(member, "/etc/passwd")
    with pytest.raises(PackError, match="not a regular file"):
        unpacked(link, tmp_path / "l")
    rubbish = tmp_path / "rubbish.zip"
    rubbish.write_bytes(pack(tmp_path).read_bytes()[:200])
    with pytest.raises(PackError, match="damaged"):
        unpacked(rubbish, tmp_path / "r")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_take_memory_as_a_pack_says_are_refused(tmp_path: Path, method: int) -> None:
    path = tmp_path / "method.zip"
    with zipfile.ZipFile(path, "w", method) as made:
        made.writestr("x", b"x" * 1000)
    with pytest.raises(PackError, match="a method that is refused"):
        unpacked(path, tmp_path / "to")


def test_bombs_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = rewritten(pack(tmp_path), lambda m: m.update({"zeros": bytes(30_000_000)}))
    monkeypatch.setattr(zipped, "MANY_BYTES", 10_000_000)
    with pytest.raises(PackError, match="28 MiB, which is more than it may"):
        unpacked(path, tmp_path / "to")
    monkeypatch.undo()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 20))
    with pytest.raises(PackError, match="28 MiB, and there is room for 1 MiB"):
        unpacked(path, tmp_path / "full")
    assert [*(tmp_path / "to").iterdir(), *(tmp_path / "full").iterdir()] == []


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """As those of a bomb do; here the directory says of a member that it is larger than the
    file.
    """
    path = pack(tmp_path)
    content = bytearray(path.read_bytes())
    sizes = content.index(b"PK\1\2") + 20  # in the central directory
    content[sizes : sizes + 8] = (1 << 20).to_bytes(4, "little") * 2
    path.write_bytes(content)
    with pytest.raises(PackError, match="overlap"):
        unpacked(path, tmp_path / "to")


def test_hashes_that_take_more_room_than_they_can_need_are_refused(tmp_path: Path) -> None:
    path = rewritten(pack(tmp_path), lambda m: m.update({"SHA256SUMS": bytes(30_000_000)}))
    with pytest.raises(PackError, match="SHA256SUMS in the pack unpacks to more"):
        unpacked(path, tmp_path / "to")


def test_the_manifest_of_a_crate_names_every_part(tmp_path: Path) -> None:
    """As RO-Crate asks: the descriptor, the root, and an entity for each part that it names."""
    document = json.loads(crate_document())
    entities = {entity["@id"]: entity for entity in document["@graph"]}
    descriptor, root = entities["ro-crate-metadata.json"], entities["./"]
    assert descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"]["@id"] == "https://w3id.org/ro/crate/1.2"
    assert {"name", "description", "datePublished", "license"} <= root.keys()
    assert all(part["@id"] in entities for part in root["hasPart"])
    run = entities["#run"]
    assert run["@type"] == "CreateAction"
    assert entities[run["instrument"]["@id"]]["@type"] == "SoftwareApplication"
    assert all(one["@id"] in entities for one in (*run["object"], *run["result"]))


def crate_document() -> bytes:

    from fairc.runtime.pack import crate

    plan = SimpleNamespace(
        title="A title", experiment="e", configurations=1, cells=2, file="e.fexp", engine="uml"
    )
    lock = {"fairc": {"version": "1"}, "declared": [{"at": "2026-01-01T00:00:00Z"}]}
    store = SimpleNamespace(plan=plan, lock=lock)
    names = ("LICENSE", "plan.json", "report.html", "spec/e.fexp", "tables/cells.parquet")
    return crate.metadata({"": store}, names)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("host", "said"),
    [
        (None, "the processor unknown"),
        ({"cpu": "<img src=x> [a](b) `c`", "cores": "|"}, "&lt;img src=x&gt; \\[a\\](b) \\`c\\`"),
    ],
)
def test_what_a_lock_says_of_a_machine_is_text_in_the_readme(host: object, said: str) -> None:
    from fairc.runtime.pack import readme

    (line,) = readme._machine({"host": host, "fairc": None}, 0.0)
    assert said in line and "<img" not in line


def hidden(path: Path) -> bytes:
    """Return a pack in which a member's header and content lie between two members, and no
    directory names them.
    """
    content = path.read_bytes()
    with zipfile.ZipFile(path) as opened:
        second = sorted(member.header_offset for member in opened.infolist())[1]
        start = opened.start_dir
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as other:
        other.writestr("hidden", b"x")
    with zipfile.ZipFile(made) as other:
        part = made.getvalue()[: other.start_dir]
    moved = content[:second] + part + content[second:]
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        for member in opened.infolist():
            if member.header_offset >= second:
                at = moved.index(b"PK\x01\x02", start + len(part))
                while moved[at + 46 : at + 46 + len(member.filename)] != member.filename.encode():
                    at = moved.index(b"PK\x01\x02", at + 1)
                offset = struct.pack("<I", member.header_offset + len(part))
                moved = moved[: at + 42] + offset + moved[at + 46 :]
    end = moved.rindex(b"PK\x05\x06")
    return moved[: end + 16] + struct.pack("<I", start + len(part)) + moved[end + 20 :]


@pytest.mark.parametrize("what", ["before", "between", "comment"])
def test_bytes_that_other_programs_may_read_as_files_are_refused(tmp_path: Path, what: str) -> None:
    path = pack(tmp_path)
    if what == "before":
        path.write_bytes(2 * path.read_bytes())
    elif what == "between":
        path.write_bytes(hidden(path))
        with zipfile.ZipFile(path) as opened:
            assert opened.testzip() is None and "hidden" not in opened.namelist()
    else:
        with zipfile.ZipFile(path, "a") as opened:
            opened.comment = b"PK\x03\x04"
    with pytest.raises(PackError, match=r"belong to none of its files|overlap"):
        unpacked(path, tmp_path / "to")


def changed(content: bytes, at: int, new: bytes) -> bytes:
    return content[:at] + new + content[at + len(new) :]


@pytest.mark.parametrize(
    ("what", "at", "new"),
    [
        ("flags", 6, b"\x02\0"),
        ("method", 8, b"\0\0"),
        ("time", 10, b"\1\0"),
        ("date", 12, b"\x22\0"),
        ("checksum", 14, b"\1\2\3\4"),
        ("packed size", 18, b"\1\0\0\0"),
        ("size", 22, b"\1\0\0\0"),
        ("name", 30, b"b"),
        ("packed size of 64 bits", 30 + 7 + 4, b"\1"),  # behind the name `a/b.txt`
        ("extra field", 30 + 7, b"\x75\x70"),  # another name in Unicode
    ],
)
def test_a_header_that_contradicts_the_directory_is_refused(
    tmp_path: Path, what: str, at: int, new: bytes
) -> None:
    path = pack(tmp_path)
    content = path.read_bytes()
    assert content[:4] == b"PK\3\4" and content[30:37] == b"a/b.txt"
    path.write_bytes(changed(content, at, new))
    with pytest.raises(
        PackError, match=r"contradicts|half a size|two sizes|fields that are refused|damaged"
    ):
        unpacked(path, tmp_path / "to")


@pytest.mark.parametrize(
    "what", ["after", "long comment", "count", "count of this disk", "disk", "start", "in a member"]
)
def test_the_end_of_a_pack_is_its_end(tmp_path: Path, what: str) -> None:
    """Nothing follows it, and it says of the directory what that is; nor does anything follow the
    last byte of a member that `inflate` needs.
    """
    path = pack(tmp_path)
    content = path.read_bytes()
    end = len(content) - 22
    assert content[end : end + 4] == b"PK\5\6"
    match what:
        case "after":
            content += b"PK\3\4 and more"
        case "long comment":
            content += b"x"
        case "count":
            content = changed(content, end + 10, b"\2\0")
        case "count of this disk":
            content = changed(content, end + 8, b"\2\0")
        case "disk":
            content = changed(content, end + 4, b"\1\0")
        case "start":
            content = changed(content, end + 16, b"\0\0\0\0")
        case _:
            made = io.BytesIO()
            with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as other:
                other.writestr("SHA256SUMS", b"")
            content = made.getvalue()
            at = content.index(b"PK\1\2")
            content = content[:at] + b"xxxx" + content[at:]
            content = changed(content, 18, b"\6\0\0\0")
            content = changed(content, at + 4 + 20, b"\6\0\0\0")
            content = changed(content, len(content) - 6, struct.pack("<L", at + 4))
            with zipfile.ZipFile(io.BytesIO(content)) as opened:
                assert opened.testzip() is None
    path.write_bytes(content)
    with pytest.raises(PackError, match=r"none of its files|damaged|overlap"):
        unpacked(path, tmp_path / "to")


def test_a_large_pack_ends_in_64_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one with more than 65,535 files does; what its two ends say is compared, too."""
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 2)
    path = pack(tmp_path)
    content = path.read_bytes()
    at = content.index(b"PK\6\6")
    assert (unpacked(path, tmp_path / "to") / "run").read_bytes() == FILES["run"]
    for number, place in enumerate((at + 4, at + 24, at + 40, at + 48, at + 56 + 8)):
        path.write_bytes(changed(content, place, b"\x77"))
        with pytest.raises(PackError):
            unpacked(path, tmp_path / f"again{number}")


class Stream(io.BytesIO):
    """What a zip file cannot go back in: the sizes of a member follow it."""

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError


@pytest.mark.parametrize("large", [False, True])
def test_sizes_after_a_member_are_read_and_compared(tmp_path: Path, large: bool) -> None:
    sums = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n"
        for name, content in sorted(FILES.items())
        if isinstance(content, bytes)
    )
    made = Stream()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as zipped_by_others:
        for name, content in {**FILES, "SHA256SUMS": sums.encode()}.items():
            assert isinstance(content, bytes)
            with zipped_by_others.open(name, "w", force_zip64=large) as member:
                member.write(content)
    path = tmp_path / "a.zip"
    path.write_bytes(made.getvalue())
    assert (unpacked(path, tmp_path / "to") / "run").read_bytes() == FILES["run"]
    at = made.getvalue().index(b"PK\7\x08")
    path.write_bytes(changed(made.getvalue(), at + 4, b"\1\2\3\4"))
    with pytest.raises(PackError, match="contradicts"):
        unpacked(path, tmp_path / "again")


def test_names_that_are_the_same_text_are_refused(tmp_path: Path) -> None:
    path = rewritten(pack(tmp_path), lambda m: m.update({"\u00e9": b"x", "e\u0301": b"y"}))
    with pytest.raises(PackError, match="twice"):
        unpacked(path, tmp_path / "to")


@pytest.mark.parametrize(
    ("mine", "theirs", "equal"),
    [
        ("x 1.25 y", "x 1.25 y", True),
        ("x 1.25 y", "x 1.2500000001 y", True),
        ("x 1.25 y", "x 1.2501 y", False),
        ("x 1.25 y", "z 1.25 y", False),
        ("seed 9223372036854775807", "seed 9223372036854775806", False),
        ("1.25", "\u0661.\u0662\u0665", False),
        ("1.25", "1.25 1.25", False),
        ("1.5e-7", "1.5000000000001e-7", True),
        ("1.5e308", "1.5e309", False),
    ],
)
def test_texts_are_the_same_but_for_last_digits(mine: str, theirs: str, equal: bool) -> None:
    assert comparing.same_text(mine, theirs) is equal


@pytest.mark.parametrize(
    ("change", "equal"),
    [
        ("SELECT * FROM rows ORDER BY a", True),
        ("SELECT * FROM rows ORDER BY a DESC", False),
        ("SELECT a, b, a AS c FROM rows ORDER BY a", False),
        ("SELECT * FROM rows WHERE a < 3 ORDER BY a", False),
        ("SELECT a, b::FLOAT AS b FROM rows ORDER BY a", False),
        ("SELECT a, CASE a WHEN 1 THEN 0 ELSE b END AS b FROM rows ORDER BY a", False),
    ],
)
def test_tables_that_another_library_wrote_are_compared_by_their_rows(
    tmp_path: Path, change: str, equal: bool
) -> None:
    mine, theirs = tmp_path / "mine.parquet", tmp_path / "theirs.parquet"
    with duckdb.connect() as connection:
        rows = "SELECT range AS a, if(range = 2, 'nan'::DOUBLE, range / 3) AS b FROM range(5)"
        connection.execute(f"CREATE TABLE rows AS {rows}")
        connection.execute(f"COPY rows TO '{mine}' (FORMAT parquet)")
        connection.execute(f"COPY ({change}) TO '{theirs}' (FORMAT parquet, COMPRESSION gzip)")
    assert mine.read_bytes() != theirs.read_bytes()
    assert comparing.same("tables/x.parquet", mine, theirs) is equal
    theirs.write_bytes(b"PAR1" + theirs.read_bytes()[4:-9])
    assert not comparing.same("tables/x.parquet", mine, theirs)


def test_files_of_cells_are_compared_without_holding_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pack of 50 MB may unpack to a file of 10 GB."""
    folders = tmp_path / "one", tmp_path / "other"
    with duckdb.connect() as connection:
        for folder in folders:
            folder.mkdir()
            connection.execute(f"COPY (SELECT 1 AS a) TO '{folder}/x.parquet' (FORMAT parquet)")
            (folder / "x.har").write_text("{}")
    monkeypatch.delattr(Path, "read_bytes")
    names = ("x.parquet", "x.har")
    assert all(verification.same_file(*(folder / name for folder in folders)) for name in names)
    for name in names:
        with (folders[1] / name).open("ab") as file:
            file.truncate(10 << 30)
        assert not verification.same_file(*(folder / name for folder in folders))

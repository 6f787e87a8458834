"""Container images as data: what their layers come to, and what is refused."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from madeimages import FOLDER, docker, layer, oci, write

from fairc.cell.workloads import IMAGE_USER
from fairc.dsl.core import tars
from fairc.runtime.uml import image_files
from fairc.words.container_images import ImageError, read

OWN = {"dev", "old", "proc", "program", "sys", "tmp", "work", "etc"}
OWN |= {f"etc/{name}" for name in ("group", "hostname", "hosts", "passwd", "resolv.conf")}


def flattened(path: Path) -> dict[str, Any]:
    """Return what an image comes to, without what every one has: bytes, the target of a symbolic
    link, (that of a hard link,), or FOLDER.
    """
    out, found = io.BytesIO(), dict[str, Any]()
    with path.open("rb") as file:
        count, size = image_files.flatten(file, read(file), out)
    out.seek(0)
    with tarfile.open(fileobj=out, mode="r:") as archive:
        for member in archive:
            assert (member.uid, member.gid) == (IMAGE_USER, IMAGE_USER)
            file_of = archive.extractfile(member) if member.isreg() else None
            found[member.name] = (
                file_of.read()
                if file_of is not None
                else member.linkname
                if member.issym()
                else (member.linkname,)
                if member.islnk()
                else FOLDER
            )
    hard = sum(isinstance(each, tuple) for each in found.values())
    assert count == len(found) - hard
    assert size == sum(len(each) for each in found.values() if isinstance(each, bytes))
    assert found.keys() >= OWN
    return {name: each for name, each in found.items() if name not in OWN}


LAYERS = (
    [
        ("usr/lib", FOLDER),
        ("lib", "usr/lib"),
        ("usr/lib/a", b"a, below"),
        ("usr/lib/b", b"b"),
        ("usr/lib/b2", ("usr/lib/b",)),
        ("gone", FOLDER),
        ("gone/deep/file", b"1"),
        ("opaque/old", b"1"),
        ("opaque/kept/old", b"1"),
        ("was-folder/file", b"1"),
        ("was-file", b"1"),
    ],
    [
        ("./usr/lib/a", b"a, above"),
        ("lib/through-a-link", b"2"),
        (".wh.gone", b""),
        ("opaque/kept/new", b"2"),
        ("opaque/.wh..wh..opq", b""),
        ("opaque/new", b"2"),
        ("was-folder", b"2"),
        ("was-file/now", b"2"),
        ("lib/.wh.b", b""),
    ],
)
EXPECTED = {
    "usr": FOLDER,
    "usr/lib": FOLDER,
    "lib": "usr/lib",
    "usr/lib/a": b"a, above",
    "usr/lib/b2": b"b",
    "usr/lib/through-a-link": b"2",
    "opaque": FOLDER,
    "opaque/kept": FOLDER,
    "opaque/kept/new": b"2",
    "opaque/new": b"2",
    "was-folder": b"2",
    "was-file": FOLDER,
    "was-file/now": b"2",
}


@pytest.mark.parametrize("compress", ["", "gzip"])
@pytest.mark.parametrize("write_image", [docker, oci])
def test_layers_are_put_on_one_another(tmp_path: Path, write_image: Any, compress: str) -> None:
    layers = [layer(entries, compress) for entries in LAYERS]
    assert flattened(write_image(tmp_path / "x.tar", layers)) == EXPECTED


def test_a_file_with_two_names_stays_one(tmp_path: Path) -> None:
    both = docker(tmp_path / "x.tar", [layer([("a", b"1"), ("b", ("a",))])])
    assert flattened(both) == {"a": b"1", "b": ("a",)}


def test_what_the_guest_writes_to_is_plain(tmp_path: Path) -> None:
    """No link of an image leads the guest's own writes elsewhere; accounts stay, and get one."""
    hostile = [
        ("dev", "/etc"),
        ("work", "/usr"),
        ("tmp/x", b"1"),
        ("secret", b"root::0:0\n"),
        ("etc/hosts", "/secret"),
        ("etc/resolv.conf", ("secret",)),
        ("etc/passwd", ("secret",)),
        ("etc/group", "/secret"),
    ]
    path = docker(tmp_path / "x.tar", [layer(hostile)])
    assert flattened(path) == {"secret": b"root::0:0\n"}
    out = io.BytesIO()
    with path.open("rb") as file:
        image_files.flatten(file, read(file), out)
    out.seek(0)
    with tarfile.open(fileobj=out) as archive:
        kinds = {m.name: m.type for m in archive if m.name in OWN}
        assert kinds["dev"] == kinds["work"] == tarfile.DIRTYPE
        assert kinds["etc/hosts"] == kinds["etc/resolv.conf"] == tarfile.REGTYPE
        accounts = archive.extractfile("etc/passwd")
        assert accounts is not None
        expected = f"root::0:0\nprogram:x:{IMAGE_USER}:{IMAGE_USER}::/work:/bin/sh\n"
        assert accounts.read().decode() == expected
    folder = docker(tmp_path / "y.tar", [layer([("usr/etc/x", b"1"), ("etc", "usr/etc")])])
    assert flattened(folder) == {"usr": FOLDER, "usr/etc": FOLDER, "usr/etc/x": b"1"}


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([("../x", b"")], "a file of the name"),
        ([("a", "b"), ("b", "a"), ("a/x", b"")], "lead round in a circle"),
        ([("a", ("nothing",))], "leads to no file"),
        ([("a" * 300, b"")], "a file of the name"),
    ],
)
def test_what_cannot_be_put_together(tmp_path: Path, entries: Any, words: str) -> None:
    with pytest.raises(ImageError, match=words):
        flattened(docker(tmp_path / "x.tar", [layer(entries)]))


def test_what_is_no_image(tmp_path: Path) -> None:
    good = layer([("a", b"1")])
    cases = {
        "cannot be read as a tar": tmp_path / "text",
        "neither `manifest.json` nor `index.json`": write(tmp_path / "1", {"a": b""}),
        "it holds 2 images": write(tmp_path / "2", {"manifest.json": b"[{}, {}]"}),
        "not those of an image": write(tmp_path / "3", {"manifest.json": b"7"}),
        "it lacks `nothing`": write(
            tmp_path / "4", {"manifest.json": b'[{"Config": "nothing", "Layers": []}]'}
        ),
        "it holds 0 images for amd64": write(tmp_path / "5", {"index.json": b'{"manifests": []}'}),
        "it is for linux on arm64": docker(tmp_path / "6", [good], architecture="arm64"),
        "it has 0 layers": docker(tmp_path / "7", []),
        "a variable with the name 'A B'": docker(tmp_path / "8", [good], ["A B=1"]),
    }
    (tmp_path / "text").write_text("no tar")
    for words, path in cases.items():
        with path.open("rb") as file, pytest.raises(ImageError, match=words):
            read(file)


def test_as_much_as_an_image_may_have_and_one_more(tmp_path: Path) -> None:
    good, *others = layers = [layer([(f"{number}", b"")]) for number in range(128)]
    variables = [f"V{number}={'x' * 1000}" for number in range(100)]
    with docker(tmp_path / "most", others, variables).open("rb") as file:
        most = read(file)
    assert [f"{name}={value}" for name, value in most.environment] == variables
    assert len(most.layers) == 127
    cases = {
        "more than 100 variables": docker(tmp_path / "1", [good], [*variables, "ONE=more"]),
        "its variable V cannot be read": docker(tmp_path / "2", [good], [f"V={'x' * 1001}"]),
        "it has 128 layers": docker(tmp_path / "3", layers),
    }
    for words, path in cases.items():
        with path.open("rb") as file, pytest.raises(ImageError, match=words):
            read(file)


def test_a_layer_that_ends_early(tmp_path: Path) -> None:
    for cut in (layer([("a", bytes(5000))])[:2000], layer([("a", bytes(99_000))], "gzip")[:60]):
        with pytest.raises(ImageError, match="its layers cannot be read"):
            flattened(docker(tmp_path / "x.tar", [cut]))


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_files, "MOST_ENTRIES", 3)
    pairs = ((("a", b""), ("b", b"")), (("c", b""), ("d", b"")))
    many = docker(tmp_path / "x.tar", [layer(pair) for pair in pairs])
    with pytest.raises(ImageError, match="more than 3 files"):
        flattened(many)
    monkeypatch.setattr(image_files, "MOST_BYTES", 99)
    large = docker(tmp_path / "y.tar", [layer([("a", bytes(100))], "gzip")])
    with pytest.raises(ImageError, match="a layer has more than"):
        flattened(large)


def head(kind: bytes, size: int = 0, name: str = "x") -> bytes:
    """Return a tar's header alone."""
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.USTAR_FORMAT)


def common(number: int) -> bytes:
    """Return a global header with this number of values, which apply to every member."""
    records = b"".join(b"15 k%07d=1\n\n" % n for n in range(number))
    return head(b"g", len(records)) + records + bytes(-len(records) % 512)


def test_headers_of_layers_are_bounded(tmp_path: Path) -> None:
    """tarfile holds a header in memory, and copies what all members have for each."""
    large = 2 * tars.MOST_HEADER_BYTES
    for number, content in enumerate(
        (
            head(b"x", large) + bytes(large),
            head(b"L", large) + b"a" * large,
            common(200),
            head(b"0", 5 << 30),
        )
    ):
        packed = gzip.compress(content + head(b"0") + bytes(1024))
        with (
            docker(tmp_path / f"{number}.tar", [packed]).open("rb") as file,
            pytest.raises(ImageError, match=r"too large|for all its files|more than"),
        ):
            image_files.flatten(file, read(file), io.BytesIO())
    whole = head(b"0", large) + b"1" * large + head(b"0", name="y") + bytes(1024)
    for number, content in enumerate((whole, common(2) + whole)):
        there = flattened(docker(tmp_path / f"well{number}.tar", [gzip.compress(content)]))
        assert there == {"x": b"1" * large, "y": b""}


def test_headers_of_an_image_are_bounded(tmp_path: Path) -> None:
    for content, words in (
        (head(b"x", 9 << 20) + bytes(9 << 20), "more than 8 MiB"),
        (common(200), "for all its files"),
        (b"".join(head(b"0", name=f"f{n}") for n in range(10_001)), "more than 10,000"),
    ):
        with pytest.raises(ImageError, match=words):
            read(io.BytesIO(content + head(b"0") + bytes(1024)))

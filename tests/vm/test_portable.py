"""An image as one file: equal, whole, and of this version, or refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairc.runtime.host import archive, clean, supervisor
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.vm import image, portable, recipe

RECIPE = "0123456789abcdef"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, whose recipe is RECIPE."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(recipe.Variant, "hash", lambda self: RECIPE)
    return tmp_path / "cache/fairc/images"


def built(content: bytes = b"root") -> image.Image:
    """Make an image of small files where the cache has it."""
    folder = image.folder()
    (folder / "modules").mkdir(parents=True)
    (folder / "root.ext2").write_bytes(content + bytes(100_000))
    (folder / "modules/nfit.ko").write_bytes(b"module")
    (folder / "build.log").write_text("today")
    digest = image.digest(folder)
    manifest = {"recipe": RECIPE, "digest": digest, "kernel": "6.12"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found = image.find()
    assert found is not None and found.digest == digest
    return found


def save(saved: image.Image, file: Path) -> str:
    return portable.save([portable.Part("images", saved.folder, saved.digest)], file)


def load(file: Path) -> tuple[Path, str]:
    (part,) = portable.load(file, {"images": (RECIPE,), "kernels": ()})
    return part.folder, part.digest


def test_an_image_comes_back_as_it_was(tmp_path: Path, cache: Path) -> None:
    saved = built()
    sha256 = save(saved, tmp_path / "image")
    (saved.folder / "build.log").write_text("tomorrow")
    assert save(saved, tmp_path / "again") == sha256
    assert (tmp_path / "again").read_bytes() == (tmp_path / "image").read_bytes()
    assert image.remove() == [cache]
    assert image.find() is None
    assert load(tmp_path / "image") == (cache / RECIPE, saved.digest)
    found = image.find()
    assert found is not None and found.digest == image.digest(found.folder) == saved.digest
    assert load(tmp_path / "image")[1] == saved.digest  # once more does no harm
    assert [path.name for path in cache.iterdir()] == [RECIPE]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "cache", "image"]


def test_what_a_killed_command_left_is_removed(tmp_path: Path) -> None:
    """An unfinished image has a gigabyte."""
    saved = built()
    left = tmp_path / f"fairc-saving-999999999-1-{supervisor.namespace()}-abc"
    left.mkdir()
    names = list[str]()

    def pack(*_: object) -> None:
        names.extend(path.name for path in tmp_path.iterdir())
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(archive, "pack_several", pack)
        save(saved, tmp_path / "image")
    assert left.name not in names
    (own,) = set(names) - {"cache"}
    assert clean.TEMPORARY.fullmatch(own)
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def damaged(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-40])


def other(file: Path) -> None:
    file.write_text("not an image")


def gone(file: Path) -> None:
    file.unlink()


@pytest.mark.parametrize(
    ("change", "words"),
    [(damaged, "is damaged"), (other, "is damaged"), (gone, "is not a file")],
)
def test_a_file_that_is_no_image(
    tmp_path: Path, cache: Path, change: Callable[[Path], None], words: str
) -> None:
    save(built(), tmp_path / "image")
    image.remove()
    change(tmp_path / "image")
    with pytest.raises(portable.ImageFileError, match=words):
        load(tmp_path / "image")
    assert image.find() is None


def test_content_that_has_not_its_hash(tmp_path: Path) -> None:
    saved = built()
    (saved.folder / "root.ext2").write_bytes(b"changed")
    save(saved, tmp_path / "image")
    image.remove()
    with pytest.raises(portable.ImageFileError, match="does not match its hash"):
        load(tmp_path / "image")
    assert image.find() is None


RUBBISH = (
    "[]",
    "7",
    "null",
    "{}",
    "\x00\xff",
    "[" * 5000 + "]" * 5000,
    '{"recipe": [], "digest": {}, "kernel": 1}',
    json.dumps({"recipe": "../../x", "digest": "0" * 64, "kernel": "6.12"}),
    json.dumps({"recipe": RECIPE, "digest": "0" * 64, "kernel": "\x1b[2J"}),
)


@pytest.mark.parametrize("manifest", RUBBISH)
def test_rubbish_in_a_manifest(tmp_path: Path, manifest: str) -> None:
    saved = built()
    (saved.folder / "manifest.json").write_text(manifest, encoding="latin-1")
    with pytest.raises(EngineUnavailable, match="is damaged"):
        image.find()
    save(saved, tmp_path / "image")
    image.remove()
    with pytest.raises(portable.ImageFileError, match="is damaged"):
        load(tmp_path / "image")
    assert image.find() is None


def test_a_pipe_is_no_manifest(cache: Path) -> None:
    """Reading it would wait for ever."""
    manifest = built().folder / "manifest.json"
    manifest.unlink()
    os.mkfifo(manifest)
    with pytest.raises(EngineUnavailable, match="is damaged"):
        image.find()


def test_another_version_and_another_build_are_refused(tmp_path: Path, cache: Path) -> None:
    save(built(), tmp_path / "image")
    with pytest.raises(portable.ImageFileError, match="another version of fairc"):
        portable.load(tmp_path / "image", {"images": ("fedcba9876543210",)})
    image.remove()
    there = built(b"built a month later")
    with pytest.raises(portable.ImageFileError, match="`fairc image rm` removes it"):
        load(tmp_path / "image")
    assert image.find() == there


def test_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fairc import __main__ as program

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["fairc", *arguments])
        with pytest.raises(SystemExit) as end:
            program.main()
        said: Any = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return end.value.code, said.out, said.err

    file = str(tmp_path / "image")
    assert call("image", "save", file)[0] == 3  # none has been built
    digest = built().digest
    status, out, _ = call("image", "save", file)
    assert status == 0 and digest in out and "sha256  " in out
    assert call("image", "save", str(tmp_path / "no/image"))[0] == 2
    image.remove()
    status, out, _ = call("image", "load", file)
    assert status == 0 and digest in out
    status, _, err = call("image", "load", str(tmp_path / "nothing"))
    assert status == 2 and "is not a file" in err

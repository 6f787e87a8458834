"""Programs out of a pack: what is taken, what is refused, and where their machine is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fairc.compiler.targets import runner
from fairc.runtime.vm import foreign, image, initramfs, recipe, snapshot

NAME = "fairc-endpoints"
IMAGE = image.Image(recipe.PLAIN, Path("/nowhere"), "0" * 16, "0" * 64, "7")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The programs of a pack that this installation wrote."""
    made = tmp_path / "cells"
    made.mkdir()
    runner.copy(made)
    (made / NAME).write_bytes(b"\x7fELF and so on")
    return made


def of(folder: Path) -> foreign.Foreign:
    found = foreign.of_folder(folder, NAME, folder.parent / "home")
    assert isinstance(found, foreign.Foreign)
    return found


def test_programs_that_are_ours_are_the_same_machine(folder: Path) -> None:
    assert of(folder).identity == runner.identity()
    module = folder / "cell" / "netlink.py"
    module.write_text(module.read_text() + "\n# a stranger's\n")
    assert of(folder).identity != runner.identity()


def test_the_guest_gets_the_packs_programs_and_not_ours(folder: Path) -> None:
    (folder / "cell" / "netlink.py").write_text("print('a stranger')\n")
    found = of(folder)
    files = initramfs.guest_files(
        recipe.PLAIN, found.endpoints, "machine_qemu.py", True, found.modules
    )
    assert files["cell/netlink.py"] == b"print('a stranger')\n"
    assert files[NAME].startswith(b"\x7fELF and")
    assert files["agent.py"] == (recipe.GUEST / "agent.py").read_bytes()


def many(folder: Path) -> None:
    for i in range(250):
        (folder / f"x{i}.py").touch()


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no endpoints": (lambda f: (f / NAME).unlink(), "no programs"),
    "a script for endpoints": (lambda f: (f / NAME).write_text("#!/bin/sh"), "is not a program"),
    "another kind of file": (lambda f: (f / "cell" / "a.so").write_text(""), "a.so"),
    "a folder": (lambda f: (f / "cell" / "x.py").mkdir(), "x.py"),
    "a large module": (lambda f: (f / "cell" / "x.py").write_bytes(b"#" * (1 << 21)), "larger"),
    "many modules": (lambda f: many(f / "cell"), "more than"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_what_is_refused(folder: Path, what: str) -> None:
    damage, words = DAMAGE[what]
    damage(folder)
    found = foreign.of_folder(folder, NAME, folder.parent / "home")
    assert isinstance(found, str) and words in found


def test_a_strangers_machine_is_kept_apart_from_the_cache(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(one: snapshot.Snapshot, archive: bytes, shift: int) -> None:
        one.folder.mkdir()
        one.memory.write_bytes(b"memory")
        one.state.write_bytes(b"state")
        (one.folder / snapshot.DIGEST).write_text(snapshot.digest(one.folder))

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(snapshot, "boot_archive", lambda *_, **__: b"archive")
    monkeypatch.setattr(snapshot, "_identity", lambda *_, **__: "5" * 64)
    monkeypatch.setattr(snapshot, "_take", take)
    programs = of(folder)
    found = snapshot.obtain(IMAGE, programs.endpoints, lambda _: None, 0, programs)
    assert found.folder.parent == programs.home
    assert not (tmp_path / "cache").exists()

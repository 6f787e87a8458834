"""A snapshot is verified before it is used, taken anew when it is damaged, and never waited for
without end.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import eventually

from fairc.dsl.core.cache import cache_directory
from fairc.runtime.host import supervisor
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.vm import image, qemu, recipe, snapshot, verified

IMAGE = image.Image(recipe.PLAIN, Path("/nowhere"), "0" * 16, "0" * 64, "7")


@pytest.fixture
def taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders of the snapshots that were taken, each a small invented one."""
    found: list[Path] = []

    def take(one: snapshot.Snapshot, archive: bytes, shift: int) -> None:
        one.folder.mkdir(exist_ok=True)
        one.memory.write_bytes(b"memory" * 100)
        one.state.write_bytes(b"state" * 100)
        (one.folder / snapshot.DIGEST).write_text(snapshot.digest(one.folder))
        found.append(one.folder)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(snapshot, "boot_archive", lambda *_, **__: b"archive")
    monkeypatch.setattr(snapshot, "_identity", lambda *_, **__: "5" * 64)
    monkeypatch.setattr(snapshot, "_take", take)
    return found


def obtain(said: list[str]) -> snapshot.Snapshot:
    return snapshot.obtain(IMAGE, Path("endpoints"), said.append)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[7] ^= 1
    path.write_bytes(content)


DAMAGE: dict[str, Callable[[snapshot.Snapshot], object]] = {
    "an empty state": lambda s: s.state.write_bytes(b""),
    "a bit of the state": lambda s: flip(s.state),
    "a bit of the memory": lambda s: flip(s.memory),
    "half of the memory": lambda s: os.truncate(s.memory, 300),
    "no memory": lambda s: s.memory.unlink(),
    "no record": lambda s: (s.folder / snapshot.DIGEST).unlink(),
    "a damaged record": lambda s: flip(s.folder / snapshot.DIGEST),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_what_is_damaged_is_taken_anew(taken: list[Path], what: str) -> None:
    said: list[str] = []
    found = obtain(said)
    assert obtain(said).folder == found.folder and len(taken) == 1
    DAMAGE[what](found)
    assert obtain(said).whole() and len(taken) == 2
    assert any("does not match its record" in line for line in said)


def test_a_failing_disk_shows_when_everything_is_read(taken: list[Path]) -> None:
    """A bit that changes without anybody writing leaves sizes and times alone."""
    found = obtain([])
    assert found.whole()
    record = found.folder / "verified"
    flip(found.memory)
    record.write_text(verified._stamp([found.memory, found.state, found.folder / "digest"]))
    assert found.whole() and not found.whole(again=True)
    assert not found.whole()  # and then it is known


def test_a_cache_that_cannot_be_written(taken: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    found = obtain([])
    found.state.write_bytes(b"")

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(EngineUnavailable, match="no intact snapshot"):
        obtain([])


def test_what_a_killed_run_did_not_finish_is_removed(taken: list[Path]) -> None:
    left = cache_directory() / "snapshots" / f"{snapshot.TAKING}abc"
    left.mkdir(parents=True)
    (left / "memory").write_bytes(b"x")
    obtain([])
    assert not left.exists()


def test_a_state_that_never_comes_in_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        def command(self, name: str, **_: Any) -> dict[str, str]:
            return {"status": "setup"}

    monkeypatch.setattr(snapshot, "RESTORE_LIMIT_S", 0.05)
    with pytest.raises(RuntimeError, match="refused"):
        snapshot._await_migration(Silent(), "refused")  # type: ignore[arg-type]


def test_a_restore_that_hangs_is_ended_from_another_thread(tmp_path: Path) -> None:
    """QEMU accepts, and answers nothing; Ctrl-C ends it, and with it the wait."""
    code = (
        "import socket,time; s=socket.socket(socket.AF_UNIX); s.bind('monitor'); s.listen();"
        " c=s.accept(); open('accepted', 'w'); time.sleep(1000)"
    )
    group = supervisor.Group()

    def end() -> None:
        try:
            eventually((tmp_path / "accepted").exists)
        finally:
            group.end()

    with group.start([sys.executable, "-c", code], cwd=tmp_path):
        ender = threading.Thread(target=end)
        ender.start()
        with pytest.raises(OSError, match=r"ended|reset|refused|Broken pipe"):
            qemu.Monitor(tmp_path / "monitor", 120.0)
        ender.join()
    with group.start(["sleep", "1000"]) as late:  # after the end nothing runs any more
        assert late.wait(10) != 0

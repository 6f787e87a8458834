"""What containers of third-party images leave in their logs, without a Docker engine."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import plan_corpus
import pytest

from fairc.compiler import Cell
from fairc.compiler.targets import images
from fairc.runtime.containers import foreign
from fairc.runtime.engines.docker import DockerEngine


@pytest.fixture
def cell() -> Cell:
    return plan_corpus.corpus()["image"][1]


def test_logs_that_are_too_much_are_no_artefacts(
    cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sparse file takes no room, and would be packed for hours; many small ones, too."""
    monkeypatch.setattr(foreign, "MOST_LOG_FILES", 50)
    server, client = images.containers(cell.flows)
    for what in ("little", "a hole", "many"):
        folder = tmp_path / what / "artefacts"
        folder.mkdir(parents=True)
        for container in (server, client):
            images.make_folders(folder, container)
        logs = folder / server.name / "logs/qlog"
        logs.joinpath("a.qlog").write_text("x")
        logs.joinpath("link").symlink_to("/dev/zero")
        if what == "a hole":
            os.truncate(logs / "a.qlog", 5 << 30)
        for number in range(60 if what == "many" else 0):
            logs.joinpath(f"{number}").touch()
        excess = foreign.tidy(cell, folder)
        kept = (folder / server.name / "logs/qlog/a.qlog").exists()
        assert (folder / client.name / "logs").is_dir() and not list(folder.rglob("downloads"))
        if what == "little":
            assert excess == "" and kept
        else:
            assert excess == f"{server.name} left more than 4 GiB or 50 files in /logs"
            assert not kept and (tmp_path / what / server.name).is_dir()


def test_other_users_do_not_get_at_what_containers_write(
    cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder is anybody's, because nobody knows who they are in a container."""
    modes = list[int]()

    def run(engine: DockerEngine, cell: Cell, artefacts: Path) -> tuple[str, str]:
        modes.append(stat.S_IMODE(artefacts.parent.stat().st_mode))
        return "it ends here", ""

    monkeypatch.setattr(DockerEngine, "identity_for", lambda *_: "")
    monkeypatch.setattr(DockerEngine, "_refuse", lambda *_: None)
    monkeypatch.setattr(DockerEngine, "_run", run)
    place = tmp_path / "work"
    place.mkdir(mode=0o755)
    assert DockerEngine().run(cell, place).error == "it ends here"
    assert modes == [0o700]

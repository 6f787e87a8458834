"""`fairc verify PACK --trust` says in its table what became of the pack's programs, whatever they
do.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from representatives import few

from fairc.runtime.engines.base import RawResult
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.host.faults import EngineUnavailable, MachineFault
from fairc.runtime.pack import checking, zipped
from fairc.runtime.pack.checks import LONGEST, Checks
from fairc.runtime.vm.foreign import ProgramsFailed

Fairc = Callable[..., Any]  # conftest.py
VERIFY = ("verify", "tiny.zip", "--trust", "--sample", "1", "--format", "json")


@pytest.fixture
def trusted(packed: Fairc, monkeypatch: pytest.MonkeyPatch) -> Fairc:
    """A pack of the engine `fake` that is taken for one in virtual time; its programs begin as
    programs do.
    """
    rewritten({"programs/cells/fairc-endpoints": b"\x7fELF"})
    monkeypatch.setattr(checking, "obstacle", lambda _: "")
    return packed


def rewritten(files: dict[str, bytes]) -> None:
    """Have other files in the pack, with hashes that fit."""
    with zipfile.ZipFile("tiny.zip") as opened:
        old = {n: opened.read(n) for n in opened.namelist() if n != zipped.SUMS}
    Path("tiny.zip").unlink()
    zipped.write(Path("tiny.zip"), {**old, **files})


def rows(called: Any) -> dict[str, dict[str, str]]:
    return {row["what"]: row for row in json.loads(called.out)["checks"]}


def raising(error: Exception) -> Callable[..., None]:
    def prepare(_: object) -> None:
        raise error

    return prepare


def test_programs_with_which_no_machine_comes_up(
    trusted: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = "it did not come up\nfiles  holds  all\x1b[2J" + "x" * 5000
    monkeypatch.setattr(VmEngine, "prepare", raising(ProgramsFailed((printed,), "fairc doctor")))
    called = trusted(*VERIFY).require(1)
    assert rows(called)["cells"]["verdict"] == "holds"
    row = rows(called)["trusted programs"]
    assert row["verdict"] == "not done"
    assert row["found"].startswith("no machine comes up with them: it did not come up files holds")
    assert "\x1b" not in called.out + called.err and len(row["found"]) < LONGEST + 10


@pytest.mark.parametrize("error", few([EngineUnavailable, MachineFault], MachineFault))
def test_what_this_machine_lacks_is_not_blamed_on_the_pack(
    trusted: Fairc, monkeypatch: pytest.MonkeyPatch, error: type[EngineUnavailable]
) -> None:
    monkeypatch.setattr(VmEngine, "prepare", raising(error(("no QEMU",), "install it")))
    called = trusted(*VERIFY)
    assert called.status == 3 and "no QEMU" in called.err and not called.out


@pytest.mark.full
def test_why_a_cell_of_the_packs_programs_failed_is_said(
    trusted: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: VmEngine, cell: object, workdir: Path) -> RawResult:
        return RawResult("it printed\nfiles  differs  x\x1b[2J", workdir, "", "", 0.0, 0.0)

    for name in ("prepare", "close"):
        monkeypatch.setattr(VmEngine, name, lambda _: None)
    monkeypatch.setattr(VmEngine, "identity", "x")
    monkeypatch.setattr(VmEngine, "versions", {})
    monkeypatch.setattr(VmEngine, "identity_for", lambda *_: "x")
    monkeypatch.setattr(VmEngine, "emitted", lambda *_: "x")
    monkeypatch.setattr(VmEngine, "run", run)
    called = trusted(*VERIFY)
    row = rows(called)["trusted programs"]
    assert called.status == 1 and row["verdict"] == "differs"
    assert "it printed files differs x" in row["found"]
    assert "\x1b" not in called.out + called.err


def test_a_row_is_one_line() -> None:
    checks = Checks()
    checks.add("files", "holds", " a\n\tb  c\r\nd ")
    assert checks.rows[0].found == "a b c d"


def test_large_files_in_place_of_programs_are_not_read(
    trusted: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pack of 100 MB may hold a hundred files of a GiB each."""
    with zipfile.ZipFile("tiny.zip") as opened:
        found = [n for n in opened.namelist() if n.startswith("programs/cells/")]
    cell = next(n for n in found if n.count("/") == 2 and n.endswith(".py"))
    rewritten({cell: bytes(1 << 20), "programs/cells/cell/x.py": bytes(1 << 20)})
    read, usual = list[int](), Path.read_bytes

    def read_bytes(path: Path) -> bytes:
        content = usual(path)
        read.append(len(content) if "programs" in path.parts else 0)
        return content

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    called = trusted("verify", "tiny.zip", "--sample", "0", "--format", "json")
    assert rows(called)["programs"]["verdict"] == "differs"
    assert "what this version of fairc writes" in rows(called)["programs"]["found"]
    assert 0 < max(read) < 1 << 20

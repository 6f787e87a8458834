"""What a guest leaves is not believed: its header becomes names of files, lines on a terminal, and
numbers.
"""

from __future__ import annotations

import errno
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairc.compiler.plan import Requests
from fairc.runtime.engines import guest_job, script
from fairc.runtime.engines.script import failure
from fairc.runtime.host import faults
from fairc.runtime.host.faults import MachineFault
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.run import analyst
from fairc.runtime.vm import exchange

GOOD: dict[str, Any] = {"kind": "result", "error": "", "clock_s": 700.5}
CELL = b'{"ended_by": "finished", "notes": []}'


def left(folder: Path, header: dict[str, Any] | str) -> tuple[str, float, list[str]]:
    """Return error, virtual time and files of a guest that left this header, in an exchange."""
    device, artefacts = folder / "exchange", folder / "artefacts"
    artefacts.mkdir()
    exchange.create(device, GOOD, {"cell.json": CELL}, 1 << 20)
    if isinstance(header, dict):
        header = json.dumps({"files": [["cell.json", len(CELL)]], **GOOD, **header})
    text = header.encode()
    with device.open("r+b") as file:
        file.write(exchange.MAGIC + len(text).to_bytes(8, "little") + text)
    error, virtual_s = guest_job.read(device, artefacts, "")
    return error, virtual_s, sorted(path.name for path in artefacts.iterdir())


def test_a_result(tmp_path: Path) -> None:
    assert left(tmp_path, {}) == ("", 100.5, ["cell.json"])


HOSTILE: dict[str, dict[str, Any] | str] = {
    "an error that is no text": {"error": ["x"]},
    "an error that is a number": {"error": 1},
    "no time": {"clock_s": None},
    "a time of a truth": {"clock_s": True},
    "a time without end": {"clock_s": math.inf},
    "a time that is not a number": {"clock_s": math.nan},
    "a large time": {"clock_s": 10**400},
    "a line break in a name": {"files": [["a\nb", 1]]},
    "an escape in a name": {"files": [["\x1b[2J", 1]]},
    "a path": {"files": [["../x", 1]]},
    "half a character in a name": {"files": [["\udc80", 1]]},
    "a long name": {"files": [["x" * 300, 1]]},
    "a name that is none": {"files": [[1, 1]]},
    "a size that is none": {"files": [["x", 1.5]]},
    "a size of a truth": {"files": [["x", True]]},
    "a file alone": {"files": ["x"]},
    "more than there is": {"files": [["x", 1 << 30]]},
    "nothing of it": "{}",
    "a list": "[]",
    "depth": "[" * 100_000,
    "no JSON": "\x1b]0;x\x07",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_header_is_a_failed_cell(tmp_path: Path, what: str) -> None:
    error, virtual_s, files = left(tmp_path, HOSTILE[what])
    assert error.startswith("the virtual machine's results are broken: ")
    assert error.isprintable() and len(error) < 3000
    assert (virtual_s, files) == (0.0, [])


def test_a_full_disk_is_not_the_cells_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(exchange, "extract", full)
    with pytest.raises(OSError, match="No space left") as raised:
        left(tmp_path, {})
    assert isinstance(faults.of(raised.value), MachineFault)


def test_an_error_is_one_line_of_limited_length(tmp_path: Path) -> None:
    error, _, _ = left(tmp_path, {"files": [], "error": "a\nfiles   holds" + "x" * 10_000})
    assert error.startswith("a files holdsxxx") and len(error) == script.MOST_CHARACTERS


@pytest.mark.parametrize("text", ["[" * 100_000, '{"ended_by": "failed", "notes": [1]}'])
def test_a_broken_record_of_the_cell_is_a_failed_cell(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "artefacts"
    folder.mkdir()
    exchange.create(tmp_path / "x", {**GOOD, "error": "y"}, {"cell.json": text.encode()}, 1 << 20)
    error, _ = guest_job.read(tmp_path / "x", folder, "")
    assert "broken cell.json" in error


def test_a_record_that_no_cell_has_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "cell.json").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(ValueError, match="too large"):
        failure(tmp_path)


@pytest.mark.parametrize(("modules", "kernel"), [({"own": 1}, None), ({}, "own"), ({}, None)])
def test_results_of_a_module_that_take_all_memory_fail_its_cell_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, modules: dict[str, int], kernel: str | None
) -> None:
    """Without anything of the user's own in its kernel it is this computer that lacks memory."""

    def analyse(*_: object) -> None:
        raise MemoryError("Unable to allocate 8.00 EiB for an array")

    monkeypatch.setattr(analyst, "analyse", analyse)
    result = CellResult(
        cell="c",
        key="k",
        status="failed",
        virtual_s=0.0,
        wall_s=0.0,
        engine="uml",
        image="i",
    )
    ending = {"id": "c", "epoch_ns": 0, "ended_ns": 10**9, "ended_by": "finished", "processes": {}}
    (tmp_path / "cell.json").write_text(json.dumps(ending))
    cell = SimpleNamespace(modules=modules, kernel=kernel, deadline_ns=10**10)
    job: Any = SimpleNamespace(
        cell=cell, result=result, artefacts=tmp_path, folder=tmp_path, console=""
    )
    if modules or kernel:
        found, _ = analyst._analysed(job, Requests())
        assert found.status == "failed" and "could not analyse it: MemoryError" in found.error
    else:
        with pytest.raises(MachineFault, match="not enough memory"):
            analyst._analysed(job, Requests())

"""A run that is damaged, of another version, half done or being written: each command names what is
wrong in one message, or gives the numbers of the whole run.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from representatives import few

import fairc as package
from fairc.cli.failures import UsageError
from fairc.runtime.store.folder import Store, StoreError

Fairc = Callable[..., Any]  # conftest.py
RUN = Path("results/tiny")
CLAIM = 'claim "some" { holds = median(goodput, flow: a) > 1kbit/s }\n}'
NUMBERS = (
    ("table", str(RUN), "goodput", "--format", "csv"),
    ("verdict", str(RUN), "--format", "json"),
    ("methods", str(RUN)),
    ("compare", str(RUN), "whole", "--format", "json"),
    ("report", str(RUN)),
)
PACK = ("pack", str(RUN), "-o", "packed.zip")


def cut(path: Path) -> None:
    """Lose the second half."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def flip(path: Path) -> None:
    """Change a byte in the middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x55
    path.write_bytes(data)


def empty(path: Path) -> None:
    """Lose everything but the name."""
    path.write_bytes(b"")


def gone(path: Path) -> None:
    """Lose the file."""
    path.unlink()


def later(path: Path) -> None:
    """Be of a later version, with a field that this one does not know."""
    path.write_text(json.dumps(json.loads(path.read_text()) | {"of a later version": 1}))


def fewer(path: Path) -> None:
    """Lose the last line."""
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


DAMAGE = [
    *((name, how) for name in ("plan.json", "lock.json") for how in (cut, flip, empty, gone)),
    *(("cells.jsonl", how) for how in (cut, flip, empty, gone, fewer)),
    *(("files.json", how) for how in (cut, gone)),
    *(("spec/tiny.fexp", how) for how in (flip, gone)),
    *(("report.html", how) for how in (cut, gone)),
    *((f"cells/*/{name}", how) for name in ("result.json", "files.json") for how in (cut, flip)),
    *((f"cells/*/{name}.parquet", how) for name in ("slots", "samples") for how in (cut, flip)),
    *(("cells/*/raw.tar.zst", how) for how in (cut, flip)),
    *((f"tables/{name}.parquet", how) for name in ("metrics", "cells") for how in (cut, flip)),
    ("plan.json", later),
    ("cells/*/result.json", later),
]
KEPT = [
    ("cells.jsonl", empty),
    ("cells.jsonl", fewer),
    ("lock.json", cut),
    ("cells/*/result.json", later),
    ("tables/metrics.parquet", flip),
]


@pytest.fixture(scope="module")
def claimed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test of the module keeps its run."""
    return tmp_path_factory.mktemp("claimed") / "tiny"


@pytest.fixture
def ran(fairc: Fairc, without_report: None, claimed: Path) -> Fairc:
    """The command line, where a file with a claim has been run: `RUN`, and a copy, `whole`."""
    file = Path("tiny.fexp")
    file.write_text(file.read_text().rstrip().removesuffix("}") + CLAIM)
    if not claimed.exists():
        assert fairc("run", file).status == 0
        shutil.copytree(RUN, claimed)
    shutil.copytree(claimed, "whole")
    return fairc


def loaded() -> list[object]:
    """Return what Python says of the run's numbers."""
    run = package.load(RUN)
    return [
        repr(run),
        run.table("goodput"),
        run.claims,
        len(run.cells),
        run.series("cwnd").fetchall(),
    ]


def anew(change: Callable[[], object] = lambda: None) -> None:
    """Make the run whole, and change it."""
    shutil.rmtree(RUN, ignore_errors=True)
    shutil.copytree("whole", RUN)
    Path("packed.zip").unlink(missing_ok=True)
    change()


def require_one_message(called: Any) -> None:
    """A command that refuses says why once, and of what."""
    assert called.status == 2, called.err
    messages = [line for line in called.err.splitlines() if line.startswith("error: ")]
    assert len(messages) == 1 and str(RUN) in messages[0], called.err


@pytest.mark.parametrize(("name", "how"), few(DAMAGE, *KEPT))
def test_damage_is_named_or_changes_no_number(
    ran: Fairc, name: str, how: Callable[[Path], None]
) -> None:
    def change() -> None:
        how(min(RUN.glob(name)))

    anew()
    expected = {command: ran(*command).out for command in NUMBERS}
    numbers = loaded()
    for command in NUMBERS:
        anew(change)
        called = ran(*command)
        if called.status == 0:
            assert called.out == expected[command], command
        else:
            require_one_message(called)
    anew(change)
    try:
        assert loaded() == numbers
    except (StoreError, UsageError) as error:
        assert str(RUN) in str(error)
    anew(change)
    verified = ran("verify", RUN)
    if verified.status == 1:
        named = min(Path("whole").glob(name)).relative_to("whole").as_posix()
        folder = named.rpartition("/")[0]
        assert named in verified.out or (folder and folder in verified.out)
    else:
        require_one_message(verified)
    anew(change)
    called = ran(*PACK)
    if called.status == 0:
        assert ran("verify", "packed.zip").status == 0
    else:
        require_one_message(called)
        assert not Path("packed.zip").exists()


def half() -> None:
    """Lose two of six cells, and what was made of all."""
    for folder in sorted((RUN / "cells").iterdir())[:2]:
        shutil.rmtree(folder)


def test_a_run_that_is_half_done_says_how_much_there_is(ran: Fairc) -> None:
    """With and without another process that goes on with it."""
    anew(half)
    assert "4 cells: 4 valid" in repr(package.load(RUN))
    assert "2 of the plan not run" in repr(package.load(RUN))
    words = {
        "table": "2 of 6 cells have no result",
        "verdict": '"missing": 2',
        "methods": "of 4 cells, 4 were valid",
        "compare": '"first": 4',
        "report": "",
        "pack": "2 of the plan's 6 cells have no result",
    }
    for command in (*NUMBERS, PACK):
        anew(half)
        called = ran(*command)
        assert called.status == (command[0] == "compare"), called.err
        assert words[command[0]] in " ".join((called.out + called.err).split()), command
    anew(half)
    with Store(RUN):
        for command in (*NUMBERS, PACK):
            called = ran(*command)
            if called.status != 2:
                assert words[command[0]] in " ".join((called.out + called.err).split()), command
            else:
                assert "is being written by another fairc" in called.err, command

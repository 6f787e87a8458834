"""What a hostile plan once did on this machine's kernel, as root: it is refused, and nothing
happens.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from specs import compilation_of

from fairc.compiler import Cell, emit
from fairc.runtime.engines.mininet import MininetEngine
from fairc.runtime.host.faults import EngineUnavailable

# No loss and no delay: a host without netem can run it, too.
SPEC = """fexp 1
topology pair() {
  node s  router r  node c
  link s -- r { rate = 20Mbit/s  transmit = bucket }
  link r -- c { rate = 2Mbit/s  queue = fifo(20pkt)  transmit = bucket }
}
experiment pair {
  topology = pair()
  flow f { from = s  to = c  cca = cubic  workload = file(20kB) }
  measure = [goodput]
}
"""
UP = "../" * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A compiled plan that this machine can run."""
    try:
        MininetEngine().prepare()
    except EngineUnavailable as lacking:
        pytest.skip(f"mininet: {lacking}")
    emit(compilation_of(SPEC), tmp_path / "plan", ("json",))
    return tmp_path / "plan"


def route(cell: dict[str, Any], canary: Path) -> None:
    """A next hop of several lines: `ip -batch` takes each for a command."""
    more = f"\nnetns add {canary.name}\nnetns exec {canary.name} /bin/touch {canary}"
    cell["nodes"][0]["routes"][0]["via"] += more


def capture(cell: dict[str, Any], canary: Path) -> None:
    """A capture whose file is elsewhere."""
    cell["captures"][0]["name"] = UP + str(canary).lstrip("/")


def flow(cell: dict[str, Any], canary: Path) -> None:
    """A flow whose logs are elsewhere."""
    cell["flows"][0]["name"] = UP + str(canary).lstrip("/")


def module(cell: dict[str, Any], canary: Path) -> None:
    """A parameter of a CCA that is another file: it is written, and written back."""
    canary.with_name("victim").write_text("0")
    cell["flows"][0]["cca_parameters"] = {UP + str(canary.with_name("victim")).lstrip("/"): 7}


@pytest.mark.parametrize("attack", [route, capture, flow, module])
def test_an_attack_does_nothing(
    folder: Path, tmp_path: Path, attack: Callable[[dict[str, Any], Path], None]
) -> None:
    canary = tmp_path / "canary"
    cell = json.loads((folder / "cells.jsonl").read_text())
    attack(cell, canary)
    (folder / "cells.jsonl").write_text(json.dumps(cell) + "\n")
    times = {p: p.stat().st_mtime_ns for p in tmp_path.glob("victim")}
    command = [sys.executable, "-m", "fairc", "run", str(folder), "--engine", "mininet", "-q"]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if tool := shutil.which("ip"):  # what the attack would have left
        subprocess.run([tool, "netns", "delete", canary.name], capture_output=True, check=False)
    assert done.returncode == 2 and f"{folder}/cells.jsonl:1 is not a cell" in done.stderr, (
        done.stderr
    )
    assert not [*tmp_path.glob("canary*")]
    assert {p: p.stat().st_mtime_ns for p in tmp_path.glob("victim")} == times
    assert not [*(tmp_path / "run").glob("cells/*")]


def test_the_program_is_not_made_of_a_cell_that_nobody_has_checked(
    folder: Path, tmp_path: Path
) -> None:
    """The border where lines are made does not rely on the plan's types."""
    cell = Cell.model_validate_json((folder / "cells.jsonl").read_text())
    node = cell.nodes[0]
    via = f"{node.routes[0].via}\nnetns add canary\nnetns exec canary /bin/touch {tmp_path}/canary"
    hurt = node.model_copy(update={"routes": (replace(node.routes[0], via=via),)})
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(ValueError, match="not a line of a batch"):
        MininetEngine().run(cell.model_copy(update={"nodes": (hurt, *cell.nodes[1:])}), work)
    assert not (tmp_path / "canary").exists()

"""Programs of the user's own run only where the user says so, and only on the engine that confines
them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairc.dsl import CompileError, Source, load
from fairc.dsl.core.diagnostics import Diagnostic

Fairc = Callable[..., Any]  # conftest.py

SPEC = """fexp 1
experiment mine {{
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)
  flow a {{ {flow} }}
  duration = 5s
  measure = [goodput]
}}
"""
OWN = 'workload = program(server: ["./server"], client: ["./server", "{server}", "{port}"])'


def spec(flow: str, folder: Path) -> str:
    (folder / "server").write_text("#!/bin/sh\n")
    return SPEC.format(flow=flow)


def refused(flow: str, folder: Path) -> Diagnostic:
    experiment, found = load(Source(f"{folder}/mine.fexp", spec(flow, folder)))
    assert experiment is None
    return CompileError(found).diagnostics[0]


def test_without_leave(fairc: Fairc) -> None:
    Path("mine.fexp").write_text(spec(f"cca = cubic  {OWN}", Path()))
    called = fairc("run", "mine.fexp", "--engine", "uml")
    assert called.status == 2
    assert "error: these flows run programs, which are code: `a`" in called.err
    assert "`--allow-program` lets them run" in called.err
    assert not Path("results/mine/plan.json").exists()
    called = fairc("run", "mine.fexp", "--engine", "vm", "--allow-program")
    assert called.status == 2
    assert "flow `a` runs programs of your own (line 4), which vm cannot run" in called.err
    Path("run").mkdir()
    assert "are for packs" in fairc("verify", "run", "--allow-program").err


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        (f"over = quic  cca = cubic  {OWN}", "a program brings its own QUIC"),
        (f"cca = cubic  count = 2  {OWN}", "`count` does not apply to a program"),
        (f"over = udp  rate = 1Mbit/s  {OWN}", "`rate` does not apply to a program"),
        (
            'cca = cubic  workload = program(server: ["../server"], client: ["./../server"])',
            "a file of an experiment must be in the experiment's folder or below it",
        ),
        (
            'cca = cubic  workload = program(server: ["./none"], client: ["true"])',
            "`./none` cannot be read: no such file or directory",
        ),
        (
            'cca = cubic  workload = program(server: ["./arm"], client: ["true"])',
            "`./arm` is for 64-bit ARM, and the hosts are x86-64",
        ),
    ],
)
def test_what_a_flow_cannot_have(flow: str, message: str, tmp_path: Path) -> None:
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + (2).to_bytes(2, "little")
    (tmp_path / "arm").write_bytes(header + (183).to_bytes(2, "little") + bytes(44))
    assert refused(flow, tmp_path).message == message

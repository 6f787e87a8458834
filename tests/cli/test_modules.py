"""Kernel modules run only where the user says so, and only on the engine that confines them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairc.dsl import CompileError, Source, load
from fairc.dsl.core.diagnostics import Diagnostic

Fairc = Callable[..., Any]  # conftest.py

AIMD = Path(__file__).parents[2] / "examples" / "module" / "tcp_aimd.c"
SPEC = """fexp 1
experiment mine {{
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)
  flow a {{ cca = {cca}  workload = file(100kB) }}
  measure = [goodput]
}}
"""


@pytest.fixture
def spec(fairc: Fairc, tmp_path: Path) -> str:
    """Write an experiment whose flow has a module."""
    shutil.copy(AIMD, tmp_path)
    (tmp_path / "mine.fexp").write_text(SPEC.format(cca='module("tcp_aimd.c", gain: 2)'))
    return "mine.fexp"


def test_without_leave(fairc: Fairc, spec: str) -> None:
    called = fairc("run", spec, "--engine", "uml")
    assert called.status == 2
    assert "error: flows load kernel modules, which are code: `tcp_aimd.c`" in called.err
    assert "`--allow-module` compiles them" in called.err
    assert not Path("results/mine/plan.json").exists()


@pytest.mark.parametrize("engine", ["mininet", "docker"])
def test_on_an_engine_that_does_not_confine_it(fairc: Fairc, spec: str, engine: str) -> None:
    called = fairc("run", spec, "--engine", engine, "--allow-module")
    assert called.status == 2
    assert f"loads a kernel module (line 4), which {engine} cannot load" in called.err


def test_of_a_run_directory_there_is_nothing_to_allow(fairc: Fairc) -> None:
    Path("run").mkdir()
    assert "are for packs" in fairc("verify", "run", "--allow-module").err


def refused(cca: str, folder: Path) -> Diagnostic:
    shutil.copy(AIMD, folder)
    experiment, found = load(Source(f"{folder}/mine.fexp", SPEC.format(cca=cca)))
    assert experiment is None
    return CompileError(found).diagnostics[0]


@pytest.mark.parametrize(
    ("cca", "code", "message"),
    [
        ('module("tcp_aimd.c", gian: 2)', "unknown-argument", "the module has no parameter `gian`"),
        ('module("tcp_aimd.c", gain: 1.5)', "wrong-type", "must be a whole number"),
        ('module("tcp_aimd.c", gain: 2ms)', "wrong-type", "must be a whole number"),
        ('module("tcp_aimd.c", gain: 1, gain: 2)', "duplicate-argument", "`gain` is given twice"),
        ('module("tcp_aimd.c", "aimd", 3)', "too-many-arguments", "without a name"),
        ('module("tcp_aimd.c", name: "Aimd")', "bad-module", "`Aimd` is not a CCA name"),
        ('module("../tcp_aimd.c")', "file-path", "in the experiment's folder"),
        ('module("tcp_none.c")', "unreadable", "cannot be read"),
        ("module()", "missing-argument", "needs its argument `source`"),
    ],
)
def test_words_that_are_none_of_a_module(tmp_path: Path, cca: str, code: str, message: str) -> None:
    found = refused(cca, tmp_path)
    assert (found.code, message in found.message) == (code, True), found.message

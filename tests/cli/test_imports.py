"""What commands import: only what they need, as imports are most of what short commands take."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import completed

from fairc.cli.commands import fairc as group

Fairc = Callable[..., Any]  # conftest.py

IMPORTED = """
import sys
from fairc.start import main
sys.argv = ["fairc", *sys.argv[1:]]
try:
    main()
except SystemExit:
    print(*sorted(sys.modules), file=sys.stderr)
"""
EXAMPLES = Path(__file__).parents[2] / "examples"
DRAWS_OR_READS = {"matplotlib", "numpy", "duckdb", "rich", "asyncio", "jinja2"}


def imported(*arguments: str) -> set[str]:
    """Return the modules that a command of a fresh interpreter has imported when it ends."""
    done = completed([sys.executable, "-c", IMPORTED, *arguments], check=True)
    return set(done.stderr.splitlines()[-1].split())


def test_check_imports_the_language_and_the_plan_alone() -> None:
    found = imported("check", str(EXAMPLES / "quickstart.fexp"))
    assert "fairc.compiler.compilation" in found
    assert not found & DRAWS_OR_READS
    below = {"fairc.compiler.targets", "fairc.compiler.emission", "fairc.runtime.engines.base"}
    assert not found & below
    runtime = {name.split(".")[2] for name in found if name.startswith("fairc.runtime.")}
    assert runtime <= {"engines", "host", "uml", "vm"}


@pytest.mark.parametrize("command", ["table", "verdict"])
def test_who_reads_results_imports_nothing_that_compiles_or_draws(command: str) -> None:
    code = f"import sys, fairc.cli.{command}; print(*sys.modules)"
    done = completed([sys.executable, "-c", code], check=True)
    found = set(done.stdout.split())
    assert "fairc.runtime.repetitions.reading" in found
    assert not found & {"asyncio", "jinja2", "matplotlib", "rich"}
    compiling = {"cells", "compilation", "emission", "passes", "targets"}
    assert not found & {f"fairc.compiler.{name}" for name in compiling}
    reading = {"experiment", "grid", "loading", "network", "text"}
    assert not found & {f"fairc.dsl.{name}" for name in reading}
    analysing = {"measurement.loading", "measurement.queues", "run.analyst", "validity"}
    assert not found & {f"fairc.runtime.{name}" for name in analysing}


def test_no_command_imports_duckdb_before_it_reads_a_table() -> None:
    """What a command imports is not searched for cycles: DuckDB must be found when Python ends."""
    names = [f"fairc.cli.{name}" for name in group.commands if name != "lsp"]
    assert "fairc.cli.report" in names
    code = f"import sys, {', '.join(names)}; sys.exit('duckdb' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.usefixtures("without_drawing")
def test_a_command_that_has_imported_duckdb_ends_without_a_word_of_it(fairc: Fairc) -> None:
    fairc("run", "tiny.fexp")
    assert "duckdb" in imported("verdict", "results/tiny")  # by the last line of standard error

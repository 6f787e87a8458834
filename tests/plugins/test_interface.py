"""The packages in `plugins/` are as those of anybody else: they import `fairc.api`, and nothing in
fairc imports them.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from trees import tree_of

import fairc.api

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/build/plugins.md").read_text(encoding="utf-8")
CORE = ("cell", "words", "dsl", "compiler", "runtime", "fairc")
PACKAGES = {path.parent.name for path in (ROOT / "plugins").glob("*/*/__init__.py")}


def imported(path: Path) -> Iterator[str]:
    """Yield what a file imports from other packages: modules, and members of modules."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_plugins_import_the_interface_alone() -> None:
    folders = (ROOT / "plugins", ROOT / "tests/plugins/example")
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        for name in imported(path):
            assert name.partition(".")[0] != "fairc" or name.startswith("fairc.api."), path


def test_type_checkers_see_what_is_imported() -> None:
    """The interface is written twice in fairc.api: once for type checkers, once for Python."""
    seen = {
        (alias.asname or alias.name).removeprefix("_"): f"{node.module}.{alias.name}"
        for node in ast.walk(tree_of(Path(fairc.api.__file__)))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fairc.")
        for alias in node.names
    }
    names = {name: f"{module}.{own}" for name, (module, own) in fairc.api.MODULES.items()}
    assert seen == names


def test_every_name_is_there_and_documented() -> None:
    for name in dir(fairc.api):
        assert getattr(fairc.api, name) is not None
    table = PAGE.partition("may import")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(dir(fairc.api))


def test_another_name_is_none_of_it() -> None:
    with pytest.raises(AttributeError, match="`Checker` is not in the interface"):
        fairc.api.Checker  # type: ignore[attr-defined]  # noqa: B018


def test_a_word_costs_no_library_of_figures() -> None:
    code = """import sys
from fairc.api import Discipline, FigureEntry, MetricEntry, Parameter
sys.exit(bool({"numpy", "matplotlib", "duckdb", "fairc.runtime"} & set(sys.modules)))"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_fairc_imports_no_plugin() -> None:
    assert {"fairc_deviations", "fairc_fake"} == PACKAGES
    for package in CORE:
        for path in (ROOT / package).rglob("*.py"):
            assert not {name.partition(".")[0] for name in imported(path)} & PACKAGES, path

"""The packages in `plugins/` are as those of anybody else: they import what docs/build/plugins.md
names, and nothing in fairc imports them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from trees import tree_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/build/plugins.md").read_text(encoding="utf-8")
INTERFACE = set(re.findall(r"`(fairc(?:\.[a-z0-9_]+)*)`", PAGE.partition("may import")[2]))
ROOMS = ("cell", "words", "dsl", "compiler", "runtime", "fairc")
PACKAGES = {path.parent.name for path in (ROOT / "plugins").glob("*/*/__init__.py")}


def imported(path: Path) -> Iterator[str]:
    """Yield what a file imports from other packages: modules, and members of modules."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_plugins_import_the_interface() -> None:
    used = {
        name.rpartition(".")[0]
        for path in (ROOT / "plugins").rglob("*.py")
        for name in imported(path)
        if name.startswith("fairc.")
    }
    assert used <= INTERFACE, "of fairc's insides"
    assert {"fairc.words.metrics", "fairc.runtime.engines"} <= used


def test_fairc_imports_no_plugin() -> None:
    assert {"fairc_deviations", "fairc_fake"} == PACKAGES
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            assert not {name.partition(".")[0] for name in imported(path)} & PACKAGES, path

"""The tests that concern a file of the program most: those of the modules nearest to it by import.

A test is as near as the fewest imports that lead from its module to the file. Commands are imported
by name when they are called, so that tests which only call commands are nobody's neighbours.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from trees import tree_of

ROOT = Path(__file__).parents[2]
PACKAGES = ("cell", "dsl", "mechanisms", "words", "compiler", "runtime", "lsp")
"""Folders of the root that are packages of `fairc`; `fairc/cli` and the rest lie there."""
SUPPORT = (ROOT / "tests/support", ROOT / "tests/measurement/support", ROOT / "plugins/fake")


def concerning(path: Path, enough: int = 8) -> list[Path]:
    """Return the test modules nearest to a file of the program, the nearest first.

    enough: as soon as there are so many, those farther away are left out.
    """
    by_imported = defaultdict(set)
    for importer in _files():
        for imported in _imports(importer):
            by_imported[imported].add(importer)
    found: list[Path] = []
    known, now = {path}, {path}
    while now and len(found) < enough:
        now = {importer for file in now for importer in by_imported[file]} - known
        known |= now
        found += sorted(file for file in now if file.name.startswith("test_"))
    return found


def _files() -> Iterator[Path]:
    for folder in (*PACKAGES, "fairc", "tests", "plugins"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            # The packages are linked into `fairc`, too.
            if ROOT / "tests/golden" not in path.parents and not _is_link(path):
                yield path


def _is_link(path: Path) -> bool:
    return any(parent.is_symlink() for parent in (path, *path.parents) if parent != ROOT)


def _imports(path: Path) -> Iterator[Path]:
    """Yield the files that a file imports, at its top or inside of functions."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").split(".") if node.module else []
            for alias in node.names:
                if node.level:
                    place = path.parents[node.level - 1].joinpath(*base)
                    yield from _at(place / alias.name) or _at(place)
                else:
                    yield from _module([*base, alias.name]) or _module(base)


def _module(parts: list[str]) -> list[Path]:
    if parts[:1] == ["fairc"]:
        inside = parts[1:]
        own = ROOT if inside[:1] and inside[0] in PACKAGES else ROOT / "fairc"
        return _at(own.joinpath(*inside))
    return next((found for folder in SUPPORT if (found := _at(folder.joinpath(*parts)))), [])


def _at(place: Path) -> list[Path]:
    """Return the file of a module, if there is one."""
    files = (place.with_name(f"{place.name}.py"), place / "__init__.py")
    return [file for file in files if file.is_file()][:1]

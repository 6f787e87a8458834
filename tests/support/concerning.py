"""The tests that concern a file of the program most: those of its name, and those nearest by import.

A test is as near as the fewest imports that lead from its module to the file. Words, mechanisms and
commands are found by name, so that a test of one may import nothing of it.
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
    """Return the test modules nearest to a file of the program: those of its name, the nearest.

    enough: as soon as there are so many, those farther away are left out.
    """
    by_imported = defaultdict(set)
    for importer in _files():
        for imported in _imports(importer):
            by_imported[imported].add(importer)
    names = {f"test_{name}.py" for name in (path.stem, path.parent.name)}
    found = [file for file in _files() if file.name in names]
    known, now = {path}, {path}
    while now and len(found) < enough:
        now = {importer for file in now for importer in by_imported[file]} - known
        known |= now
        tests = sorted(file for file in now if file.name.startswith("test_"))
        found += [file for file in tests if file not in found]
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

"""A Mininet program and all of `cell/` that runs it in one file, for sharing.

The modules are in it as they are, and found there when the program imports them.
"""

from __future__ import annotations

import ast

from . import runner

HEAD = """
# ---- What runs it: the package `cell`, as it is in fairc ----------------------------------------

import importlib.abc
import importlib.util
import sys

MODULES = {
"""
TAIL = '''}


class Bundled(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds the modules of `cell` in this file."""

    def find_spec(self, fullname, path=None, target=None):
        """Return where a module is."""
        if fullname in MODULES:
            return importlib.util.spec_from_loader(fullname, self, is_package=fullname == "cell")
        return None

    def get_source(self, fullname):
        """Return a module's text."""
        return MODULES[fullname]


sys.meta_path.insert(0, Bundled())

# ---- The cell -----------------------------------------------------------------------------------

'''


def single_file(program: str) -> str:
    """Return a program that needs no package next to it; program: what the target `mininet`
    writes.
    """
    first = next(s for s in ast.parse(program).body if isinstance(s, ast.ImportFrom)).lineno
    lines = program.splitlines(keepends=True)
    modules = "".join(
        f"    {name!r}: r'''{_raw(content.decode())}''',\n" for name, content in _modules()
    )
    return "".join([*lines[: first - 1], HEAD.lstrip("\n"), modules, TAIL, *lines[first - 1 :]])


def _modules() -> list[tuple[str, bytes]]:
    return [
        (name.removesuffix(".py").removesuffix("/__init__").replace("/", "."), content)
        for name, content in runner.files().items()
        if not name.endswith("__main__.py")
    ]


def _raw(text: str) -> str:
    """Return a text for a raw string in three single quotes.

    Raises ValueError where it cannot be.
    """
    if "'''" in text or text.endswith(("'", "\\")):
        raise ValueError("a module of cell/ has three single quotes")
    return text

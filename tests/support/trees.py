"""Syntax trees of the program's files, which several tests walk."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the tree of a Python file. Raises OSError, SyntaxError."""
    return ast.parse(path.read_text(encoding="utf-8"))

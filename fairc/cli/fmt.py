"""`fairc fmt`: give experiments their canonical layout; comments and line breaks are kept."""

from __future__ import annotations

import difflib
import os
import tempfile
from pathlib import Path

from fairc.dsl import read
from fairc.dsl.core.diagnostics import CompileError, Diagnostics
from fairc.dsl.text.layout import layout

from . import console
from .failures import Status
from .sources import show


def fmt(files: tuple[Path, ...], check: bool, diff: bool) -> int:
    """Give experiments their canonical layout; comments and line breaks are kept."""
    wrong: list[CompileError] = []
    changed = 0
    for path in files:
        try:
            source = read(path)
            text = layout(source)
        except CompileError as error:
            wrong.append(error)
            continue
        if text.encode() == path.read_bytes():
            continue
        changed += 1
        if diff:
            lines = (source.text.splitlines(), text.splitlines())
            for line in difflib.unified_diff(*lines, f"{path}", f"{path}", "current", "formatted"):
                console.result(line.rstrip("\n"))
        elif check:
            console.result(f"{path}: not formatted")
        else:
            replace(path, text)
            console.say(f"{path}: formatted")
    if wrong:
        show(Diagnostics(d for error in wrong for d in error.diagnostics))
        return Status.WRONG
    return Status.NOT_ALL_VALID if changed and (check or diff) else Status.WELL


def replace(path: Path, text: str) -> None:
    """Replace a file atomically, keeping its permissions; a symbolic link is followed to its
    target.
    """
    target = path.resolve()
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        Path(name).chmod(target.stat().st_mode & 0o7777)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

"""Write a compiled experiment into a folder: complete, or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from .compilation import Compilation
from .targets import Begin, find


def emit(compilation: Compilation, directory: Path, targets: Iterable[str] = ("mininet",)) -> None:
    """Write `plan.json`, `cells.jsonl` and what each target adds; byte-identical each time.

    directory: is replaced if it holds an earlier plan, or is empty; its parent is created.
    Everything is written into a sibling first and renamed, so that an interruption leaves the old
    state. Raises CompileError (what is wrong with the file or with a target's name),
    EndpointsMissing, FileExistsError when the folder holds something else, OSError.
    """
    beginnings = find(targets)
    _refuse_other(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        new = scratch / "new"
        new.mkdir()
        _write(compilation, new, beginnings)
        if directory.exists():
            directory.rename(scratch / "old")
        new.rename(directory)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _write(compilation: Compilation, directory: Path, beginnings: Mapping[str, Begin]) -> None:
    """Write everything into an empty folder, one cell at a time."""
    writers = [begin(directory) for begin in beginnings.values()]
    with (directory / "cells.jsonl").open("w", encoding="utf-8") as lines:
        for cell in compilation.cells():
            lines.write(cell.model_dump_json() + "\n")
            for write in writers:
                write(cell)
    (directory / "plan.json").write_text(
        compilation.plan.model_dump_json(indent=2) + "\n", encoding="utf-8"
    )


def _refuse_other(directory: Path) -> None:
    """Refuse to replace anything but an earlier plan or an empty folder."""
    if not directory.exists():
        return
    if not directory.is_dir() or (
        any(directory.iterdir()) and not (directory / "plan.json").exists()
    ):
        raise FileExistsError(f"{directory} is there already and is not a compiled plan")

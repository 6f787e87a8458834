"""What a made-up cell is judged to be, after a change of what it left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from madeartefacts import Made, write_lines

from fairc.runtime.measurement import load
from fairc.runtime.validity import judge


def verdict(made: Made, folder: Path, *changes: Callable[[Path], None]) -> tuple[str, str]:
    """Return the verdict on a cell whose artefacts have been tampered with, and all reasons."""
    made.write(folder)
    for change in changes:
        change(folder)
    found, reasons = judge(load(made.cell, folder))
    return found, "\n".join(reasons)


def edit(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Return a change of one JSON artefact."""

    def apply(folder: Path) -> None:
        document = json.loads((folder / name).read_text())
        change(document)
        (folder / name).write_text(json.dumps(document))

    return apply


def edit_lines(name: str, change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    """Return a change of every line of one NDJSON artefact."""

    def apply(folder: Path) -> None:
        lines = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        for line in lines:
            change(line)
        write_lines(folder / name, lines)

    return apply

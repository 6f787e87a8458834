"""Target `mininet`: a Mininet program per configuration (`program`, template: `mininet.py.j2`), and
`cell/`, which runs its flows.
"""

from __future__ import annotations

import filecmp
import json
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fairc.compiler.binary import NAME, find_endpoints
from fairc.compiler.plan import Cell

from . import images, program, runner
from .index import Emitted
from .naming import Names

FOLDER = "cells"
EMITTED = Emitted(f"{FOLDER}/{{name}}.py", "sudo python3 {file}", " --repetition {repetition}")


@contextmanager
def begin(directory: Path) -> Iterator[Callable[[Cell, str], None]]:
    """Copy `cell/` next to the programs; give the function that takes a cell of one of them. In the
    end all are written, `cells/<name>.py`.

    Raises EndpointsMissing.
    """
    cells = directory / FOLDER
    cells.mkdir(exist_ok=True)
    shutil.copy(find_endpoints(), cells / NAME)
    runner.copy(cells)
    # All repetitions of a configuration are there only in the end. As compressed JSON a cell takes
    # about 3 kB.
    first: dict[str, Cell] = {}
    views: dict[str, dict[int, bytes]] = {}

    def take(cell: Cell, name: str) -> None:
        images.refuse(cell, "mininet")
        first.setdefault(name, cell)
        packed = zlib.compress(json.dumps(program.view(cell)).encode(), 1)
        views.setdefault(name, {})[cell.repetition] = packed

    yield take
    for name, cell in first.items():
        several = {n: json.loads(zlib.decompress(packed)) for n, packed in views[name].items()}
        script = cells / f"{name}.py"
        script.write_bytes(program.render(cell, several, script.name).encode())
        script.chmod(0o755)


def programs(
    directory: Path, cells: Iterable[Cell]
) -> tuple[dict[str, tuple[str, bytes]], list[Path]]:
    """Return name and content of the programs of a plan by the ids of their cells, as they are
    written now, and what differs from that in the plan's folder: edited programs, those of another
    version, and what they run.

    cells: all of the plan. No programs: the folder has none.
    """
    folder = directory / FOLDER
    with tempfile.TemporaryDirectory() as scratch:
        names, called = Names(), dict[str, str]()
        with begin(Path(scratch)) as take:
            for cell in cells:
                name = names(cell)
                take(cell, name)
                called[cell.id] = f"{name}.py"
        files = {*called.values()}
        if not any((folder / file).exists() for file in files):
            return {}, []
        content = {file: (Path(scratch) / FOLDER / file).read_bytes() for file in files}
        found = {cell: (file, content[file]) for cell, file in called.items()}
        written = [path for path in (Path(scratch) / FOLDER).rglob("*") if path.is_file()]
        places = [(folder / path.relative_to(Path(scratch) / FOLDER), path) for path in written]
        return found, sorted(place for place, path in places if not _equal(place, path))


def _equal(one: Path, other: Path) -> bool:
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def render(*cells: Cell, filename: str = "experiment.py") -> str:
    """Write the Mininet program of the cells of a configuration: equal text for equal cells.

    Raises ValueError for an unchecked cell whose texts could contain code.
    """
    views = {cell.repetition: program.view(cell) for cell in cells}
    return program.render(cells[0], views, filename)

"""Target `mininet`: one Mininet program per cell (template: `mininet.py.j2`), and `cell/`, which
runs it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from fairc.cell import iperf3
from fairc.compiler.plan import Cell

from . import images, runner
from .binary import NAME, find_endpoints
from .code import CellCode, CellWriter
from .rendering import template
from .single import single_file


def begin(directory: Path, alone: bool = False) -> Callable[[Cell], None]:
    """Copy `cell/` next to the programs; return the function that writes `cells/<id>.py`.

    alone: write `cell/` into each program instead. Raises EndpointsMissing.
    """
    cells = directory / "cells"
    cells.mkdir(exist_ok=True)
    shutil.copy(find_endpoints(), cells / NAME)
    if not alone:
        runner.copy(cells)

    writer = CellWriter("topology")

    def write(cell: Cell) -> None:
        images.refuse(cell, "mininet")
        program = _program(cell, writer(cell))
        script = cells / f"{cell.id}.py"
        script.write_bytes((single_file(program) if alone else program).encode())
        script.chmod(0o755)

    return write


def render(cell: Cell) -> str:
    """Write the Mininet program of a cell: equal text for equal cells.

    Raises ValueError for an unchecked cell whose texts could contain code.
    """
    return _program(cell, CellWriter("topology")(cell))


def _program(cell: Cell, code: CellCode) -> str:
    return template("mininet.py.j2").render(
        iperf3=any(map(iperf3.uses, cell.flows)),
        browsers=any(flow.browser for flow in cell.flows),
        imports=code.imports,
        arguments=code.arguments,
    )

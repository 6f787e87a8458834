"""Cells with kernel modules: the example, and what a test makes of it."""

from __future__ import annotations

import struct
from pathlib import Path

from specs import compile_spec

from fairc.compiler import Cell
from fairc.runtime.engines.base import Engine, RawResult
from fairc.runtime.engines.uml import UmlEngine

AIMD = Path(__file__).parents[2] / "examples" / "module" / "tcp_aimd.c"
SPEC = """fexp 1
experiment own {{
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: fifo(1bdp))
  {flows}
  duration = 3s
  warmup   = 1s
  measure  = [goodput]
}}
"""
AVOID = "\tif (!tcp_is_cwnd_limited(sk))\n"


def cell_of(folder: Path, *ccas: str, source: str | None = None) -> Cell:
    """Compile a cell with a flow for each CCA; source: of `tcp_aimd.c` beside its file."""
    (folder / "tcp_aimd.c").write_text(AIMD.read_text() if source is None else source)
    flows = (f"flow f{n} {{ cca = {cca}  workload = bulk }}" for n, cca in enumerate(ccas))
    (folder / "own.fexp").write_text(SPEC.format(flows="\n  ".join(flows)))
    (cell,) = compile_spec(folder / "own.fexp").cells()
    return cell


class LoadingEngine(UmlEngine):
    """An engine that may load modules."""

    allow_modules = True


def with_(old: str, new: str) -> str:
    """Return the example's source with another text in one place."""
    text = AIMD.read_text()
    assert text.count(old) == 1
    return text.replace(old, new)


def run(engine: Engine, cell: Cell, folder: Path) -> RawResult:
    place = folder / "work"
    place.mkdir()
    return engine.run(cell, place)


def packets(capture: Path) -> list[tuple[int, int, int]]:
    """Return when each packet of a capture passed, s and ns, and how long it is, bytes."""
    content, place, found = capture.read_bytes(), 24, []
    while place < len(content):
        seconds, ns, kept, length = struct.unpack_from("<IIII", content, place)
        found.append((seconds, ns, length))
        place += 16 + kept
    return found

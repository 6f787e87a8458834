"""Specs as text, compiled; a text with an error fails the test and shows what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairc import dsl
from fairc.compiler import Cell, Compilation, compile
from fairc.dsl.core.diagnostics import CompileError, Diagnostics
from fairc.dsl.experiment import Experiment


def experiment_of(
    text: str,
    name: str = "e.fexp",
    settings: Mapping[str, str] | None = None,
    experiment: str | None = None,
) -> Experiment:
    """Check a spec; the parameters are those of `compilation_of`."""
    checked, found = dsl.load(dsl.Source(name, text), settings or {}, experiment)
    assert checked is not None, dsl.render_full(found)
    return checked


def compilation_of(
    text: str,
    name: str = "e.fexp",
    engine: str | None = None,
    settings: Mapping[str, str] | None = None,
    experiment: str | None = None,
) -> Compilation:
    """Compile a spec; name: of its file. engine, settings: as of `compile` and `load`. experiment:
    its name, in a file of several.
    """
    return compile(experiment_of(text, name, settings, experiment), engine)


def only_cell_of(text: str, name: str = "e.fexp") -> Cell:
    """Compile a spec of a single cell."""
    (cell,) = compilation_of(text, name).cells()
    return cell


def compile_spec(source: dsl.Source | Path) -> Compilation:
    """Compile a spec, or a file with one, that may be wrong. Raises CompileError."""
    experiment, found = dsl.load(dsl.read(source) if isinstance(source, Path) else source)
    if experiment is None:
        raise CompileError(found)
    return compile(experiment)


def cells_of(compilation: Compilation) -> list[Cell]:
    """Return the cells of a compilation; none where there is an error."""
    try:
        return list(compilation.cells())
    except CompileError:
        return []


def codes_of(text: str) -> list[str]:
    """Return the codes of the errors of a spec."""
    try:
        list(compile_spec(dsl.Source("e.fexp", text)).cells())
    except CompileError as error:
        return [diagnostic.code for diagnostic in Diagnostics(error.diagnostics).errors]
    return []


def dumbbell(pairs: int, processing: str = "uniform(0us, 10us)") -> str:
    """A spec of flows between hosts of their own, each behind a delay, over one link."""
    numbers = range(pairs)
    nodes = ", ".join(f"c{i}, s{i}" for i in numbers)
    links = "  ".join(f"link c{i} -- a, b -- s{i} {{ delay = 1ms }}" for i in numbers)
    flows = "\n".join(
        f"flow f{i} {{ from = s{i}  to = c{i}  cca = reno  workload = file(1kB) }}" for i in numbers
    )
    return f"""fexp 1
experiment dumbbell {{
  topology {{ node {nodes}  router a, b  {links}  link a -- b {{ rate = 10Mbit/s }} }}
  hosts {{ processing = {processing} }}
  {flows}
  duration = 1s
  measure = [goodput]
}}
"""

"""Specs as text, compiled; a text with an error fails the test and shows what is wrong."""

from __future__ import annotations

from collections.abc import Mapping

from fairc import dsl
from fairc.compiler import Cell, Compilation, compile


def compilation_of(
    text: str,
    name: str = "e.fexp",
    engine: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> Compilation:
    """Compile a spec; name: of its file. engine, settings: as of `compile` and `load`."""
    experiment, found = dsl.load(dsl.Source(name, text), settings or {})
    assert experiment is not None, dsl.render_full(found)
    return compile(experiment, engine)


def only_cell_of(text: str, name: str = "e.fexp") -> Cell:
    """Compile a spec of a single cell."""
    (cell,) = compilation_of(text, name).cells()
    return cell

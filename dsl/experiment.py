"""The checked experiment: implements the protocol of `model.Experiment`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from . import model
from .diagnostics import CompileError, Diagnostics
from .render import runnable
from .scenarios import Builder
from .source import Source
from .sweeps import Grid


@dataclass(frozen=True)
class CheckedExperiment:
    """An experiment without errors; `not-yet` warnings may remain in `diagnostics`."""

    name: str
    title: str
    citation: str
    file: Source
    axes: tuple[model.Axis, ...]
    repeat: int
    seed: int
    paired: bool
    measure: tuple[model.MetricRequest, ...]
    figures: tuple[model.FigureRequest, ...]
    diagnostics: Diagnostics
    grid: Grid = field(repr=False)
    builder: Builder = field(repr=False)

    def configurations(self) -> Iterator[model.Configuration]:
        """Yield every configuration that keeps at least one repetition, in file order.

        Raises CompileError, also for what cannot run yet: nothing is ever half-run.
        """
        runnable(self.diagnostics).raise_if_errors()
        for bound, kept in self.grid.configurations():
            try:
                scenario = self.builder.build(bound)
            except CompileError as error:
                raise CompileError(runnable(Diagnostics(error.diagnostics))) from None
            text = {name: value.canonical for name, value in bound.items()}
            yield model.Configuration(text, kept, scenario)

    def count(self) -> tuple[int, int, int]:
        """Return (configurations, cells, excluded cells) without building scenarios."""
        return self._count

    @cached_property
    def _count(self) -> tuple[int, int, int]:
        return self.grid.count()

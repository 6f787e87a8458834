"""The checked experiment and the configurations it yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from fairc.dsl.model.claims import Claim
from fairc.dsl.model.requests import Axis, FigureRequest, Precision, Requests, Setting

from . import model
from .core.diagnostics import CompileError, Diagnostics
from .core.render import runnable
from .core.source import Source, Span
from .core.values import shown
from .grid.sampling import Bindings, Point
from .grid.sweeps import Grid
from .scenarios import Builder


@dataclass(frozen=True)
class Experiment:
    """An experiment without errors; `not-yet` warnings may remain in `diagnostics`.

    title, citation: `title` and `source` of the file, or empty.
    axes: the swept names in file order.
    repeat: the (largest) number of repetitions of each configuration, >= 1.
    precision: what ends them earlier.
    common: whether starts, arrivals, sizes and pauses are the same for every value of the sweep.
    paired: whether losses are, too.
    diagnostics: warnings so far; making configurations may add to them.
    settings: what `--set` replaced, by name.
    deviates: what differs from the publication that `citation` names.
    requests: what is computed of each cell.
    measured_at: where each request is written, by its label. unasked: label and flows of requests
    that nothing names, and that may have no values.
    beside: the names of all experiments of the file, this one's among them.
    """

    name: str
    title: str
    citation: str
    file: Source
    axes: tuple[Axis, ...]
    repeat: int
    precision: Precision | None
    seed: int
    paired: bool
    common: bool
    is_shuffled: bool
    requests: Requests
    measured_at: Mapping[str, Span] = field(repr=False)
    figures: tuple[FigureRequest, ...]
    diagnostics: Diagnostics
    grid: Grid = field(repr=False)
    builder: Builder = field(repr=False)
    texts: frozenset[str] = field(repr=False)
    imported: tuple[Source, ...] = ()
    settings: tuple[Setting, ...] = ()
    claims: tuple[Claim, ...] = ()
    deviates: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    unasked: frozenset[tuple[str, tuple[str, ...]]] = frozenset()

    def configurations(self, repetition: int = 1) -> Iterator[model.Configuration]:
        """Yield every configuration that is drawn and keeps a repetition, in the order in which
        they run.

        repetition: with `order = shuffled` each has a different order; otherwise it is file order.
        Equal configurations are yielded once. Raises CompileError, also for what cannot run yet:
        nothing is ever half-run.
        """
        return (build() for _, build in self.points(repetition))

    def points(
        self, repetition: int
    ) -> Iterator[tuple[dict[str, str], Callable[[], model.Configuration]]]:
        """Yield the bindings of the same configurations, each with a function that builds it on
        demand.

        Raises CompileError like `configurations`.
        """
        if self.is_shuffled:
            return self._points(self.grid.shuffled(self.seed, repetition))
        return self._points(self.grid.configurations())

    def some(self, most: int) -> Iterator[model.Configuration]:
        """Yield at most `most` configurations, evenly spread over all. Raises CompileError."""
        return (build() for _, build in self._points(self.grid.spread(most)))

    def _points(
        self, points: Iterator[Point]
    ) -> Iterator[tuple[dict[str, str], Callable[[], model.Configuration]]]:
        runnable(self.diagnostics).raise_if_errors()
        for bound, kept in points:
            text = {name: shown(value) for name, value in bound.items()}
            yield text, partial(self._built, text, bound, kept)

    def _built(
        self, text: dict[str, str], bound: Bindings, kept: tuple[int, ...]
    ) -> model.Configuration:
        try:
            scenario = self.builder.build(bound)
        except CompileError as error:
            raise CompileError(runnable(Diagnostics(error.diagnostics))) from None
        return model.Configuration(text, kept, scenario)

    def files(self) -> dict[str, bytes]:
        """Return every file it comes from, by path relative to the folder of its own file.

        The traces, pages and objects it names are included once `configurations` is exhausted.
        """
        root = Path(self.file.name).parent
        found = {self.file.base_name: self.file.text.encode()}
        for source in (self.file, *self.imported):
            place = Path(source.name).relative_to(root)
            if source is not self.file:
                found[place.as_posix()] = source.text.encode()
            for name, content in source.attached.items():
                found[(place.parent / name).as_posix()] = content
        return found

    def mentions(self, word: str) -> bool:
        """Return whether a word occurs in the file, in what it imports, or in what `--set`
        gives.
        """
        return any(word in text for text in self.texts)

    def count(self) -> model.Count:
        """Count configurations and cells without building scenarios."""
        return self._count

    @cached_property
    def _count(self) -> model.Count:
        return self.grid.count()

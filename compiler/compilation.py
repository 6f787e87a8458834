"""One compilation: the plan's header, and its cells as a stream."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property

from fairc.dsl import model
from fairc.dsl.diagnostics import Diagnostic, Diagnostics, Severity
from fairc.dsl.model import Configuration, Experiment

from .grid import Lowered, Settings
from .lower import Lowering
from .measured import Measured
from .plan import Axis, Cell, FigureRequest, Input, MetricRequest, Plan, Selection
from .scales import check_scales
from .variation import in_order, variations

KEPT_CONFIGURATIONS = 2000  # some 30 kB each; those beyond are lowered again per repetition


def compile(experiment: Experiment) -> Compilation:
    """Prepare to compile an experiment; the work is done as `plan` and `cells()` are asked for."""
    return Compilation(experiment)


class Compilation:
    """A plan in the making. Equal input gives an equal plan and equal cells, in the same order."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._settings = Settings(
            experiment.name, experiment.seed, experiment.paired, tuple(experiment.measure)
        )
        self._variations: frozenset[str] = frozenset()
        self._inputs: dict[str, str] = {}
        self._seen_all = False
        self._found: dict[tuple[str, str, int], Diagnostic] = {}
        self._lowering = Lowering(self._report)
        self._measured = Measured(experiment.measure)

    @property
    def diagnostics(self) -> Diagnostics:
        """Everything found so far, by the front end too; complete when `cells()` is exhausted."""
        return Diagnostics([*self._experiment.diagnostics, *self._found.values()])

    @cached_property
    def plan(self) -> Plan:
        """The header. Raises CompileError when the grid cannot be counted."""
        experiment = self._experiment
        configurations, cells, excluded, unsampled = experiment.count()
        return Plan(
            experiment=experiment.name,
            title=experiment.title,
            citation=experiment.citation,
            file=experiment.file.base_name,
            source=experiment.file.text,
            source_sha256=hashlib.sha256(experiment.file.text.encode()).hexdigest(),
            axes=tuple(
                Axis(name=axis.name, values=axis.values, numbers=axis.numbers, unit=axis.unit)
                for axis in experiment.axes
            ),
            repeat=experiment.repeat,
            seed=experiment.seed,
            configurations=configurations,
            excluded=excluded,
            unsampled=unsampled,
            cells=cells,
            measure=tuple(
                MetricRequest(
                    name=request.name, sessions=request.sessions, options=dict(request.options)
                )
                for request in experiment.measure
            ),
            figures=tuple(
                FigureRequest(
                    kind=request.kind,
                    metric=request.metric,
                    options=dict(request.options),
                    where=_selection(request.where),
                )
                for request in experiment.figures
            ),
            varied=self._varied(),
            inputs=tuple(
                Input(path=path, sha256=sha256) for path, sha256 in sorted(self._inputs.items())
            ),
        )

    def cells(self) -> Iterator[Cell]:
        """Yield every cell: all configurations of repetition 1, then of repetition 2, ...

        So an interrupted run leaves the whole grid, with fewer repetitions, instead of a corner of
        the grid. Raises CompileError with everything that is wrong, after the last configuration
        has been looked at; no cell is yielded after the first error.
        """
        kept: dict[tuple[str, ...], Lowered] = {}
        for repetition in range(1, self._experiment.repeat + 1):
            for configuration in self._experiment.configurations(repetition):
                key = tuple(configuration.bindings.values())
                ready = kept.get(key) or self._lower(configuration)
                if ready is None:
                    continue
                if repetition == 1 < self._experiment.repeat and len(kept) < KEPT_CONFIGURATIONS:
                    kept[key] = ready
                if repetition in ready.repetitions:
                    yield ready.cell(repetition)
            self._see_all()
            self.diagnostics.raise_if_errors()

    @property
    def experiment(self) -> Experiment:
        """What is compiled."""
        return self._experiment

    def representatives(self, most: int) -> Iterator[tuple[Cell, int]]:
        """Yield one cell of at most so many configurations, evenly spread, and how many it has.

        For estimates: nothing but these configurations is lowered. Raises CompileError.
        """
        for configuration in self._experiment.some(most):
            ready = self._lower(configuration)
            if ready is not None:
                yield ready.cell(ready.repetitions[0]), len(ready.repetitions)
        if self._experiment.count().configurations <= most:
            self._see_all()
        self.diagnostics.raise_if_errors()

    def _lower(self, configuration: Configuration) -> Lowered | None:
        """Lower one configuration, unless something is wrong already or with this one."""
        self._note(configuration)
        self._measured.note(configuration.scenario)
        draft = self._lowering(configuration.scenario)
        check_scales(draft, self._experiment.measure, self._report)
        if any(found.severity is Severity.ERROR for found in self._found.values()):
            return None
        return Lowered(self._settings, configuration, draft)

    def _report(self, diagnostic: Diagnostic) -> None:
        """Keep the first finding of each kind at each place: a sweep repeats the rest."""
        span = diagnostic.span
        name, start = (span.source.name, span.start) if span else ("", -1)
        self._found.setdefault((diagnostic.code, name, start), diagnostic)

    def _varied(self) -> tuple[str, ...]:
        """Say what the seeds vary in any configuration; build none again that is lowered."""
        if not self._seen_all:
            for configuration in self._experiment.configurations():
                self._note(configuration)
            self._seen_all = True
        return in_order(self._variations)

    def _see_all(self) -> None:
        """Every configuration has been lowered: what none of them has can be said."""
        self._seen_all = True
        for warning in self._measured.warnings():
            self._report(warning)

    def _note(self, configuration: Configuration) -> None:
        """Remember what a configuration varies, and which files it reads."""
        self._variations |= variations(configuration.scenario)
        self._inputs |= {file.path: file.sha256 for file in configuration.scenario.inputs}


def _selection(found: model.Selection | None) -> Selection | None:
    return Selection(text=found.text, names=found.names, rows=found.rows) if found else None

"""One compilation: the plan's header, and its cells as a stream."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice

from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Diagnostics, Severity
from fairc.dsl.experiment import Experiment
from fairc.dsl.model import Configuration
from fairc.dsl.model.base import within_bounds
from fairc.dsl.model.metric_names import request_label

from . import engine_choice
from .cells.baselines import Baselines
from .cells.coverage import MetricCoverage
from .cells.grid import Blueprint
from .cells.lowering import Lowering
from .cells.variation import PAIRED, WITHOUT_LOSSES, in_order, variations
from .engine_choice import Choice, Requirement
from .passes.report import Report
from .plan import Cell, Input, Plan

PART_LIMIT = 20_000
"""The most flows, nodes and links that representatives have together."""

SHOWN = 3
"""The most configurations that a warning of some alone names."""

Bindings = tuple[tuple[str, str], ...]

KEPT_CONFIGURATIONS = 2000  # about 30 kB each; those beyond are lowered again per repetition


def compile(experiment: Experiment, engine: str | None = None) -> Compilation:
    """Prepare to compile an experiment; the work is done when `plan` and `cells()` are used.

    engine: the engine to run it, by name; None: the fastest engine in virtual time that can.
    """
    return Compilation(experiment, engine)


class Compilation:
    """A compilation in progress.

    Equal input gives an equal plan and equal cells, in the same order.
    """

    def __init__(self, experiment: Experiment, engine: str | None = None) -> None:
        self._experiment = experiment
        self._engine = engine
        self._variations: frozenset[str] = frozenset()
        self._inputs: dict[str, Input] = {}
        self._required: dict[Requirement, None] = {}
        self._processing_ns: set[int] = set()
        self._seen_all = False
        self._found: dict[tuple[str, str, int], Diagnostic] = {}
        self._where: dict[tuple[str, str, int], dict[Bindings, None]] = {}
        self._lowered: set[Bindings] = set()
        self._current: Bindings = ()
        self._lowering = Lowering(experiment, Report(self._report))
        self._measured = MetricCoverage(
            experiment.requests.metrics, experiment.measured_at, experiment.unasked
        )

    @property
    def diagnostics(self) -> Diagnostics:
        """Everything found so far, by the front end too; complete when `cells()` is exhausted.

        Without warnings that concern another engine than the one that runs what was examined so
        far.
        """
        try:
            engine = self.choice_so_far().engine
        except CompileError:
            engine = ""  # no engine can
        concern = engine_choice.CONCERN
        found = (
            self._placed(key, d)
            for key, d in self._found.items()
            if engine in concern.get(d.code, (engine,))
        )
        return self._experiment.diagnostics.extended(found)

    def _placed(self, key: tuple[str, str, int], diagnostic: Diagnostic) -> Diagnostic:
        """Return a finding with the configurations that it is about, where it is of some alone."""
        those = [*self._where.get(key, ())]
        if len(those) in (0, len(self._lowered)):
            return diagnostic
        named = [", ".join(f"{name} = {value}" for name, value in where) for where in those[:SHOWN]]
        more = f" and {len(those) - SHOWN} more" if len(those) > SHOWN else ""
        of = f"{len(self._lowered)} configurations"
        if len(self._lowered) < self._experiment.count().configurations:
            of = f"the {of} that were examined"
        note = f"in {len(those)} of {of}: {'; '.join(named)}{more}"
        return replace(diagnostic, notes=(note, *diagnostic.notes))

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of all experiments of its file."""
        return self._experiment.beside

    @cached_property
    def plan(self) -> Plan:
        """The header.

        Raises CompileError when the grid cannot be counted, or no engine can run it.
        """
        with within_bounds():
            return self._header()

    def _header(self) -> Plan:
        experiment = self._experiment
        configurations, cells, excluded, unsampled = experiment.count()
        return Plan(
            experiment=experiment.name,
            title=experiment.title,
            citation=experiment.citation,
            deviates=experiment.deviates,
            file=experiment.file.base_name,
            source=experiment.file.text,
            source_sha256=hashlib.sha256(experiment.file.text.encode()).hexdigest(),
            axes=experiment.axes,
            repeat=experiment.repeat,
            seed=experiment.seed,
            configurations=configurations,
            excluded=excluded,
            unsampled=unsampled,
            cells=cells + self.baselines.cells,
            baselines=self.baselines.cells,
            measure=experiment.requests.measure,
            implied=experiment.requests.implied,
            formulas=experiment.requests.formulas,
            comparisons=experiment.requests.comparisons,
            figures=experiment.figures,
            varied=self._varied(),
            engine=self.choice.engine,
            engine_reasons=self.choice.sentences,
            transmission="frames",
            inputs=tuple(self._inputs[path] for path in sorted(self._inputs)),
            processing_ns=self.processing_ns,
            engine_asked=self._engine_asked,
            settings=experiment.settings,
            common=self._common(),
            claims=experiment.claims,
            precision=experiment.precision,
            experiments=experiment.beside if len(experiment.beside) > 1 else (),
        )

    @cached_property
    def baselines(self) -> Baselines:
        """The baselines of all configurations; lowers each of them, where any has one."""
        experiment = self._experiment
        found = Baselines(experiment, self._report)
        if experiment.requests.comparisons:
            for configuration in experiment.some(experiment.count().configurations):
                if found.concern(configuration.scenario):
                    ready = self._lower(configuration, configuration.repetitions[0])
                    if ready is not None:
                        found.add(tuple(configuration.bindings.values()), ready)
            self._warn_alone(found)
        return found

    @property
    def _has_errors(self) -> bool:
        return any(found.severity is Severity.ERROR for found in self._found.values())

    def _warn_alone(self, baselines: Baselines) -> None:
        """Report flows that are to be alone for a comparison, and are so in every configuration."""
        first = next(baselines.of_named_flows, None)
        if first is None or baselines.found or self._has_errors:
            return
        self._report(
            Diagnostic(
                "nothing-to-measure",
                f"no flow competes with another one, so `{first.name}` is 0 wherever it is defined",
                self._experiment.measured_at[request_label(first.name)],
                help="add the flows that may do harm, or leave it out",
                severity=Severity.WARNING,
            )
        )

    @property
    def _engine_asked(self) -> bool:
        """Whether another engine was requested than the one that the file alone would get."""
        if self._engine is None:
            return False
        if engine_choice.may_matter(None, self._experiment.mentions):
            self._note_all()
        return not engine_choice.chosen_anyway(self.choice.engine, self._required)

    @cached_property
    def choice(self) -> Choice:
        """The engine that runs every cell, and why no faster one does; examines every configuration
        if necessary.

        Raises CompileError when the requested engine cannot run them, or none can.
        """
        if engine_choice.may_matter(self._engine, self._experiment.mentions):
            self._note_all()
        return self.choice_so_far()

    def choice_so_far(self) -> Choice:
        """Return the choice for the configurations that were examined so far.

        Raises CompileError like `choice`.
        """
        if self._engine is None:
            return engine_choice.choose(self._required)
        return engine_choice.given(self._engine, self._required)

    def cells(self) -> Iterator[Cell]:
        """Yield every cell: all configurations of repetition 1, then of repetition 2, ...; each
        baseline before the first configuration of the repetition that is compared with it.

        So an interrupted run leaves the whole grid, with fewer repetitions, instead of a corner of
        the grid. Raises CompileError with everything that is wrong, after the last configuration
        has been examined; no cell is yielded after the first error.
        """
        kept: dict[tuple[str, ...], Blueprint] = {}
        for repetition in range(1, self._experiment.repeat + 1):
            there: set[str] = set()
            for bindings, build in self._experiment.points(repetition):
                key = tuple(bindings.values())
                ready = kept.get(key) or self._lower(build(), repetition)
                if ready is None:
                    continue
                if self._experiment.requests.comparisons and key not in kept:
                    self.baselines.attach(key, ready)
                more = repetition == 1 < self._experiment.repeat and not ready.is_of_one
                if more and len(kept) < KEPT_CONFIGURATIONS:
                    kept[key] = ready
                if repetition in ready.repetitions:
                    new = {n: alone for n, alone in ready.baselines.items() if n not in there}
                    there |= new.keys()
                    for each in (*new.values(), ready):
                        with within_bounds():
                            cell = each.cell(repetition)
                        yield cell
            self._see_all()
            self.diagnostics.raise_if_errors()

    @property
    def processing_ns(self) -> tuple[int, ...]:
        """The limits of the hosts' time per packet in the configurations examined so far, ns."""
        return tuple(sorted(self._processing_ns))

    @property
    def experiment(self) -> Experiment:
        """The experiment that is compiled."""
        return self._experiment

    def representatives(self, most: int) -> Iterator[tuple[Cell, int]]:
        """Yield one cell of each of at most `most` configurations, evenly spread, and how many it
        has.

        For checks and estimates: nothing but these configurations is lowered; of large ones, fewer
        than `most`.
        Raises CompileError.
        """
        parts = max(map(_parts, self._experiment.some(2)), default=1)
        most = max(1, min(most, PART_LIMIT // parts))
        baselines = Baselines(self._experiment, self._report)
        for configuration in self._experiment.some(most):
            ready = self._lower(configuration, configuration.repetitions[0])
            if ready is not None:
                if baselines.concern(configuration.scenario):
                    baselines.add(tuple(configuration.bindings.values()), ready)
                with within_bounds():
                    cell = ready.cell(ready.repetitions[0])
                yield cell, len(ready.repetitions)
        if self._experiment.count().configurations <= most:
            self._see_all()
            self._warn_alone(baselines)
        self.diagnostics.raise_if_errors()

    def baseline_examples(self, most: int) -> Iterator[tuple[Cell, int]]:
        """Yield one cell of each of at most `most` baselines, and how many it has. Raises
        CompileError.
        """
        for baseline in islice(self.baselines.found.values(), most):
            with within_bounds():
                cell = baseline.example.cell(min(baseline.repetitions))
            yield cell, len(baseline.repetitions)
        self.diagnostics.raise_if_errors()

    def _lower(self, configuration: Configuration, repetition: int) -> Blueprint | None:
        """Lower one configuration, unless there are errors already; None if it has errors."""
        self._note(configuration)
        self._measured.note(configuration.scenario)
        self._current = tuple(configuration.bindings.items())
        self._lowered.add(self._current)
        with within_bounds():
            ready = self._lowering(configuration, repetition)
        self._current = ()
        if ready is not None:
            self._measured.note_paths(ready)
        return ready

    def _report(self, diagnostic: Diagnostic) -> None:
        """Keep the first finding of each kind at each place: a sweep repeats the rest."""
        span = diagnostic.about or diagnostic.span
        name, start = (span.source.name, span.start) if span else ("", -1)
        key = diagnostic.code, name, start
        self._found.setdefault(key, diagnostic)
        if diagnostic.severity is Severity.WARNING and self._current:
            self._where.setdefault(key, {})[self._current] = None

    def _varied(self) -> tuple[str, ...]:
        """Return as text what the seeds vary in any configuration."""
        self._note_all()
        return in_order(self._variations)

    def _common(self) -> tuple[str, ...]:
        """Return as text what all configurations of a repetition draw alike; empty for a single
        configuration.
        """
        experiment = self._experiment
        if experiment.count().configurations < 2 or not (experiment.common or experiment.paired):
            return ()
        self._note_all()
        alike = PAIRED if experiment.paired else WITHOUT_LOSSES
        return in_order(self._variations & alike)

    def _note_all(self) -> None:
        """Examine every configuration; lower none a second time."""
        if not self._seen_all:
            for configuration in self._experiment.configurations():
                self._note(configuration)
            self._seen_all = True

    def _see_all(self) -> None:
        """Warn about metrics that have no value in any configuration; call once all are lowered."""
        self._seen_all = True
        for warning in self._measured.warnings():
            self._report(warning)

    def _note(self, configuration: Configuration) -> None:
        """Record what a configuration varies and reads, its hosts' time per packet, and what it
        requires of engines.
        """
        self._variations |= variations(configuration.scenario)
        if configuration.scenario.processing_ns is not None:
            self._processing_ns.add(configuration.scenario.processing_ns)
        self._required |= dict.fromkeys(engine_choice.of_scenario(configuration.scenario))
        self._inputs |= {file.path: file for file in configuration.scenario.inputs}


def _parts(configuration: Configuration) -> int:
    scenario = configuration.scenario
    return len(scenario.flows) + len(scenario.network.nodes) + len(scenario.network.links)

"""Check of a file: declarations, sweep, scenarios, results, warnings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import ParamSpec, TypeVar

from fairc.dsl.model.base import within_bounds
from fairc.dsl.model.requests import FigureRequest, Formula, Requests
from fairc.words.blocks import experiment as keys
from fairc.words.blocks.hosts import HOSTS
from fairc.words.repetitions import Repeat

from . import model
from .blocks import Block, misspelt
from .core.diagnostics import CompileError, Diagnostic, Diagnostics, Label, warning
from .core.entries import Parameter
from .core.problems import MOST_FOUND, Gather, fail
from .core.registry import suggest
from .core.source import Span
from .core.units import NUMBER
from .core.values import Quantity, Symbol, Text
from .experiment import Experiment
from .expressions.evaluate import STEP_LIMIT, Scope, StepLimitExceeded
from .expressions.names import mentioned, symbols_in, unused
from .grid.grid_checks import Draws, draw_sample, draws, excluded, occurring, words_alone
from .grid.settings import Overrides
from .grid.sweeps import RESERVED, Grid
from .imports import imported
from .inheritance import bases, whole
from .results.amounts import Sweep
from .results.claim_forms import statistical
from .results.claims import check_claims
from .results.facts import Facts, condition, of_a_part
from .results.figures import FigureChecker
from .results.formulas import Formulas
from .results.goals import check_precision
from .results.instances import Namer
from .results.measures import build_measures
from .scenarios import Builder, Parts
from .text import syntax
from .traffic.services import Services

P = ParamSpec("P")
T = TypeVar("T")
N = TypeVar("N", bound=syntax.Node)
Named = TypeVar(
    "Named", bound=syntax.Let | syntax.Metric | syntax.Service | syntax.Topology | syntax.Experiment
)
Indexed = TypeVar("Indexed", syntax.Flow, syntax.Users)
Name = syntax.Word | syntax.Reference

_ONE = Fraction(1)

NAMING = (
    syntax.InlineTopology,
    syntax.Users,
    syntax.Hosts,
    syntax.Metric,
)
"""Statements that may use swept names, besides flows, conditions and topologies."""

READING: tuple[type[syntax.Node], ...] = (syntax.Report, syntax.Claim, syntax.Precision)
"""Statements that read results: a swept name that is in these alone changes no cell."""

COUNT_LIMIT = 20_000
"""`check` counts up to this many cells, to find an `exclude` without effect."""


class TooManyErrors(Exception):
    """So many errors were found that the search ends."""


def _may_differ(item: syntax.Flow | syntax.Users) -> bool:
    """Return whether a statement may declare other names than another one with its name."""
    return bool(item.name.index) or item.when is not None


def _settable(statement: syntax.Statement) -> Iterator[str]:
    """Yield the names that a statement gives values to."""
    if isinstance(statement, syntax.Let):
        yield statement.name.text
    elif isinstance(statement, syntax.Sweep):
        yield from (word.text for binding in statement.bindings for word in binding.names)


class Checker:
    """Checks one experiment of a file, and collects what is wrong in `diagnostics`.

    name: of the experiment; None if the file has only one. others: the experiments that are checked
    besides; names that are set may be theirs.
    """

    def __init__(
        self,
        file: syntax.File,
        overrides: Overrides,
        name: str | None = None,
        others: Collection[str] = (),
    ) -> None:
        self._file = file
        self._name = name
        self._others = others
        self._overrides = overrides
        self.diagnostics = Diagnostics()
        self._silent: set[str] = set()
        self._statements: tuple[syntax.Statement, ...] = ()
        self._elsewhere: set[str] = set()
        self._rest: tuple[syntax.Experiment, ...] = ()
        self._beside: tuple[str, ...] = ()

    def check(self) -> Experiment | None:
        """Return the experiment, or None if there are errors."""
        try:
            return self._check()
        except TooManyErrors:
            return None
        except StepLimitExceeded as error:
            self._error(
                "too-many",
                f"checking this file takes more than {STEP_LIMIT:,} steps",
                error.span,
                note="the limit was reached here",
                help="sweep fewer values, or write fewer claims, figures and conditions",
            )
            return None

    def _check(self) -> Experiment | None:
        self._version()
        declared, self._imported = self._try(imported, self._file) or ([], [])
        self._declarations = (*declared, *self._file.declarations)
        self._topologies = {t.name.text: t for t in self._unique(syntax.Topology, "topology")}
        found = {e.name.text: e for e in self._unique(syntax.Experiment, "experiment")}
        chosen = self._try(self._chosen, found)
        result = self._try(self._whole, chosen, found) if chosen else None
        self.diagnostics.remove(misspelt(self.diagnostics))
        return None if self.diagnostics.errors else result

    def _chosen(self, declared: Mapping[str, syntax.Experiment]) -> syntax.Experiment:
        """Return the experiment to check: the one that is asked for, or the file's only one."""
        last = self._file.declarations[-1:]
        experiments = [e for e in declared.values() if not e.is_template]
        self._beside = tuple(e.name.text for e in experiments)
        named = declared.get(self._name or "")
        if named is not None and named.is_template:
            fail(
                "template-run",
                f"`{named.name.text}` is a template, which is not run",
                named.name.span,
                help="write `experiment` instead of `template`, or extend it: `experiment NAME"
                f" extends {named.name.text} {{ ... }}`",
            )
        if not experiments:
            fail(
                "no-experiment",
                "this file has only templates, which are not run"
                if declared
                else "this file has no experiment",
                last[0].span if last else None,
                help="add `experiment NAME { ... }`; see examples/quickstart.fexp",
            )
        if self._name is not None and named is None:
            names = [e.name.text for e in experiments]
            near = suggest(self._name, names)
            fail(
                "unknown-experiment",
                f"this file has no experiment `{self._name}`",
                None,
                help=f"did you mean `{near}`?" if near else f"known: {', '.join(names)}",
            )
        return named or experiments[0]

    def _whole(
        self, chosen: syntax.Experiment, declared: Mapping[str, syntax.Experiment]
    ) -> Experiment | None:
        experiment = whole(chosen, declared)
        self.diagnostics.inherit(chosen.name.text, [base.span for base in bases(chosen, declared)])
        self._elsewhere = {
            name
            for other in (self._others if self._overrides.names else ())
            for statement in whole(declared[other], declared).statements
            for name in _settable(statement)
        }
        self._rest = tuple(each for each in declared.values() if each is not chosen)
        return self._experiment(experiment)

    # the parts, in order

    def _experiment(self, experiment: syntax.Experiment) -> Experiment | None:
        self._statements = experiment.statements
        at = experiment.name.span
        lets = {let.name.text: let.value for let in self._unique(syntax.Let, "let")}
        bindings = [b for s in self._of(syntax.Sweep) for b in s.bindings]
        block = Block(at, self._of(syntax.Setting), keys.EXPERIMENT, "an experiment")
        self._try(self._overrides.apply, bindings, lets, block, self._elsewhere)
        self._try(block.checked)
        static = Scope({}, lets)
        given = self._try(block.get, keys.REPEAT, static)
        repeat = given or Repeat(1, 1)
        grid, excludes = self._grid(bindings, lets, repeat.most)
        parts = self._parts(at, block, lets)
        builder = Builder(parts, grid, self.diagnostics.add)
        if parts.topology is not None:
            self._try(grid.compare_sizes, builder.size_units, builder.path_names)
        facts, formulas = self._facts(at, parts, grid, excludes, builder)
        namer = facts.namer
        computed = self._try(formulas.build, [r.name for r in facts.measured or ()]) or ()
        names = self._overrides.names
        precision = check_precision(self._statements, block, given, facts, names, self.diagnostics)
        figures = self._figures(facts)
        seed = self._count(block, keys.SEED, static)
        self._try(draw_sample, block, grid, seed)
        self._warn_unused(parts, bindings, excludes)
        if not self._overrides.narrows:
            self.diagnostics.update(words_alone(experiment, facts.axes, lets))
        if not self.diagnostics.errors and grid.upper_bound() <= COUNT_LIMIT:
            found = self._try(lambda: list(excluded(grid, excludes))) or ()
            self.diagnostics.update(() if self._overrides.narrows else found)
        common, paired = self._try(draws, block, static) or Draws()
        ends = precision is not None and precision.claims
        nodes, alike = self._of(syntax.Claim), common or paired
        claims = check_claims(nodes, facts, alike, repeat.is_range, ends, self.diagnostics)
        requests = self._requests(facts, formulas, computed)
        grid.work.most = sys.maxsize
        return Experiment(
            name=experiment.name.text,
            beside=self._beside,
            title=self._text(block, keys.TITLE, static),
            citation=self._text(block, keys.SOURCE, static),
            deviates=tuple(d.value for d in self._try(block.given, keys.DEVIATES, static) or ()),
            file=experiment.span.source,
            axes=tuple(facts.axes),
            repeat=repeat.most,
            precision=precision,
            seed=seed,
            paired=paired,
            common=common,
            is_shuffled=self._try(block.given, keys.ORDER, static) == "shuffled",
            requests=requests,
            measured_at=namer.places,
            unasked=frozenset(namer.unasked),
            figures=figures,
            claims=claims,
            diagnostics=self.diagnostics,
            grid=grid,
            builder=builder,
            texts=frozenset(d.span.source.text for d in self._declarations) | self._overrides.texts,
            imported=tuple(self._imported),
            settings=self._overrides.applied,
        )

    def _parts(self, at: Span, block: Block, lets: Mapping[str, syntax.Expr]) -> Parts:
        """Return what scenarios are made of; at: the experiment's name."""
        flows = self._several(syntax.Flow, "flow")
        if not flows:
            self._error(
                "no-flow",
                "this experiment has no flow",
                at,
                help="for example `flow a { cca = cubic  workload = file(10MB) }`",
            )
        return Parts(
            topology=self._topology(at, block),
            topologies=self._topologies,
            flows=flows,
            services=Services({s.name.text: s for s in self._unique(syntax.Service, "service")}),
            users=self._several(syntax.Users, "users"),
            settings=block,
            lets=lets,
            hosts=Block(
                at, [s for h in self._of(syntax.Hosts) for s in h.settings.items], HOSTS, "`hosts`"
            ),
        )

    def _facts(
        self,
        at: Span,
        parts: Parts,
        grid: Grid,
        excludes: Sequence[syntax.Exclude],
        builder: Builder,
    ) -> tuple[Facts, Formulas]:
        """Evaluate everything with every swept value, and read what is measured; return the facts
        for figures and claims, and the file's own metrics.

        at: the experiment's name.
        """
        loads = self._scenarios(builder, grid)
        self._lets(parts.lets, grid)
        self._hosts(parts.hosts, grid)
        axes = self._try(grid.axes) or ()
        symbols = self._conditions(grid, excludes)
        names = builder.names
        known = [*dict.fromkeys(name for several in names for name in several)]
        swept = [name for group in grid.groups for name in group.names]
        namer = Namer(known, Sweep(grid, swept, parts.lets), parts.settings, at)
        formulas = Formulas(self._unique(syntax.Metric, "metric"), namer, [*names.flows])
        if (own := self._try(formulas.entries)) is not None:
            namer.metrics = namer.metrics.extended(own)
        one = Quantity(_ONE, NUMBER, self._file.span)
        facts = Facts(
            axes=axes,
            grid=grid,
            first=grid.scope(next(grid.varied()), {"repetition": one, "load": one}),
            lets=parts.lets,
            symbols=symbols,
            measured=None if own is None else self._measure(at, parts.settings, namer),
            namer=namer,
            flows=[*names.flows],
            on_users=[*names.on_users],
            users=[*names.users],
            groups=[*names.groups],
            loads=loads,
            present=builder.present,
            narrowed=self._overrides.narrows,
        )
        return facts, formulas

    def _requests(
        self, facts: Facts, formulas: Formulas, computed: tuple[Formula, ...]
    ) -> Requests:
        """Return what is computed of each cell, once figures and claims have named what they need.

        computed: the file's own metrics that `measure` names.
        """
        computed += self._try(formulas.build, facts.namer.own) or ()
        comparisons = self._try(facts.namer.comparisons) or ()
        if not self.diagnostics.errors:
            self.diagnostics.update(formulas.unused())
        return Requests(
            measure=tuple(facts.measured or ()),
            implied=facts.namer.implied,
            formulas=computed,
            comparisons=comparisons,
        )

    def _warn_unused(
        self,
        parts: Parts,
        bindings: Sequence[syntax.Binding],
        excludes: Sequence[syntax.Exclude],
    ) -> None:
        """Warn about what is declared and used nowhere, unless there are errors."""
        if self.diagnostics.errors:
            return
        services = parts.services.declared
        nodes: list[syntax.Node] = [s.value for s in parts.settings.settings.values()]
        nodes += [*parts.flows, *services.values(), *excludes, *self._topologies.values()]
        nodes += [n for kind in NAMING for n in self._of(kind)]
        rest = self._rest if services else ()
        elsewhere = self._overrides.words.union(*map(mentioned, rest))
        here = [s for name, s in services.items() if name not in elsewhere]
        reports = [n for kind in READING for n in self._of(kind)]
        self.diagnostics.update(
            unused(bindings, nodes, reports, parts.flows, parts.users, here, parts.lets)
        )

    def _grid(
        self, bindings: Sequence[syntax.Binding], lets: Mapping[str, syntax.Expr], repeat: int
    ) -> tuple[Grid, list[syntax.Exclude]]:
        """Return the grid and its excludes; an empty grid without any if the sweep is wrong."""
        excludes = list(self._of(syntax.Exclude))
        parts = sum(
            1
            for node in (*self._declarations, *self._statements)
            if not isinstance(node, syntax.Sweep | syntax.Experiment)
            for _ in node.walk()
        )
        own = {item.name.text for item in self._statements if isinstance(item, syntax.Let)}
        single = self._overrides.names
        grid = self._try(Grid, bindings, excludes, lets, repeat, single, parts, own)
        if grid is not None:
            grid.work.most = STEP_LIMIT
            return grid, excludes
        # Without the sweep its names are undefined; reporting that would only be noise.
        self._silent = {word.text for binding in bindings for word in binding.names}
        return Grid([], [], lets, repeat), []

    def _version(self) -> None:
        version = self._file.version
        if version is None:
            self._error(
                "no-version",
                "a file begins with the version of the language",
                Span(self._file.span.source, self._file.span.start, self._file.span.start),
                help="write `fexp 1` in its first line",
            )
        elif (version.number.digits, version.number.unit) != ("1", ""):
            self._error(
                "unknown-version",
                f"this fairc does not support version {version.number.span.text} of the language",
                version.number.span,
                help="it supports `fexp 1`",
            )

    def _topology(self, at: Span, block: Block) -> syntax.Expr | syntax.Body | None:
        """Return what describes the network; report a missing or a second description."""
        found: list[tuple[Span, syntax.Expr | syntax.Body]] = [
            (inline.span, inline.body) for inline in self._of(syntax.InlineTopology)
        ]
        setting = block.settings.get("topology")
        if setting:
            found.insert(0, (setting.key.span, setting.value))
        if not found:
            self._error(
                "missing-key",
                "an experiment needs `topology`",
                at,
                "`topology` is missing",
                help="for example `topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)`",
            )
            return None
        for span, _ in found[1:]:
            self._error(
                "duplicate-key",
                "an experiment has one topology",
                span,
                labels=(Label(found[0][0], "the first one"),),
                help="to compare topologies, sweep over them",
            )
        return found[0][1]

    def _scenarios(self, builder: Builder, grid: Grid) -> int:
        """Evaluate everything with every swept value, in configurations that occur; return the
        most page loads of any flow.

        At least one where something is wrong, so that nothing more is said about loads.
        """
        loads = 0
        for bound in occurring(grid, COUNT_LIMIT):
            scenario = self._try(builder.check, bound)
            flows = scenario.flows if scenario else ()
            each = (flow.workload.page_loads for flow in flows)
            loads = max(loads, *each, 0 if scenario else 1)
        if not self.diagnostics.errors:
            self.diagnostics.update(builder.never_there())
        first = grid.scope(next(grid.varied()))
        for name, topology in self._topologies.items():
            if all(p.default is not None for p in topology.parameters):
                value = Symbol(name, topology.name.span)
                self._try(builder.own_network, topology, value, first)
        return loads

    def _lets(self, lets: Mapping[str, syntax.Expr], grid: Grid) -> None:
        """Evaluate every `let`, even those that nothing uses."""
        scope = grid.scope(next(grid.varied()))
        unknown = statistical(lets)
        for name in lets:
            if name not in unknown:
                self._try(scope.get, name)

    def _hosts(self, block: Block, grid: Grid) -> None:
        self._try(block.checked)
        for bound in grid.varied():
            gather = Gather()
            block.read(grid.scope(bound), gather)
            self._try(gather.finish)

    def _conditions(self, grid: Grid, excludes: Sequence[syntax.Exclude]) -> set[str]:
        """Check every `exclude`; return the words that a condition may compare with."""
        symbols: set[str] = {*RESERVED, *self._overrides.words}
        for bound in grid.varied():
            for value in bound.values():
                symbols.update(symbols_in(value))
        number = Quantity(_ONE, NUMBER, self._file.span)
        for bound in grid.varied():
            scope = grid.scope(bound, {"repetition": number})
            for exclude in excludes:
                self._try(condition, exclude.condition, scope, symbols)
        return symbols

    def _measure(
        self, at: Span, block: Block, namer: Namer
    ) -> tuple[model.MetricRequest, ...] | None:
        """Return the metrics of `measure`, or None if something is wrong with them."""
        setting = block.settings.get("measure")
        if setting is None:
            self._warn(
                "nothing-measured",
                "this experiment measures nothing",
                at,
                "for example `measure = [goodput, fairness]`",
            )
            return ()
        return self._try(build_measures, setting.value, namer)

    def _figures(self, facts: Facts) -> tuple[FigureRequest, ...]:
        checker = FigureChecker(facts)
        calls = [figure for report in self._of(syntax.Report) for figure in report.figures]
        found = (
            self._try(of_a_part, facts, self.diagnostics, checker.build, call) for call in calls
        )
        return tuple(sheet for sheets in found for sheet in sheets or ())

    # helpers

    def _of(self, kind: type[N]) -> list[N]:
        """Return the declarations or statements of one kind."""
        everything: list[syntax.Node] = [*self._declarations, *self._statements]
        return [item for item in everything if isinstance(item, kind)]

    def _several(self, kind: type[Indexed], word: str) -> list[Indexed]:
        """Return the statements of one kind, of which several may have one name if each has an
        index or a condition: then configurations show whether one is declared twice.
        """
        found: dict[str, Indexed] = {}
        kept: list[Indexed] = []
        for item in self._of(kind):
            first = found.setdefault(item.name.text, item)
            if first is item or (_may_differ(first) and _may_differ(item)):
                if len(first.name.index) != len(item.name.index):
                    self._error(
                        f"duplicate-{word}",
                        f"`{item.name.text}` has as many indexes everywhere",
                        item.name.span,
                        labels=(Label(first.name.span, "first occurrence"),),
                        help="rename one of them",
                    )
                    continue
                kept.append(item)
            else:
                self._declared_twice(word, first.name, item.name)
        return kept

    def _unique(self, kind: type[Named], word: str) -> list[Named]:
        """Return the first item of each name among one kind; report the others."""
        found: dict[str, Named] = {}
        for item in self._of(kind):
            first = found.setdefault(item.name.text, item)
            if first is not item:
                self._declared_twice(word, first.name, item.name)
        return list(found.values())

    def _declared_twice(self, word: str, first: Name, second: Name) -> None:
        self._error(
            f"duplicate-{word}",
            f"`{word} {second.text}` is declared twice",
            second.span,
            labels=(Label(first.span, "first occurrence"),),
            help="rename one of them",
        )

    def _try(self, action: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T | None:
        """Return what an action returns, or None after collecting its diagnostics."""
        try:
            with within_bounds():
                return action(*arguments, **options)
        except CompileError as error:
            for diagnostic in error.diagnostics:
                span = diagnostic.span
                if not (span and span.text in self._silent and diagnostic.code.startswith("unkn")):
                    self.diagnostics.add(diagnostic)
            if len(self.diagnostics.errors) >= MOST_FOUND:
                raise TooManyErrors from None
        return None

    def _error(
        self,
        code: str,
        message: str,
        span: Span | None,
        note: str = "",
        labels: tuple[Label, ...] = (),
        help: str | None = None,
    ) -> None:
        self.diagnostics.add(Diagnostic(code, message, span, note, labels, help=help))

    def _warn(self, code: str, message: str, span: Span, help: str) -> None:
        self.diagnostics.add(warning(code, message, span, help=help))

    def _count(self, block: Block, key: Parameter[Quantity], scope: Scope) -> int:
        value = self._try(block.get, key, scope)
        return key.fallback.whole if value is None else value.whole

    def _text(self, block: Block, key: Parameter[Text], scope: Scope) -> str:
        value = self._try(block.given, key, scope)
        return "" if value is None else value.value

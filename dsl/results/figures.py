"""`report`: which figures are drawn, of which metric, over which names and which cells."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Parameter, Use, match
from fairc.dsl.core.literals import literal
from fairc.dsl.core.problems import Gather, fail, not_yet
from fairc.dsl.core.registry import refuse_unknown
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER, in_si
from fairc.dsl.core.values import (
    Argument,
    ListValue,
    Quantity,
    Symbol,
    Text,
    TupleValue,
    Value,
    shown,
)
from fairc.dsl.expressions.evaluate import Scope, evaluate, truth
from fairc.dsl.expressions.names import mentioned
from fairc.dsl.grid.conditions import FlowWord, check_flows
from fairc.dsl.grid.sampling import Bindings
from fairc.dsl.model.expressions import Selection
from fairc.dsl.model.metric_names import metric_of, unmarked
from fairc.dsl.model.names import base
from fairc.dsl.model.requests import Axis, FigureRequest, Shown, ShownQuantity
from fairc.dsl.text import syntax
from fairc.words.figures import A_METRIC, FIGURES, FLOW, LOAD, FigureEntry, takes_names
from fairc.words.metrics import METRICS

from .facts import Facts, condition
from .figure_expressions import check_axes, expression, is_expression
from .metric_uses import MetricUse, check_together, flow_named, metric_use
from .pairs import check_mirrored, check_pairs

Option = str | float | tuple[str, ...]

SUMMARIES = ("stat", "percentile")
"""The options that say how the values of a group are summarised."""

MOST_SHEETS = 12
"""At most so many sheets of one figure."""

PROTOCOLS = 2
"""HTTP versions that the loads of one flow may use: with h3 the first one is over h2."""

WALK_LIMIT = 100_000
"""At most this many combinations of values are examined to find those for which a condition
holds.
"""


class FigureChecker:
    """Checks the figures of a report against the metrics and the swept names."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._shows: dict[str, MetricUse] = {}
        self._flows: dict[str, str] = {}
        self._expression: syntax.Expr | None = None

    def build(self, figure: syntax.Call | syntax.Name) -> tuple[FigureRequest, ...]:
        """Return the figure, or its sheets where it has too many panels for one.

        Raises CompileError with everything wrong in it.
        """
        self._shows, self._flows, self._expression = {}, {}, None
        head = figure.name if isinstance(figure, syntax.Call) else figure
        entry = FIGURES.get(head.text, head.span)
        gather = Gather()
        given: list[Argument] = []
        where: syntax.Expr | None = None
        for argument in figure.arguments if isinstance(figure, syntax.Call) else ():
            with gather.attempt():
                value = self._value(entry, argument)
                key = argument.key
                given.append(Argument(key.text if key else None, value, key.span if key else None))
                where = argument.value if key and key.text == "where" else where
        if gather.found:
            gather.finish()
        if where is not None and FLOW in mentioned(where):
            with gather.attempt():
                self._check_flows(where)
        use = None
        with gather.attempt():
            use = match(entry, tuple(given), figure.span)
        if use is not None:
            self._check_names(entry, use.arguments, gather)
        asks = any(p.name == "metric" for p in entry.parameters)
        if not asks and entry.name in METRICS:  # it shows its namesake
            with gather.attempt():
                if METRICS[entry.name].per_load:
                    self._refuse_load(f"`{entry.name}`", head.span)
                metric_use(syntax.Name(head.span, entry.name), self._facts, is_drawn=True)
        if not entry.runs:
            gather.found.append(not_yet(f"the figure `{entry.name}`", figure.span, entry.instead))
        gather.finish()
        assert use is not None
        _check_curves(entry, use.arguments.get("metric"))
        selection = self._selection(where) if where else None
        made: list[tuple[Selection | None, Mapping[str, Value]]] = []
        for sheet, arguments in self._sheets(entry, use.arguments, selection):
            self._check_size(entry, arguments, sheet, figure.span)
            made.append((sheet, arguments))
        request = self._request(entry, use, figure.span, where, selection)
        if len(made) == 1:
            return (request,)
        options = [{**request.options, "facet": _canonical(given["facet"])} for _, given in made]
        return tuple(
            request.model_copy(update={"where": sheet, "options": own})
            for (sheet, _), own in zip(made, options, strict=True)
        )

    def _request(
        self,
        entry: FigureEntry,
        use: Use[FigureEntry],
        at: Span,
        where: syntax.Expr | None,
        selection: Selection | None,
    ) -> FigureRequest:
        """Return a figure as if it had room for all of its panels.

        where, selection: the condition on its configurations, as it is written and as it is kept.
        """
        filled = {p.name: _canonical(literal(p.default)) for p in entry.parameters if p.default}
        given = {name: _canonical(value) for name, value in use.arguments.items()}
        metric = given.pop("metric", entry.name)
        assert isinstance(metric, str)
        second = self._second(entry, given, at)
        given.pop("where", None)
        shown = self._shown(entry, use.arguments, where, at)
        return FigureRequest(
            kind=entry.name,
            metric=metric if shown is None else None,
            flow=self._flows.get("metric", ""),
            second=second,
            expression=shown,
            options={**filled, **given},
            where=selection,
        )

    def _value(self, entry: FigureEntry, argument: syntax.Argument) -> Value:
        key, node = argument.key, argument.value
        metrics = [p.name for p in entry.parameters if p.kind is A_METRIC]
        if key is None or key.text in metrics:
            waiting = [name for name in metrics if name not in self._shows]
            place = key.text if key else (waiting or metrics or [""])[0]
            return self._metric(entry, place, node)
        if key.text == "where":
            self._check_load(entry, node)
            facts = self._facts
            flows = [*facts.flows, *facts.on_users]
            words = {name for flow in flows for name in (flow, base(flow))}
            asks = {FLOW, *words} if FLOW in mentioned(node) else set[str]()
            if asks:
                own = {name: Symbol(name, node.span) for name in words}
                check_flows(node, Scope(own, parent=facts.first), flows)
            condition(node, facts.first, {*facts.symbols, *asks})
            return Text(node.span.one_line, node.span)
        own = {name: Symbol(name, node.span) for name in self._facts.names}
        return evaluate(node, Scope(own, self._facts.lets))

    def _metric(self, entry: FigureEntry, place: str, node: syntax.Expr) -> Symbol:
        """Return the name of the metric that a figure shows, and remember of which flow.

        place: its parameter; empty: the figure has none.
        """
        if not place:
            fail("too-many-arguments", f"`{entry.name}` shows no metric", node.span)
        if is_expression(node, self._facts):
            self._expression = node
            return Symbol("expression", node.span)
        use = metric_use(node, self._facts, is_drawn=True)
        if use is None:
            fail(
                "wrong-type",
                f"`{entry.name}` shows a metric, such as `goodput` or `fairness.F`",
                node.span,
                help="a figure shows one metric: write one for each; a metric's arguments are given"
                " in `measure`",
            )
        self._shows[place] = use
        if use.flow is not None:
            several = (*self._facts.on_users, *self._facts.groups)
            named = flow_named(use, use.flow, self._facts, several)
            self._flows[place] = named
        return Symbol(use.name, node.span)

    def _second(self, entry: FigureEntry, options: dict[str, Option], at: Span) -> Shown | None:
        """Take the second metric out of a figure's options. Raises CompileError."""
        places = [p.name for p in entry.parameters if p.kind is A_METRIC and p.name != "metric"]
        if not places or "metric" not in self._shows:
            return None
        if entry.of_pairs:
            check_pairs(str(options["x"]), str(options["y"]), self._facts, at)
        metric = options.pop(places[0], None)
        first, second = self._shows["metric"], self._shows.get(places[0])
        if entry.of_pairs:
            check_mirrored(first, second, self._flows, self._facts)
        if metric is None or second is None:
            return None
        if not entry.of_pairs:
            check_together(first, second, self._flows, self._facts)
        return Shown(metric=str(metric), flow=self._flows.get(places[0], ""))

    def _shown(
        self,
        entry: FigureEntry,
        arguments: Mapping[str, Value],
        where: syntax.Expr | None,
        at: Span,
    ) -> ShownQuantity | None:
        """Return the expression that a figure shows; None if it shows a metric."""
        if self._expression is None:
            return None
        for name in SUMMARIES:
            if name in arguments:
                fail(
                    "unknown-argument",
                    f"`{name}` summarises a metric, and this is an expression of statistics",
                    arguments[name].span,
                    help="leave it out",
                )
        shown = expression(entry, self._expression, where, self._facts)
        named = [
            s for p in entry.parameters if takes_names(p) for s in _symbols(arguments.get(p.name))
        ]
        check_axes(shown, named, self._facts, at)
        return shown

    def _check_load(self, entry: FigureEntry, node: syntax.Expr) -> None:
        """Raise CompileError if a condition names `load` and no flow loads pages."""
        for part in node.walk():
            if isinstance(part, syntax.Name) and part.text == LOAD:
                self._refuse_load(f"`where` of `{entry.name}`", part.span)

    def _check_flows(self, where: syntax.Expr) -> None:
        """Raise CompileError where a condition chooses flows and the figure shows none."""
        of_cell = [use for use in self._shows.values() if use.metric.of_cell]
        if of_cell or self._expression is not None:
            fail(
                "not-an-axis",
                f"`{of_cell[0].name}` is of all flows together, so none can be chosen"
                if of_cell
                else "an expression of statistics names its flows itself",
                where.span,
                help="leave `flow` out of the condition"
                if of_cell
                else "for example `median(goodput(a))`",
            )

    def _refuse_load(self, use: str, span: Span) -> None:
        if not self._facts.loads:
            fail(
                "not-an-axis",
                f"{use} needs page loads, but no flow of this experiment loads pages",
                span,
                note="`load` numbers the loads of a page, from 1",
                help="a flow loads pages with `workload = load(...)`",
            )

    def _check_names(
        self, entry: FigureEntry, arguments: Mapping[str, Value], gather: Gather
    ) -> None:
        seen: dict[str, Span] = {}
        for parameter in entry.parameters:
            value = arguments.get(parameter.name)
            if value is None or not takes_names(parameter):
                continue
            for item in _symbols(value):
                with gather.attempt():
                    self._check_name(entry, parameter, item, arguments)
                    if item.name in seen:
                        fail(
                            "duplicate-axis",
                            f"`{item.name}` is used twice in one figure",
                            item.span,
                            labels=(Label(seen[item.name], "first occurrence"),),
                        )
                seen.setdefault(item.name, item.span)

    def _check_name(
        self,
        entry: FigureEntry,
        parameter: Parameter[Any],
        item: Symbol,
        arguments: Mapping[str, Value],
    ) -> None:
        name, use = item.name, f"`{parameter.name}` of `{entry.name}`"
        if name not in self._facts.names:
            refuse_unknown("swept name", "name", name, self._facts.names, item.span)
        if name in (LOAD, "protocol"):
            self._refuse_load(use, item.span)
            metric = arguments.get("metric")
            per_load = [known.name for known in self._facts.namer.metrics if known.per_load]
            if isinstance(metric, Symbol) and metric_of(metric.name) not in per_load:
                fail(
                    "not-an-axis",
                    f"`{metric.name}` has no value for each load",
                    metric.span,
                    labels=(Label(item.span, "requested here"),),
                    help=f"metrics with a value for each load: {', '.join(per_load)}",
                )
        if name == "users" and not self._facts.users:
            fail(
                "not-an-axis",
                f"{use} cannot be `users`: this experiment has no `users`",
                item.span,
                help="write `flow` for one group for each flow",
            )
        if name != "time":
            return
        if parameter.name != entry.over_time:
            fail(
                "not-an-axis",
                f"{use} cannot be `time`",
                item.span,
                help="`time` is the axis of a line, as in `line(goodput, x: time)`",
            )
        metric = arguments.get("metric")
        over_time = [
            name
            for known in METRICS
            if known.over_time
            for name in (*known.courses, *(f"{known.name}.{v}" for v in known.values_over_time))
        ]
        if isinstance(metric, Symbol) and unmarked(metric.name) not in over_time:
            fail(
                "no-time-series",
                f"`{metric.name}` is not a value over time",
                metric.span,
                labels=(Label(item.span, "requested here"),),
                help=f"metrics over time: {', '.join(over_time)}",
            )

    def _selection(self, node: syntax.Expr) -> Selection:
        """Return the values of the names in a condition for which it holds."""
        facts = self._facts
        used = facts.grid.names_of(node)
        names = tuple(axis.name for axis in facts.axes if axis.name in used)
        other: dict[str, Sequence[Value]] = {
            "repetition": _numbers(facts.grid.repeat, node.span),
            LOAD: _numbers(facts.loads, node.span),
            FLOW: [FlowWord(flow, node.span) for flow in (*facts.flows, *facts.on_users)],
        }
        extra = tuple(name for name in other if name in used)
        numbers = [other[name] for name in extra]
        rows: dict[tuple[str, ...], bool] = {}
        for walked, bound in enumerate(facts.grid.projected(names), 1):
            if max(walked, len(rows), prod(map(len, numbers))) > WALK_LIMIT:
                fail(
                    "too-many",
                    f"this condition depends on more than {WALK_LIMIT:,} combinations of values",
                    node.span,
                    help="compare fewer names",
                )
            facts.grid.work.reset()
            facts.grid.work.step(node.span)
            key = tuple(shown(bound[name]) for name in names)
            for numbered in product(*numbers):
                full = (*key, *(value.canonical for value in numbered))
                if full not in rows:
                    rows[full] = self._holds(node, bound, dict(zip(extra, numbered, strict=True)))
        held = tuple(row for row, holds in rows.items() if holds)
        if not held:
            fail(
                "empty-figure",
                "no cell meets this condition, so the figure would be empty",
                node.span,
                help=_values_of(facts.axes, names),
            )
        return Selection(text=node.span.one_line, names=(*names, *extra), rows=held)

    def _holds(self, node: syntax.Expr, bound: Bindings, given: dict[str, Value]) -> bool:
        scope = self._facts.grid.scope(bound, given)
        return truth(evaluate(node, scope), node.span)

    def _sheets(
        self, entry: FigureEntry, arguments: Mapping[str, Value], selection: Selection | None
    ) -> Iterator[tuple[Selection | None, Mapping[str, Value]]]:
        """Yield the sheets of a figure: the cells of each, and the arguments with what makes its
        panels.

        A figure with more panels than a sheet has room for has one for each value of the first
        name of `facet`, or of the first two, and so on.
        """
        facet = _symbols(arguments.get("facet"))
        names = [symbol.name for symbol in facet]
        swept = [n for n in self._facts.swept if n in names]
        fits = self._count(names, selection, entry.panels) <= entry.panels
        if fits or len(swept) < len(names) or self._expression is not None or not entry.has_panels:
            yield selection, arguments
            return
        for first in range(1, len(names) + 1):
            sheets = self._parted(names[:first], selection)
            rest = facet[first:]
            panels = [self._count(names[first:], sheet, entry.panels) for sheet in sheets]
            if len(sheets) > MOST_SHEETS:
                break
            if max(panels) <= entry.panels:
                at = arguments["facet"].span
                for sheet in sheets:
                    yield sheet, {**arguments, "facet": ListValue(tuple(rest), at)}
                return
        yield selection, arguments  # which is too large

    def _parted(self, names: Sequence[str], selection: Selection | None) -> list[Selection]:
        """Return the cells of a selection by their values of some names, in the sweep's order."""
        facts, chosen = self._facts, selection or Selection(text="", names=(), rows=((),))
        known = [axis.name for axis in facts.axes if axis.name in {*names, *chosen.names}]
        extra = [name for name in chosen.names if name not in known]
        rows = set(chosen.rows)
        found: dict[tuple[str, ...], dict[tuple[str, ...], None]] = {}
        for bound in facts.grid.projected(known):
            values = {name: shown(value) for name, value in bound.items()}
            for row in rows:
                given = dict(zip(chosen.names, row, strict=True))
                if all(values.get(name, text) == text for name, text in given.items()):
                    whole = {**given, **values}
                    key = tuple(whole[name] for name in names)
                    found.setdefault(key, {})[tuple(whole[n] for n in (*known, *extra))] = None
        return [
            Selection(
                text=" and ".join(
                    [f"{n} == {v}" for n, v in zip(names, key, strict=True)]
                    + ([f"({chosen.text})"] if chosen.text else [])
                ),
                names=(*known, *extra),
                rows=tuple(held),
            )
            for key, held in found.items()
        ]

    def _check_size(
        self,
        entry: FigureEntry,
        arguments: Mapping[str, Value],
        selection: Selection | None,
        span: Span,
    ) -> None:
        """Raise CompileError for more panels, lines or groups than anyone can read."""
        in_panels = ("facet",) if entry.has_panels else ()
        panels = [s for p in in_panels for s in _symbols(arguments.get(p))]
        naming = {p.name for p in entry.parameters if takes_names(p)}
        of_groups = tuple(n for n in ("facet", "x", "y", "by") if n in arguments and n in naming)
        if entry.lines:
            of_groups = tuple(n for n in of_groups if n != "x")
        groups = [s for p in of_groups for s in _symbols(arguments[p])]
        lines = [s for s in _symbols(arguments.get("by")) if entry.lines]
        for symbols, limit, what in (
            (panels, entry.panels, "panels"),
            (lines, entry.lines, "lines in a panel"),
            (groups, entry.groups, "groups"),
        ):
            if symbols and self._count({s.name for s in symbols}, selection, limit) > limit:
                most = Span(span.source, symbols[0].span.start, symbols[-1].span.end)
                fail(
                    "too-many",
                    f"this figure would have more than {limit} {what}",
                    most,
                    help="use fewer names, or show fewer cells with `where`",
                )

    def _count(self, names: Collection[str], selection: Selection | None, limit: int) -> int:
        """Count the combinations of some names' values, stopping once there are more than
        `limit`.
        """
        facts = self._facts
        swept = [axis.name for axis in facts.axes if axis.name in names]
        factor = 1
        chosen = {} if selection is None else selection.values_of(FLOW)
        if FLOW in names:
            factor *= len(chosen) or len(facts.flows) + len(facts.on_users)
        if "users" in names:
            factor *= len(facts.users)
        if "protocol" in names:
            factor *= PROTOCOLS
        selection = selection.without(FLOW) if selection else None
        fixed = selection.names if selection else ()
        rows = set(selection.rows) if selection else set()
        counted = {"repetition": facts.grid.repeat, LOAD: facts.loads}
        extra = tuple(name for name in counted if name in {*names, *fixed})
        numbers = [tuple(map(str, range(1, counted[name] + 1))) for name in extra]
        numbered_names = tuple(name for name in extra if name in names)
        found: set[tuple[str, ...]] = set()
        for bound in facts.grid.projected({*swept, *fixed} - set(counted)):
            for numbered in product(*numbers):
                key = {n: shown(v) for n, v in bound.items()}
                key |= dict(zip(extra, numbered, strict=True))
                if selection and tuple(key[n] for n in fixed) not in rows:
                    continue
                found.add(tuple(key[n] for n in (*swept, *numbered_names)))
            if len(found) * factor > limit:
                break
        return len(found) * factor


def _check_curves(entry: FigureEntry, metric: Value | None) -> None:
    """Raise CompileError if a figure of curves shows a metric that has none."""
    curved = [known.name for known in METRICS if known.has_curves]
    if entry.shows_curves and isinstance(metric, Symbol) and metric.name not in curved:
        listed = ", ".join(f"`{name}`" for name in curved)
        fail(
            "no-curves",
            f"`{entry.name}` shows the curves of {listed}, but `{metric.name}` has none",
            metric.span,
            help=f"write `{entry.name}({curved[0]})`",
        )


def _numbers(count: int, at: Span) -> list[Value]:
    """Return the numbers from 1 to count as values."""
    return [Quantity(Fraction(number), NUMBER, at) for number in range(1, count + 1)]


def _symbols(value: Value | None) -> list[Symbol]:
    """Return the names that an argument gives."""
    items = value.items if isinstance(value, ListValue | TupleValue) else (value,)
    return [item for item in items if isinstance(item, Symbol)]


def _values_of(axes: Sequence[Axis], names: Collection[str]) -> str:
    def listed() -> Iterator[str]:
        for axis in axes:
            if axis.name in names:
                rest = ", ..." if len(axis.values) > 8 else ""
                yield f"`{axis.name}` has {', '.join(axis.values[:8])}{rest}"

    return "; ".join(listed()) or "write a condition on swept names, `repetition` or `load`"


def _canonical(value: Value) -> Option:
    """Return an option as the plan holds it."""
    if isinstance(value, ListValue | TupleValue):
        return tuple(item.canonical for item in value.items)
    if isinstance(value, Quantity):
        return in_si([value.number], value.dimension)[0][0]
    return value.value if isinstance(value, Text) else value.canonical

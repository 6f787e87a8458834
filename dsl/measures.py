"""`measure` and `report`: which metrics are computed, and which figures are drawn."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from . import model, syntax
from .diagnostics import Label
from .entries import Entry, Parameter, bind, match
from .evaluate import Scope, check_words, evaluate, truth
from .problems import Gather, fail, not_yet
from .registry import suggest, unknown
from .report_words import ALWAYS, FIGURES, METRICS
from .source import Span
from .units import DATA
from .values import Argument, ListValue, Quantity, Symbol, Text, TupleValue, Value


def build_measures(
    value: syntax.Expr, flows: Collection[str], lets: Mapping[str, syntax.Expr]
) -> tuple[model.MetricRequest, ...]:
    """Return the metrics that are asked for; they are the same for every cell.

    Raises CompileError with everything wrong, `not-yet` included.
    """
    scope = Scope({name: Symbol(name, value.span) for name in flows}, lets)
    listed = evaluate(value, scope)
    if not isinstance(listed, ListValue):
        fail(
            "wrong-type",
            f"`measure` must be a list of metrics, not {listed.words}",
            value.span,
            help=f"write `[{value.span.text}]`",
        )
    if not listed.items:
        fail(
            "empty-list", "`measure` is empty", value.span, help="name a metric, such as `goodput`"
        )
    gather = Gather()
    requests: dict[str, model.MetricRequest] = {}
    spans: dict[str, Span] = {}
    for item in listed.items:
        with gather.attempt():
            request = _metric(_place(item, value), flows)
            if request.name in requests:
                fail(
                    "duplicate-metric",
                    f"`{request.name}` is measured twice",
                    item.span,
                    labels=(Label(spans[request.name], "the first time"),),
                    help="one request of each metric, so that its values have one name",
                )
            requests[request.name], spans[request.name] = request, item.span
    gather.finish()
    return tuple(requests.values())


def _place(item: Value, within: syntax.Expr) -> Value:
    """A metric called like a flow (`goodput`) is the metric, at the place where it stands."""
    if isinstance(item, Symbol) and item.span == within.span:
        for part in within.walk():
            if isinstance(part, syntax.Name) and part.text == item.name:
                return Symbol(item.name, part.span)
    return item


def _metric(item: Value, flows: Collection[str]) -> model.MetricRequest:
    use = bind(METRICS, item, "an item of `measure`")
    gather = Gather()
    for session in use.repeated:
        if isinstance(session, Symbol) and session.name not in flows:
            with gather.attempt():
                near = unknown("flow", "flow", session.name, flows, session.span)
                fail(near.code, near.message, session.span, near.note, help=near.help)
    gather.finish()
    sessions = tuple(v.name for v in use.repeated if isinstance(v, Symbol))
    repeated = {p.name for p in use.entry.parameters if p.repeated}
    options = {
        name: _option(argument)
        for name, argument in use.arguments.items()
        if name not in repeated
    }  # fmt: skip
    return model.MetricRequest(use.entry.name, sessions, options)


def _option(value: Value) -> float | str:
    if isinstance(value, Quantity):
        number = value.number / 8 if value.dimension == DATA else value.number
        return float(number)
    return value.canonical


class FigureChecker:
    """Checks the figures of a report against the metrics and the swept names."""

    def __init__(
        self,
        axes: Sequence[model.Axis],
        first: Scope,
        lets: Mapping[str, syntax.Expr],
        words: Collection[str],
    ) -> None:
        self._names = [*(axis.name for axis in axes), *ALWAYS]
        self._lets = lets
        self._first = first
        self._words = words

    def build(self, figure: syntax.Call | syntax.Name) -> model.FigureRequest:
        """Return the figure. Raises CompileError with everything wrong in it."""
        head = figure.name if isinstance(figure, syntax.Call) else figure
        entry = FIGURES.get(head.text, head.span)
        gather = Gather()
        given: list[Argument] = []
        for argument in figure.arguments if isinstance(figure, syntax.Call) else ():
            with gather.attempt():
                value = self._value(entry, argument)
                key = argument.key
                given.append(Argument(key.text if key else None, value, key.span if key else None))
        if gather.found:
            gather.finish()
        with gather.attempt():
            use = match(entry, tuple(given), figure.span)
        if not gather.found:
            self._check_names(entry, use.arguments, gather)
        if not entry.runs:
            gather.found.append(not_yet(f"the figure `{entry.name}`", figure.span, entry.instead))
        gather.finish()
        options = {name: _canonical(value) for name, value in use.arguments.items()}
        metric = options.pop("metric", None)
        assert metric is None or isinstance(metric, str)
        return model.FigureRequest(entry.name, metric, options)

    def _value(self, entry: Entry, argument: syntax.Argument) -> Value:
        key, node = argument.key, argument.value
        if key is None or key.text == "metric":
            return _metric_path(entry, node)
        if key.text == "where":
            condition(node, self._first, self._words)
            return Text(" ".join(node.span.text.split()), node.span)
        own = {name: Symbol(name, node.span) for name in self._names}
        return evaluate(node, Scope(own, self._lets))

    def _check_names(self, entry: Entry, arguments: Mapping[str, Value], gather: Gather) -> None:
        for parameter in entry.parameters:
            value = arguments.get(parameter.name)
            if value is None or not _takes_names(parameter):
                continue
            items = value.items if isinstance(value, ListValue | TupleValue) else (value,)
            for item in items:
                if isinstance(item, Symbol) and item.name not in self._names:
                    with gather.attempt():
                        near = unknown("swept name", "name", item.name, self._names, item.span)
                        fail(near.code, near.message, item.span, near.note, help=near.help)


def _takes_names(parameter: Parameter) -> bool:
    return parameter.name in ("x", "y", "by", "facet")


def _metric_path(entry: Entry, node: syntax.Expr) -> Value:
    """Return `fairness.F` as a word, having checked the metric and its sub-value."""
    takes = any(p.name == "metric" for p in entry.parameters)
    if not isinstance(node, syntax.Name) or not takes:
        if not takes:
            fail("too-many-arguments", f"`{entry.name}` shows no metric", node.span)
        fail(
            "wrong-type",
            f"`{entry.name}` shows a metric, such as `goodput` or `fairness.F`",
            node.span,
            help="its arguments are given in `measure`",
        )
    metric = METRICS.get(
        node.text, Span(node.span.source, node.span.start, node.span.start + len(node.text))
    )
    for part in node.rest:
        if part not in metric.values:
            near = suggest(part, metric.values)
            fail(
                "unknown-value",
                f"the metric `{metric.name}` has no value called `{part}`",
                Span(node.span.source, node.span.end - len(part), node.span.end),
                note=f"did you mean `{near}`?" if near else "",
                help=f"it has: {', '.join(metric.values)}" if metric.values else "it is one value",
            )
    return Symbol(".".join((node.text, *node.rest)), node.span)


def _canonical(value: Value) -> str | tuple[str, ...]:
    if isinstance(value, ListValue | TupleValue):
        return tuple(item.canonical for item in value.items)
    return value.value if isinstance(value, Text) else value.canonical


def condition(node: syntax.Expr, scope: Scope, words: Collection[str]) -> None:
    """Raise CompileError unless a condition can be evaluated for a first configuration."""
    check_words(node, scope, words)
    truth(evaluate(node, scope), node.span)

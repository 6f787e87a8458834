"""`measure`: which metrics are computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

from fairc.dsl import model
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entry, bind
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import listed, refuse_unknown, suggest
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import DATA, FREQUENCY, NUMBER, PACKETS, RATE, TIME, Dimension, in_si
from fairc.dsl.core.values import ListValue, Quantity, Symbol, Value
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.model.names import base
from fairc.dsl.text import syntax
from fairc.words.metrics import METRICS

DIMENSIONS: Mapping[str, Dimension] = {
    "1": NUMBER,
    "s": TIME,
    "bit/s": RATE,
    "B": DATA,
    "packets": PACKETS,
    "1/s": FREQUENCY,
    "tokens": NUMBER,
}
"""Unit of a metric -> dimension of its values; metrics of a plug-in may have any unit."""


def build_measures(
    value: syntax.Expr, flows: Collection[str], lets: Mapping[str, syntax.Expr]
) -> tuple[tuple[model.MetricRequest, ...], Mapping[str, Span]]:
    """Return the requested metrics, which are the same for every cell, and where each is written.

    Raises CompileError with everything wrong, `not-yet` included.
    """
    # A flow takes precedence over a `let` of its name; other flow names are undefined, so words.
    scope = Scope({name: Symbol(name, value.span) for name in flows if name in lets}, lets)
    scope.dotted = True
    listed = evaluate(value, scope)
    if not isinstance(listed, ListValue):
        fail(
            "wrong-type",
            f"`measure` must be a list of metrics, not {listed.phrase}",
            value.span,
            help=f"write `[{value.span.text}]`",
        )
    if not listed.items:
        fail(
            "empty-list", "`measure` is empty", value.span, help="name a metric, such as `goodput`"
        )
    gather = Gather()
    requests: dict[str, model.MetricRequest] = {}
    places: dict[str, Span] = {}
    for item in listed.items:
        with gather.attempt():
            placed = _place(item, value)
            request = _metric(placed, flows)
            first = requests.setdefault(request.name, request)
            if first is not request:
                requests[request.name] = _merged(first, request, places[request.name], placed.span)
            places.setdefault(request.name, placed.span)
    gather.finish()
    return tuple(
        request.model_copy(update={"values": ()}) if request.values == (request.name,) else request
        for request in requests.values()
    ), places


def _parted(item: Value) -> tuple[Value, str]:
    """Return a metric without its sub-value, and both together: `queue_delay`,
    `queue_delay.p95`.
    """
    if not isinstance(item, Symbol) or "." not in item.name:
        return item, ""
    name, *rest = item.name.split(".")
    span = Span(item.span.source, item.span.start, item.span.start + len(name))
    check_sub_values(METRICS.get(name, span), rest, item.span)
    return Symbol(name, span), item.name


def _merged(
    first: model.MetricRequest, second: model.MetricRequest, at: Span, here: Span
) -> model.MetricRequest:
    """Return one request for two values of a metric. Raises CompileError if they do not combine."""
    given = [r for r in (first, second) if r.sessions or r.options]
    if len(given) == 2 or set(first.values) & set(second.values) or (given and given[0] is second):
        fail(
            "duplicate-metric",
            f"`{second.values[0]}` is measured twice",
            here,
            labels=(Label(at, "first occurrence"),),
            help="request each metric once, so that its values have one name; list any number of"
            " its sub-values",
        )
    return first.model_copy(update={"values": (*first.values, *second.values)})


def check_sub_values(metric: Entry, rest: Sequence[str], at: Span) -> None:
    """Raise CompileError unless a metric has the values after its name; at: the whole path."""
    for part in rest:
        if part not in metric.values or len(rest) > 1:
            near = suggest(part, metric.values)
            fail(
                "unknown-value",
                f"the metric `{metric.name}` has no value called `{part}`",
                Span(at.source, at.end - len(part), at.end),
                note=f"did you mean `{near}`?" if near else "",
                help=f"it has: {', '.join(metric.values)}"
                if metric.values
                else "it has a single value",
            )


def _place(item: Value, within: syntax.Expr) -> Value:
    """Return an item; a metric that has a flow's name (`goodput`) is placed where it is written."""
    if isinstance(item, Symbol) and item.span == within.span:
        for part in within.walk():
            if isinstance(part, syntax.Name) and part.text == item.name:
                return Symbol(item.name, part.span)
    return item


def _metric(item: Value, flows: Collection[str]) -> model.MetricRequest:
    """Return the request of a metric, or of the sub-value that is named."""
    metric, value = _parted(item)
    use = bind(METRICS, metric, "an item of `measure`")
    gather = Gather()
    met: dict[str, Span] = {}
    for session in use.repeated:
        if isinstance(session, Symbol) and session.name in met:
            with gather.attempt():
                fail(
                    "duplicate-argument",
                    f"`{session.name}` is given twice",
                    session.span,
                    labels=(Label(met[session.name], "given here first"),),
                )
        if isinstance(session, Symbol):
            met.setdefault(session.name, session.span)
        if isinstance(session, Symbol) and session.name not in flows:
            with gather.attempt():
                refuse_flow(session.name, session.span, flows)
    gather.finish()
    sessions = tuple(v.name for v in use.repeated if isinstance(v, Symbol))
    repeated = {p.name for p in use.entry.parameters if p.repeated}
    options = {
        name: _option(argument) for name, argument in use.arguments.items() if name not in repeated
    }
    values = (value or use.entry.name,)
    return model.MetricRequest(
        name=use.entry.name, sessions=sessions, options=options, values=values
    )


def refuse_flow(name: str, span: Span, known: Collection[str]) -> NoReturn:
    """Raise CompileError for an unknown flow. known: those that may be named."""
    group = [flow for flow in known if base(flow) == base(name) != flow]
    if group and name != base(name):
        fail(
            "unknown-flow",
            f"`{base(name)}` has no index `{name[len(base(name)) + 1 : -1]}`",
            span,
            help=f"there are {listed(group)}",
        )
    refuse_unknown("flow", "flow", name, known, span)


def _option(value: Value) -> float | str:
    if isinstance(value, Quantity):
        return in_si([value.number], value.dimension)[0][0]
    return value.canonical

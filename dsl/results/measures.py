"""`measure`: which metrics are computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fairc.dsl import model
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import bind
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import unknown
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import in_si
from fairc.dsl.core.values import ListValue, Quantity, Symbol, Value
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.text import syntax
from fairc.dsl.words.report_words import METRICS


def build_measures(
    value: syntax.Expr, flows: Collection[str], lets: Mapping[str, syntax.Expr]
) -> tuple[model.MetricRequest, ...]:
    """Return the metrics that are asked for; they are the same for every cell.

    Raises CompileError with everything wrong, `not-yet` included.
    """
    # A flow comes before a `let` of its name; other names of flows are words where they stand.
    scope = Scope({name: Symbol(name, value.span) for name in flows if name in lets}, lets)
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
    return model.MetricRequest(use.entry.name, sessions, options, item.span)


def _option(value: Value) -> float | str:
    if isinstance(value, Quantity):
        return in_si([value.number], value.dimension)[0][0]
    return value.canonical

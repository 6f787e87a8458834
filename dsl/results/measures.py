"""`measure`: which metrics are computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.units import BDP, DATA, FREQUENCY, NUMBER, PACKETS, RATE, TIME, Dimension
from fairc.dsl.core.values import ListValue
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.model.requests import MetricRequest
from fairc.dsl.text import syntax
from fairc.words.metrics import METRICS

from .instances import Instance, Namer

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

_BASES = {"1": NUMBER, "bit": Dimension(data=1), "s": TIME, "packets": PACKETS, "bdp": BDP}


def dimension_of(unit: str) -> Dimension | None:
    """Return the dimension of values in a unit, such as `bit/s^2`; None for a unit of a plug-in's
    own.
    """
    if unit in DIMENSIONS:
        return DIMENSIONS[unit]
    found = NUMBER
    above, _, below = unit.partition("/")
    for part, sign in ((above, 1), (below, -1)):
        for power in part.split():
            base, _, exponent = power.partition("^")
            if base not in _BASES or not (exponent or "1").isdigit():
                return None
            for _ in range(int(exponent or "1")):
                found = found.times(_BASES[base], sign)
    return found


def build_measures(value: syntax.Expr, namer: Namer) -> tuple[MetricRequest, ...]:
    """Return the requested metrics, which are the same for every cell.

    Raises CompileError with everything wrong, `not-yet` included.
    """
    listed = _listed(value, namer)
    if not listed.items:
        fail(
            "empty-list", "`measure` is empty", value.span, help="name a metric, such as `goodput`"
        )
    gather = Gather()
    found: list[Instance] = []
    for item in _items(listed, namer):
        with gather.attempt():
            _refuse_arithmetic(item, namer.scope)
            found.append(namer.read(item, "an item of `measure`"))
    requests: tuple[MetricRequest, ...] = ()
    with gather.attempt():
        requests = namer.measure(found)
    gather.finish()
    return requests


def _refuse_arithmetic(item: syntax.Expr, scope: Scope) -> None:
    """Refuse arithmetic of metrics without a name."""
    operands = item.operands if isinstance(item, syntax.Chain) else ()
    words = [
        each.name.text if isinstance(each, syntax.Call) else each.span.text for each in operands
    ]
    names = [word.partition(".")[0] for word in words]
    if any(name in METRICS and scope.get(name) is None for name in names):
        fail(
            "wrong-type",
            "`measure` names metrics; arithmetic of their values is a metric of its own",
            item.span,
            help=f"write `metric NAME = {item.span.text}`, and NAME here",
        )


def _listed(value: syntax.Expr, namer: Namer) -> syntax.ListOf:
    """Return the list that an expression is, or stands for. Raises CompileError."""
    node = _resolved(value, namer)
    if isinstance(node, syntax.ListOf):
        return node
    found = evaluate(value, namer.scope)
    return fail(
        "wrong-type",
        f"`measure` must be a list of metrics, not {found.phrase}",
        value.span,
        help=None
        if isinstance(found, ListValue)
        else f"write `[{value.span.text if value.span.text in METRICS else 'goodput'}]`",
    )


def _items(listed: syntax.ListOf, namer: Namer) -> Iterator[syntax.Expr]:
    for item in listed.items:
        yield _resolved(item, namer)


def _resolved(node: syntax.Expr, namer: Namer) -> syntax.Expr:
    """Return what a name of a `let` stands for, or the expression itself."""
    lets, seen = namer.sweep.lets, set[str]()
    while isinstance(node, syntax.Group) or (
        isinstance(node, syntax.Name)
        and not node.rest
        and node.text in lets
        and node.text not in (*namer.flows, *seen)
    ):
        if isinstance(node, syntax.Group):
            node = node.inner
        else:
            seen.add(node.text)
            node = lets[node.text]
    return node

"""Claims: one statistic, with its metric, its flow and page load, and its configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Parameter, assign, signature
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER, Dimension
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.model.expressions import StatisticName, Tested
from fairc.dsl.model.names import base
from fairc.dsl.text import syntax
from fairc.words import claims as words
from fairc.words.figures import LOAD
from fairc.words.metric_entry import MetricEntry

from .claim_forms import is_statistic
from .facts import Facts, condition
from .measures import dimension_of
from .metric_uses import MetricUse, flow_named, flows_with, metric_use

TESTS = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class Reading:
    """A checked statistic, as written. Its numbers may depend on swept names, so they are
    expressions.

    flow: the flow or the group of users; of several flows with an index, what they are all called.
    each: the flows that it is about one by one, where there are several.
    share: of `percentile`, else None.
    test: of `count`, its comparison and bound.
    where: chooses configurations.
    """

    statistic: StatisticName
    metric: str
    flow: str
    load: int
    unit: str
    span: Span
    share: syntax.Expr | None = None
    test: tuple[Tested, syntax.Expr] | None = None
    where: syntax.Expr | None = None
    each: tuple[str, ...] = ()

    @property
    def dimension(self) -> Dimension:
        """The dimension of its values; `count` gives a number."""
        return NUMBER if self.test else self.of_metric

    @property
    def of_metric(self) -> Dimension:
        """The dimension of the metric's values."""
        return dimension_of(self.unit) or NUMBER


def readings_in(node: syntax.Expr, facts: Facts, gather: Gather) -> dict[int, Reading]:
    """Return the checked statistics of an expression by where they are written."""
    found: dict[int, Reading] = {}
    for part in node.walk():
        if isinstance(part, syntax.Call) and is_statistic(part):
            with gather.attempt():
                found[part.span.start] = read(part, facts)
    return found


def read(call: syntax.Call, facts: Facts) -> Reading:
    """Check one statistic. Raises CompileError with everything wrong in it."""
    entry = words.STATISTICS.get(call.name.text, call.name.span)
    given = arguments(call, entry.parameters)
    gather = Gather()
    path: syntax.Expr = given[words.METRIC.name]
    test: tuple[Tested, syntax.Expr] | None = None
    if entry is words.COUNT:
        path, test = _tested(path)
    use = _use(path, facts)
    flow, load = "", 0
    with gather.attempt():
        flow = _flow(use, given.get(words.FLOW.name), facts)
    with gather.attempt():
        load = _load(use.metric, given.get(words.LOAD.name), facts, path.span)
    where = given.get(words.WHERE.name)
    if where is not None:
        with gather.attempt():
            check_where(where, facts)
    gather.finish()
    return Reading(
        cast(StatisticName, entry.name),
        use.name,
        flow,
        load,
        use.unit,
        call.span,
        share=given.get(words.P.name),
        test=test,
        where=where,
        each=_each(use, flow, facts),
    )


def _tested(node: syntax.Expr) -> tuple[syntax.Expr, tuple[Tested, syntax.Expr]]:
    """Return the metric of a `count`, and its comparison and bound. Raises CompileError."""
    if not isinstance(node, syntax.Compare) or node.operator not in TESTS:
        fail(
            "wrong-type",
            "`count` takes a metric compared with a bound",
            node.span,
            help="for example `count(goodput > 1Mbit/s) > 90%`: in nine of ten repetitions",
        )
    return node.left, (cast(Tested, node.operator), node.right)


def check_where(node: syntax.Expr, facts: Facts) -> None:
    """Raise CompileError unless a condition chooses configurations by swept names."""
    for part in node.walk():
        if isinstance(part, syntax.Name) and part.text in ("repetition", LOAD, "time"):
            fail(
                "not-an-axis",
                f"a claim cannot choose by `{part.text}`",
                part.span,
                note="its statistics are taken over all repetitions",
                help="for one load of a page write `median(plt, load: 2)`"
                if part.text == LOAD
                else "name swept values only",
            )
    condition(node, facts.first, facts.symbols)


def arguments(call: syntax.Call, parameters: Sequence[Parameter[object]]) -> dict[str, syntax.Expr]:
    """Return the arguments of a statistic by name. Raises CompileError."""
    gather = Gather()
    word, known = call.name.text, [p.name for p in parameters]
    places = ((a.key, a.key.span if a.key else a.value.span, a.value) for a in call.arguments)
    assigned = assign(
        word,
        known,
        ((key.text if key else None, place, value) for key, place, value in places),
        gather,
        positional=[p.name for p in parameters if p.required],
    )
    found = {name: value for name, _, value in assigned}
    for parameter in parameters:
        if parameter.required and parameter.name not in found and not gather.found:
            with gather.attempt():
                fail(
                    "missing-argument",
                    f"`{call.name.text}` needs its argument `{parameter.name}`",
                    call.span,
                    note=f"`{parameter.name}` is {parameter.summary}",
                    help=signature(word, known),
                )
    gather.finish()
    return found


def _use(node: syntax.Expr, facts: Facts) -> MetricUse:
    """Return the metric that is named, and its sub-value. Raises CompileError."""
    use = metric_use(node, facts)
    if use is None:
        fail(
            "wrong-type",
            "a statistic is of a metric, such as `goodput` or `fairness.F`",
            node.span,
            help="for example `median(fairness.F) > 0.2`",
        )
    return use


def _flow(use: MetricUse, node: syntax.Expr | None, facts: Facts) -> str:
    """Return the flow that a statistic is about. Raises CompileError if that is not clear.

    node: as given with `flow:`.
    """
    metric = use.metric
    if node is not None and use.flow is not None:
        fail(
            "duplicate-argument",
            "the flow is given twice",
            node.span,
            labels=(Label(use.flow.span, "given here first"),),
        )
    node = use.flow if node is None else node
    if node is None:
        if metric.of_cell:
            return ""
        known = flows_with(use, facts)
        if len(known) == 1 and (use.is_grouped or not facts.on_users):
            return known[0]
        of_all = [] if use.is_grouped else [g for g in facts.groups if g in map(base, known)]
        each = f"`{use.name}({of_all[0]})` is about each of them; " if of_all else ""
        fail(
            "missing-argument",
            f"`{metric.name}` has a value for each {'group' if use.is_grouped else 'flow'}",
            use.span,
            help=f"{each}name one, as in "
            + " or ".join(f"`{use.name}({name})`" for name in known[:3] or facts.users),
        )
    named = isinstance(node, syntax.Name) and node.text in (*facts.on_users, *facts.users)
    if named and not use.is_grouped and "user" in metric.values:
        fail(
            "unknown-flow",
            f"`{metric.name}` has a value for each host of `{node.span.text}`",
            node.span,
            help=(
                f"`{metric.name}.user` is what one user of a group gets, `{metric.name}.group`"
                f" what all get"
            ),
        )
    return flow_named(use, node, facts, facts.groups)


def _each(use: MetricUse, flow: str, facts: Facts) -> tuple[str, ...]:
    """Return the flows that a statistic is about one by one; none if it is about a single one."""
    if flow not in facts.groups or use.is_grouped:
        return ()
    return tuple(name for name in flows_with(use, facts) if base(name) == flow)


def _load(metric: MetricEntry, node: syntax.Expr | None, facts: Facts, at: Span) -> int:
    """Return the number of the load that a statistic is about, or 0 if the metric has none."""
    if not metric.per_load:
        if node is not None:
            fail("unknown-argument", f"`{metric.name}` has no value for each load", node.span)
        return 0
    if node is None:
        if facts.loads <= 1:  # without one the metric has no value, which is reported as such
            return 1
        fail(
            "missing-argument",
            f"`{metric.name}` has a value for each load of a page",
            at,
            note="loads of one cell are not independent, so they are not pooled",
            help=f"name one of {facts.loads}, as in `load: {facts.loads}`",
        )
    number = words.LOAD.kind.take(evaluate(node, Scope({}, facts.lets)), "`load`", node.span)
    if number.whole > facts.loads:
        fail(
            "out-of-range",
            f"there are {facts.loads} loads of a page",
            node.span,
            note=f"this is {number.canonical}",
        )
    return number.whole

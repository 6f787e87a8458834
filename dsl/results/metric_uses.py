"""A metric as claims and figures name it: `fairness.F`, `goodput(bbr)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Symbol
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.model.metric_names import request_label, unmarked
from fairc.dsl.model.names import base
from fairc.dsl.text import syntax
from fairc.words.metric_entry import MetricEntry

from .facts import Facts
from .instances import check_sub_values, refuse_flow

OF_USERS = ("user", "group")


@dataclass(frozen=True)
class MetricUse:
    """A metric that is named, or one of its values.

    value: the sub-value; empty: none is named.
    flow: whose value, as written in parentheses.
    mark: what distinguishes it from others of the metric, such as its window.
    """

    metric: MetricEntry
    value: str
    flow: syntax.Expr | None
    span: Span
    mark: str = ""

    @property
    def name(self) -> str:
        """Its full name: `fairness.F`, `goodput(from: 5s)`."""
        path = f"{self.metric.name}.{self.value}" if self.value else self.metric.name
        return f"{path}{self.mark}"

    @property
    def unit(self) -> str:
        """The SI unit of its values."""
        return self.metric.unit_of(self.value)

    @property
    def is_grouped(self) -> bool:
        """Whether it has a value for each group of users."""
        return self.value in OF_USERS or self.value.startswith("group_")


def metric_use(node: syntax.Expr, facts: Facts, *, is_drawn: bool = False) -> MetricUse | None:
    """Return the metric that an expression names, which is measured from now on, or None if it is
    of another form.

    is_drawn: by a figure, which may need its values over time. Raises CompileError for an unknown
    metric or value.
    """
    if isinstance(node, syntax.Call):
        path, place = node.name.text, node.name.span
    elif isinstance(node, syntax.Name):
        path, place = ".".join((node.text, *node.rest)), node.span
    else:
        return None
    word, *rest = path.split(".")
    namer = facts.namer
    metric = namer.metrics.get(word, place.first(len(word)))
    check_sub_values(metric, rest, place)
    flow = _flow(node, metric, facts) if isinstance(node, syntax.Call) else None
    if isinstance(node, syntax.Name) and any(r.label == word for r in facts.measured or ()):
        return MetricUse(metric, rest[0] if rest else "", flow, node.span)
    name = namer.name(namer.read(node, "a metric"), is_drawn=is_drawn)
    mark = name.removeprefix(unmarked(name))
    return MetricUse(metric, rest[0] if rest else "", flow, node.span, mark)


def _flow(call: syntax.Call, metric: MetricEntry, facts: Facts) -> syntax.Expr | None:
    """Return the flow that a metric is called with, if it is of one. Raises CompileError for
    several.
    """
    flows = [argument.value for argument in call.arguments if argument.key is None]
    for key in (argument.key for argument in call.arguments if argument.key is not None):
        if any(p.repeated and p.name == key.text for p in metric.parameters):
            fail(
                "unknown-argument",
                f"`{call.name.text}` takes no argument called `{key.text}` here",
                key.span,
                help="the flow is named without it, as in `goodput(bbr)`",
            )
    if metric.of_cell:
        if len(flows) == 1 and flows[0].span.text in facts.flows:
            fail(
                "unknown-argument",
                f"`{metric.name}` is of all flows together, not of one",
                flows[0].span,
                help="leave the flow out, or name all that it compares",
            )
        return None
    if not call.arguments:
        fail(
            "missing-argument",
            f"here `{call.name.text}` is of one flow",
            call.span,
            help=f"for example `{call.name.text}(bbr)`",
        )
    if not flows:
        return None
    if len(flows) > 1:
        fail(
            "too-many-arguments",
            f"here `{call.name.text}` is of one flow",
            flows[1].span,
            help=f"for example `{call.name.text}({flows[0].span.text})`",
        )
    return flows[0]


def flow_named(use: MetricUse, node: syntax.Expr, facts: Facts, more: Sequence[str]) -> str:
    """Return the flow, or the group of users, that is named. Raises CompileError.

    node: its name, as written. more: flows that may be named as well.
    """
    metric = use.metric
    if metric.of_cell:
        fail(
            "unknown-argument",
            f"`{metric.name}` is of all flows together, not of one",
            node.span,
            help="leave the flow out",
        )
    known = [*flows_with(use, facts), *more]
    if not isinstance(node, syntax.Name) or node.rest:
        fail("wrong-type", "this must be the name of a flow", node.span)
    name = flow_label(node, facts)
    if name not in known:
        refuse_flow(name, node.span, known)
    return name


def flow_label(node: syntax.Name, facts: Facts) -> str:
    """Return the name of a flow with its index, if it has one. Raises CompileError."""
    if not node.index:
        return node.text
    own = {node.text: Symbol(node.text, node.span)}
    return evaluate(node, Scope(own, facts.lets)).canonical


def flows_with(use: MetricUse, facts: Facts) -> list[str]:
    """Return the flows, or the groups of users, that a metric has values for."""
    every_request = (*(facts.measured or ()), *facts.namer.implied)
    requests = [r for r in every_request if r.label == request_label(use.name)]
    sessions = [name for r in requests for name in r.sessions if not use.mark]
    sessions = sessions or list(use.metric.flows)
    every = [*facts.users, *facts.groups] if use.is_grouped else facts.flows
    return [
        name
        for name in every
        if not sessions or {name, base(name)} & set(sessions) or use.is_grouped
    ]


def check_together(
    first: MetricUse, second: MetricUse, flows: Mapping[str, str], facts: Facts
) -> None:
    """Raise CompileError where two metrics have no flow in common, and neither is of one flow.

    flows: those that are named, by the parameters of the figure.
    """
    if flows or first.metric.of_cell or second.metric.of_cell:
        return
    if not set(flows_with(first, facts)) & set(flows_with(second, facts)) and not facts.on_users:
        fail(
            "no-common-flow",
            f"no flow has both `{first.name}` and `{second.name}`",
            second.span,
            note="each point needs both",
            help="name the flows, as in "
            + " and ".join(
                f"`{u.name}({f})`" for u in (first, second) for f in flows_with(u, facts)[:1]
            ),
        )

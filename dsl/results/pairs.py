"""`report`: two swept names that are bound by `pairs(...)`."""

from __future__ import annotations

from collections.abc import Mapping

from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span

from .facts import Facts
from .metric_uses import MetricUse, flows_with


def check_pairs(x: str, y: str, facts: Facts, at: Span) -> None:
    """Raise CompileError unless two swept names are bound together, each pair of values once."""
    together = any({x, y} <= set(group.names) for group in facts.grid.groups)
    if not together:
        fail(
            "not-pairs",
            f"a matrix shows pairs, and `{x}` and `{y}` are not bound together",
            at,
            help=f"sweep over `({x}, {y}) = pairs(...)`, or write `heatmap` for any two names",
        )
    met = {(b[x].canonical, b[y].canonical) for b in facts.grid.projected({x, y})}
    twice = [(a, b) for a, b in sorted(met) if a < b and (b, a) in met]
    if twice:
        a, b = twice[0]
        fail(
            "not-pairs",
            f"a matrix mirrors each pair, and `{a}` and `{b}` are swept in both orders",
            at,
            help=f"sweep over `({x}, {y}) = pairs(...)`, which has each pair once, or write"
            " `heatmap`",
        )


def check_mirrored(
    first: MetricUse, second: MetricUse | None, flows: Mapping[str, str], facts: Facts
) -> None:
    """Raise CompileError unless it is clear what stands at both places of a pair.

    second: None: the same at both. flows: those that are named, by the parameters of the figure.
    """
    for use, place in ((first, "metric"), (second, "other")):
        if use is None or use.metric.of_cell:
            continue
        known = flows_with(use, facts)
        if place not in flows and len(known) > 1:
            fail(
                "missing-argument",
                f"`{use.name}` has a value for each flow, and a matrix shows one of a pair",
                use.span,
                help=f"name the flow of each name: `matrix({use.name}({known[0]}),"
                f" {use.name}({known[1]}), ...)`",
            )
        if second is None:
            fail(
                "missing-argument",
                f"`{use.name}` is of one flow, and a matrix also shows the other of a pair",
                use.span,
                help="name the metric of the mirrored place as the second argument",
            )

"""How many page loads an experiment makes: the values of `load` in figures and conditions."""

from __future__ import annotations

from collections.abc import Sequence

from fairc.dsl.core.diagnostics import CompileError
from fairc.dsl.core.values import Applied, Quantity
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.text import syntax
from fairc.words.blocks import flow as keys
from fairc.words.workloads import load

from .sweeps import Grid

WORKLOAD, LOADS = keys.WORKLOAD.name, load.LOADS.name


def most_loads(flows: Sequence[syntax.Flow], grid: Grid) -> int:
    """Return the largest number of page loads in any flow; 0 if no flow loads pages.

    Errors in a workload are reported where flows are built, not here.
    """
    expressions = [
        setting.value
        for flow in flows
        for setting in flow.settings.items
        if setting.key.text == WORKLOAD
    ]
    return max(
        (_loads(node, grid.scope(bound)) for bound in grid.varied() for node in expressions),
        default=0,
    )


def _loads(node: syntax.Expr, scope: Scope) -> int:
    try:
        value = evaluate(node, scope)
    except CompileError:
        return 0
    if not isinstance(value, Applied) or value.name != load.LOAD.name:
        return 0
    for argument in value.arguments:
        if argument.key == LOADS and isinstance(argument.value, Quantity):
            # Too many are reported where flows are built; here they are only capped.
            return min(max(0, int(argument.value.number)), load.MOST_LOADS)
    return 1

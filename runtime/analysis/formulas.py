"""Metrics of a file's own: what follows from other values of the same cell.

Where the cell lacks a value that a formula needs, the result has no value, either; nor has it after
a division by zero, or the root of a negative number. None counts as zero, and the reason says why.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from fairc.compiler.plan import Cell, CellValue, Formula
from fairc.dsl.model.expressions import Undefined, evaluate
from fairc.dsl.model.names import called, label_of
from fairc.runtime.measurement.results import MetricValue, replaced
from fairc.runtime.metrics.registry import full_name

Place = tuple[str | None, int | None]
"""What a value belongs to: its flow and its page load; None: none."""
Known = Mapping[str, Mapping[Place, MetricValue]]
"""The values of a cell by their names."""


def values(cell: Cell, formula: Formula, known: Known) -> Iterator[MetricValue]:
    """Yield the values of a formula, one for each flow and page load that it is of."""
    found = [_own(cell, operand, known) for operand in formula.operands]
    loads = sorted({load for of in found for _, load in of if load is not None})
    for flow in _flows(cell, formula, found):
        for load in loads or (None,):
            yield _value(cell, formula, found, (flow, load))


def renewed(
    cell: Cell, formulas: Iterable[Formula], known: tuple[MetricValue, ...]
) -> tuple[MetricValue, ...]:
    """Return the values of a cell, where those of formulas follow from what the others are now.

    formulas: all, each after those that it needs. known: every value that any of them is made of,
    and those of their results that are kept.
    """
    by_name: dict[str, dict[Place, MetricValue]] = {}
    for value in known:
        by_name.setdefault(value.metric, {})[value.flow, value.load] = value
    found: list[MetricValue] = []
    for formula in formulas:
        results = {(value.flow, value.load): value for value in values(cell, formula, by_name)}
        kept = by_name.get(formula.name, {})
        found += (value for place, value in results.items() if place in kept)
        by_name[formula.name] = results
    return replaced(known, found)


def _meant(cell: Cell, names: Iterable[str]) -> set[str]:
    """Return the flows of a cell that names stand for."""
    return {label_of(flow) for flow in cell.flows if not called(flow).isdisjoint(names)}


def _own(cell: Cell, operand: CellValue, known: Known) -> Mapping[Place, MetricValue]:
    """Return the values that an operand means, of all that the cell has of its metric."""
    every = known.get(full_name(operand.metric), {})
    if not operand.flows:
        return every
    named = _meant(cell, operand.flows) | {*operand.flows}
    return {place: value for place, value in every.items() if place[0] in named}


def _flows(
    cell: Cell, formula: Formula, found: list[Mapping[Place, MetricValue]]
) -> list[str | None]:
    """Return the flows that results are of; a flow that the cell lacks has none."""
    if formula.flows is None:
        return [None]
    each = [of for of, operand in zip(found, formula.operands, strict=True) if operand.is_each]
    if each:
        return list(dict.fromkeys(flow for of in each for flow, _ in of if flow is not None))
    return [flow for flow in formula.flows if _meant(cell, (flow,))]


def _value(
    cell: Cell,
    formula: Formula,
    found: list[Mapping[Place, MetricValue]],
    place: Place,
) -> MetricValue:
    number, reason, used = None, "", list[MetricValue]()
    endless = [value for of in found for value in of.values() if value.value is None]
    try:
        used = [
            _operand(operand, of, place)
            for operand, of in zip(formula.operands, found, strict=True)
        ]
        numbers = iter([value.value or 0.0 for value in used])
        number = evaluate(formula.expression, cell.bindings, lambda _: next(numbers))
        if not math.isfinite(number):
            number = None
            raise Undefined("it is larger than a number can be")
    except Undefined as why:
        reason = str(why)
    return MetricValue(
        metric=formula.name,
        flow=place[0],
        value=number,
        unit=formula.unit,
        reason=reason,
        load=place[1],
        censored=0 if number is None else sum(value.censored for value in used),
        started=sum(value.started for value in (endless if number is None else used)),
    )


def _operand(operand: CellValue, of: Mapping[Place, MetricValue], place: Place) -> MetricValue:
    """Return the value of an operand for a result. Raises Undefined."""
    flow, load = place
    if not operand.is_each:
        flows = list(dict.fromkeys(one for one, _ in of))
        if len(flows) > 1:
            raise Undefined(f"{operand.metric} has {len(flows)} values")
        flow = flows[0] if flows else next(iter(operand.flows), None)
    value = of.get((flow, load)) or of.get((flow, None))
    if value is None or value.value is None:
        whose = f" of {flow}" if flow else ""
        why = f": {value.reason}" if value is not None and value.reason else ""
        raise Undefined(f"{operand.metric}{whose} has no value{why}")
    return value

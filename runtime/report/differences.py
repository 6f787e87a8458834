"""Settings of the transports, and how compared ones differ apart from their congestion control
(measurement.md, rule 6).
"""

from __future__ import annotations

from collections.abc import Mapping

from fairc.runtime.analysis.conditions import CONDITIONS
from fairc.runtime.formatting import listed

from .run import Run
from .sheet import Sheet, section_table

# Values that a cell of the table names before it says "and N more".
MAX_VALUES = 3


def differences(run: Run) -> Sheet:
    """Return the conditions in which compared transports differ, a row each.

    A flow is compared with itself where the sweep changes its transport, otherwise the flows of
    each cell are compared. So a condition that a sweep changes for all transports alike is no
    difference. Failed cells and runs with a single transport show none.
    """
    rows = run.rows("SELECT cell, flow, condition, transport, value FROM conditions ORDER BY ALL")
    over: dict[str, set[str]] = {}
    for _, flow, _, transport, _ in rows:
        over.setdefault(flow, set()).add(transport)
    swept = {flow for flow, transports in over.items() if len(transports) > 1}
    # Condition -> what is compared -> transport -> values.
    found: dict[str, dict[str, dict[str, set[str]]]] = {}
    for cell, flow, condition, transport, value in rows:
        if flow in swept or not swept:
            groups = found.setdefault(condition, {}).setdefault(flow if swept else cell, {})
            groups.setdefault(transport, set()).add(value)
    transports = sorted(set().union(*over.values()))
    conditions: list[tuple[str, ...]] = []
    for condition in CONDITIONS:
        differing = [g for g in found.get(condition.name, {}).values() if _differ(g)]
        if differing:
            values = (_values(differing, transport) for transport in transports)
            conditions.append((f"{condition.name}: {condition.meaning}", *values))
    return section_table(
        "transports",
        "Differences between the transports",
        (("condition", False), *((transport.upper(), False) for transport in transports)),
        conditions,
        "Values in the cells in which the transports differ",
    )


def settings(run: Run) -> Sheet:
    """Return all conditions, a row each, with the values that they have over each transport."""
    found: dict[str, dict[str, set[str]]] = {}
    for condition, transport, value in run.rows(
        "SELECT DISTINCT condition, transport, value FROM conditions ORDER BY ALL"
    ):
        found.setdefault(condition, {}).setdefault(transport, set()).add(value)
    transports = sorted({over for values in found.values() for over in values})
    rows = [
        (
            f"{condition.name}: {condition.meaning}",
            *(_values([found[condition.name]], transport) for transport in transports),
        )
        for condition in CONDITIONS
        if condition.name in found
    ]
    return section_table(
        "settings",
        "Settings of the transports",
        (("setting", False), *((transport.upper(), False) for transport in transports)),
        rows,
        "What the endpoints are set to, constants of theirs included",
    )


def _differ(group: Mapping[str, set[str]]) -> bool:
    return len(set(map(frozenset, group.values()))) > 1


def _values(groups: list[dict[str, set[str]]], transport: str) -> str:
    texts = dict.fromkeys(text for group in groups for text in sorted(group.get(transport, ())))
    return listed(list(texts), MAX_VALUES)

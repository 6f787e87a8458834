"""Settings of the transports, and how compared ones differ apart from their congestion control
(measurement.md, rule 6).
"""

from __future__ import annotations

from collections.abc import Mapping

from fairc.runtime.analysis.conditions import CONDITIONS
from fairc.runtime.formatting import listed

from .run import Run, in_list
from .sheet import Sheet, section_table

# Values that a cell of the table names before it says "and N more".
MAX_VALUES = 3
# The values of each condition over each transport, once for all cells (or flows) that share them:
# all those of 100,000 cells would take gigabytes.
_GROUPS = """
WITH texts AS (
  SELECT condition, {compared} AS compared, transport, list_sort(list(DISTINCT value)) AS found
  FROM conditions WHERE {chosen} GROUP BY ALL
), groups AS (
  SELECT condition, compared, list(transport ORDER BY transport) AS transports,
    list(found ORDER BY transport) AS found
  FROM texts GROUP BY ALL
)
SELECT condition, transports, found FROM groups
GROUP BY ALL ORDER BY condition, min(compared)
"""


def differences(run: Run) -> Sheet:
    """Return the conditions in which compared transports differ, a row each.

    A flow is compared with itself where the sweep changes its transport, otherwise the flows of
    each cell are compared. So a condition that a sweep changes for all transports alike is no
    difference. Failed cells and runs with a single transport show none.
    """
    over: dict[str, set[str]] = {}
    for flow, transport in run.rows("SELECT DISTINCT flow, transport FROM conditions"):
        over.setdefault(flow, set()).add(transport)
    transports = sorted(set().union(*over.values()))
    swept = sorted(flow for flow, own in over.items() if len(own) > 1)
    found: dict[str, list[dict[str, set[str]]]] = {}
    if len(transports) > 1:
        condition, flows = in_list(swept)
        for name, own, values in run.rows(
            _GROUPS.format(
                compared="flow" if swept else "cell",
                chosen=f"flow {condition}" if swept else "true",
            ),
            flows if swept else [],
        ):
            found.setdefault(name, []).append(dict(zip(own, map(set, values), strict=True)))
    conditions: list[tuple[str, ...]] = []
    for each in CONDITIONS:
        differing = [group for group in found.get(each.name, ()) if _differ(group)]
        if differing:
            texts = (_values(differing, transport) for transport in transports)
            conditions.append((f"{each.name}: {each.meaning}", *texts))
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
        "transport-settings",
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

"""The history of a run directory: its commands, and what was declared before there were results to
see.

`lock.json` carries it from one `fairc run` to the next:

    locked       when the first run locked the directory, and how many results existed by then
    invocations  the commands that produced cells: settings, engine and condition, each once, in
                 order
    declared     the metrics of `measure`, each with the time at which a run first named it, and the
                 number of results that existed by then: 0 makes it confirmatory (measurement.md,
                 rule 22)

    claimed      the same for claims, if there are any

A metric with other flows or options is another metric; a claim about other configurations or with
another bound is another claim, whatever its wording. An entry that is removed from the file and
restored keeps its first record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

from pydantic_core import to_json

from fairc.compiler.plan import (
    CellValue,
    Claim,
    Expression,
    Formula,
    MetricRequest,
    Operation,
    Plan,
    Requests,
)
from fairc.runtime.store import provenance
from fairc.runtime.store.folder import LOCK, Store, StoreError

LOCKED, INVOCATIONS = "locked", "invocations"
DECLARED, CLAIMED = "declared", "claimed"
OF_A_TERM = ("statistic", "metric", "flow", "load", "share", "relation", "bound")


def invocation(
    store: Store, planned: Mapping[str, Any], where: str | None = None, *, phases: bool = False
) -> dict[str, Any]:
    """Describe a command that runs cells of the store's plan: what it needs beyond the file.

    planned: the lock's part of the plan. where: its condition. phases: whether it also runs the
    phase check. Raises StoreError.
    """
    plan = store.plan
    asked: dict[str, Any] = {"plan": planned["sha256"]}
    if plan.settings:
        asked["settings"] = {setting.name: setting.value for setting in plan.settings}
    if plan.engine_asked:
        asked["engine"] = plan.engine
    if where is not None:
        asked["where"] = where
    if phases:
        asked["phase_check"] = True
    return asked


def carried(
    store: Store, asked: Mapping[str, Any], before: Callable[[object], int] | None = None
) -> dict[str, Any]:
    """Return these parts of a store's new lock, from the lock that it has.

    asked: of `invocation`. before: how many results existed when a metric (of `as_declared`) was
    first named, where cells come from elsewhere; otherwise those of the store. Raises StoreError.
    """
    old = _old(store)
    invocations = [entry for entry in old.get(INVOCATIONS, []) if entry != asked]
    # A lock of an earlier version has no time of its own: it is that of what it declared first.
    names = declared(store.plan)
    metrics = _first_named(store, old.get(DECLARED, []), "request", names, before)
    known = metrics or [{"at": _now(), "results": store.count_results()}]
    first = {key: known[0][key] for key in ("at", "results")}
    found = {
        LOCKED: old.get(LOCKED, first),
        INVOCATIONS: [*invocations, dict(asked)],
        DECLARED: metrics,
    }
    claims = [*map(as_claimed, store.plan.claims)]
    if claimed := _first_named(store, old.get(CLAIMED, []), "claim", claims, before):
        found[CLAIMED] = claimed
    return found


def _old(store: Store) -> dict[str, Any]:
    try:
        return provenance.read(store.path / LOCK)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise StoreError(f"{store.path / LOCK} cannot be read: {error}") from None


def _first_named(
    store: Store,
    old: list[dict[str, Any]],
    key: str,
    named: Sequence[object],
    before: Callable[[object], int] | None,
) -> list[dict[str, Any]]:
    """Add what the plan is the first to name, by a key, with the time and the number of results."""
    known = [entry[key] for entry in old]
    new = [each for each in named if each not in known]
    if not new:
        return old
    there = store.count_results() if before is None else 0
    at = _now()
    return [*old, *({key: n, "at": at, "results": before(n) if before else there} for n in new)]


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def as_claimed(claim: Claim) -> str:
    """Return a claim as the locks of all versions have it: a hash of everything except its
    wording.
    """
    units = [
        {
            "terms": [
                {
                    **{name: getattr(term, name) for name in OF_A_TERM},
                    "factor": factor,
                    "cells": term.cells,
                }
                for term, factor in zip(unit.terms, unit.contrast.factors, strict=True)
            ],
            "shift": unit.contrast.shift,
            "low": unit.low,
            "high": unit.high,
        }
        for unit in claim.units
    ]
    meaning = {
        "over": claim.over,
        "form": claim.form,
        "relation": claim.relation,
        "unit": claim.unit,
        "shared": claim.shared,
        "units": units,
        **({} if claim.least == 1 else {"least": claim.least}),
    }
    return hashlib.sha256(to_json(meaning)).hexdigest()


def claims_before(plan: Plan, locked: Mapping[str, Any]) -> dict[int, tuple[int, str]] | None:
    """Return for each claim, by number, how many results existed when a run first made it, and
    when.

    locked: the lock. None where it has no record of claims.
    """
    if CLAIMED not in locked:
        return None
    entries = {
        entry["claim"]: (entry["results"], entry["at"]) for entry in reversed(locked[CLAIMED])
    }
    return {
        number: entries[name]
        for number, name in enumerate(map(as_claimed, plan.claims))
        if name in entries
    }


def declared(plan: Plan) -> list[dict[str, Any]]:
    """Return the metrics that a plan names, as the lock has them."""
    return [as_declared(request, plan.requests) for request in plan.measure]


def as_declared(request: MetricRequest, among: Requests) -> dict[str, Any]:
    """Return a metric as the lock has it: of a window, of options that depend on the configuration
    and of a formula a hash.
    """
    found = request.model_dump(mode="json", exclude={"window", "varied"})
    formulas = among.behind(request.name)
    if request.window or request.varied or formulas:
        meaning = [request.model_dump_json().encode(), *map(_meaning, formulas)]
        found["meaning"] = hashlib.sha256(b"\n".join(meaning)).hexdigest()
    return found


def _meaning(formula: Formula) -> bytes:
    """Return what a formula means, as the locks of all versions hash it: in reverse Polish
    notation, its values by their numbers.
    """
    numbers = count()

    def steps(node: Expression) -> list[object]:
        if not isinstance(node, Operation):
            return [next(numbers) if isinstance(node, CellValue) else node]
        first, *others = map(steps, node.of)
        if not others:
            return [*first, node.operator]
        return [*first, *(step for other in others for step in (*other, node.operator))]

    values = formula.operands
    each = [{"is_each": True} if value.is_each else {} for value in values]
    own = formula.model_dump(exclude={"expression"})
    operands = [
        {"metric": value.metric, "flows": value.flows, **more}
        for value, more in zip(values, each, strict=True)
    ]
    return to_json({**own, "operands": operands, "steps": steps(formula.expression)})


def results_before(plan: Plan, locked: Mapping[str, Any]) -> dict[str, tuple[int, str]] | None:
    """Return for each metric of a plan how many results existed when a run first named it, and
    when.

    locked: the lock. None where an earlier version kept no record.
    """
    if DECLARED not in locked:
        return None
    found: dict[str, tuple[int, str]] = {}
    for request in plan.measure:
        for entry in locked[DECLARED]:
            if entry["request"] == as_declared(request, plan.requests):
                found |= dict.fromkeys(request.shown, (entry["results"], entry["at"]))
                break
    return found

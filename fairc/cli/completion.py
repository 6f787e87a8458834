"""Completion after TAB: metrics and swept names of the run that a command line names.

They are read from its plan as JSON: no model, no table, so a shell has them in 0.1 s.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from fairc.compiler.files import opened

GROUPS = ("flow", "repetition", "load", "protocol")
"""By what values are grouped, besides swept names."""
MOST_BYTES = 16 << 20


def metrics(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the metrics that a run measured, its own first."""
    plan = _plan(context)
    names = [*_names(plan, "formulas"), *_names(plan, "measure"), *_names(plan, "implied")]
    return _beginning(names, incomplete)


def swept(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the swept names of a run, after those that are there already: `a,b`."""
    given, comma, begun = incomplete.rpartition(",")
    names = [*_names(_plan(context), "axes"), *GROUPS]
    left = [name for name in names if name not in given.split(",")]
    return [f"{given}{comma}{name}" for name in _beginning(left, begun)]


def _plan(context: click.Context) -> dict[str, Any]:
    """Return the plan of the run of a command line; nothing where there is none.

    click does not know the run where an option's value is still to come: then it is looked for
    among the words.
    """
    words = os.environ.get("COMP_WORDS", "").split()
    for run in [context.params.get("run"), *words]:
        try:
            with opened(Path(run or "", "plan.json")) as file:
                plan = json.loads(file.read(MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(plan, dict):
            return plan
    return {}


def _names(plan: dict[str, Any], key: str) -> list[str]:
    items = plan.get(key)
    named = (
        [each.get("name") for each in items if isinstance(each, dict)]
        if isinstance(items, list)
        else []
    )
    return [name for name in named if isinstance(name, str) and name.isprintable()]


def _beginning(names: list[str], incomplete: str) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]

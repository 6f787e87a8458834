"""The plan's JSON Schema, as published in `docs/reference/plan.schema.json`."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import TypeAdapter

from fairc.mechanisms import register

from .plan import PLAN_VERSION, Cell, Plan


def schema() -> str:
    """Return the JSON Schema: `Plan` for plan.json, `Cell` for each line of cells.jsonl."""
    register()
    both: list[tuple[str, Literal["validation"], TypeAdapter[Any]]] = [
        (kind.__name__, "validation", TypeAdapter(kind)) for kind in (Plan, Cell)
    ]
    _, document = TypeAdapter.json_schemas(
        both,
        title=f"fairc plan, version {PLAN_VERSION}",
        description="plan.json is a Plan; each line of cells.jsonl is a Cell.",
    )
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    document["anyOf"] = [{"$ref": "#/$defs/Plan"}, {"$ref": "#/$defs/Cell"}]
    _sort_choices(document)
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _sort_choices(part: Any) -> None:
    """Sort the kinds of a value, which come in the order in which their modules were imported."""
    if isinstance(part, dict):
        if "discriminator" in part:
            part["oneOf"].sort(key=json.dumps)
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            _sort_choices(each)

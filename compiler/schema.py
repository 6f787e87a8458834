"""The plan's JSON Schema, as published in `docs/reference/plan.schema.json`."""

from __future__ import annotations

import json

from pydantic.json_schema import models_json_schema

from .plan import PLAN_VERSION, Cell, Plan


def schema() -> str:
    """Return the JSON Schema: `Plan` for plan.json, `Cell` for each line of cells.jsonl."""
    _, document = models_json_schema(
        [(Plan, "validation"), (Cell, "validation")],
        title=f"fairc plan, version {PLAN_VERSION}",
        description="plan.json is a Plan; each line of cells.jsonl is a Cell.",
    )
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    document["anyOf"] = [{"$ref": "#/$defs/Plan"}, {"$ref": "#/$defs/Cell"}]
    return json.dumps(document, indent=2, sort_keys=True) + "\n"

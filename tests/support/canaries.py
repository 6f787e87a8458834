"""Hostile texts for every field of a plan, from its schema: a field that is added is tried without
being named here.

A slot is a field that holds text of somebody's choice, `Class.field`: neither an enumeration nor a
constant.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter

from fairc.compiler.plan import Cell, Plan, cell_json, parse_cell

CANARY = "canary7"


def as_json(model: Plan | Cell) -> str:
    """Return a plan or a cell as JSON."""
    return cell_json(model) if isinstance(model, Cell) else model.model_dump_json()


def of_json(kind: type[Plan | Cell], text: str) -> Plan | Cell:
    """Return the plan or the cell that a JSON is. Raises ValidationError."""
    return parse_cell(text) if kind is Cell else Plan.model_validate_json(text)


Path = tuple[str | int, ...]

# For texts that say something. None has a control character: those are refused (cell/text.py).
TEXTS = (
    f"'''{CANARY}\"\"\"\\",
    f"#% endfor {{{{ {CANARY} }}}} {{% raw %}} {{# {CANARY}",
    f"${{{CANARY}}} $({CANARY}) `{CANARY}` %({CANARY})s %n",
    f"- &a {CANARY}: !!python/object/apply:os.system [x] # *a",
    f'"}}], "{CANARY}": [{{"x',
    f"</script></title><img src=x onerror={CANARY}()><!-- ]]>",
    f"[{CANARY}](javascript:{CANARY}()) | a | ``` ~~~ $\\input{{/etc/{CANARY}}}$",
    f"=cmd|' /C {CANARY}'!A0",
    f"--- {CANARY}",
    f"\U0001f600 \ufffe \U000e0041 \u0301 {CANARY} \u00a0 \u3000",
)
# For names: whatever their pattern lets through. They go into keys, names of files, of services and
# of interfaces.
NAMES = (
    *("null", "true", "on", "1e3", "0x1f", "~", "-rf", "--help", "__proto__", "canary7"),
    *("CANARY_7",),
    *("a.canary7", "a-canary7", "_canary7", "con", "eval", "import", "class", "../canary7"),
    *(
        "canary7/x",
        "canary7 x",
        "canary7:x",
        "canary7\n",
        "$canary7",
        "canary7;x",
        "x" * 15,
        "x" * 80,
    ),
)


@cache
def slots() -> frozenset[str]:
    """Return every slot of today's plan and cells."""
    return slots_of(Plan) | slots_of(Cell)


def slots_of(model: type) -> frozenset[str]:
    """Return the slots of a class and of the classes in it."""
    schema = TypeAdapter(model).json_schema()
    classes = {model.__name__: schema, **schema.get("$defs", {})}
    return frozenset(
        f"{name}.{field}"
        for name, one in classes.items()
        for field, part in one.get("properties", {}).items()
        if _texts(part)
    )


@cache
def free() -> frozenset[str]:
    """Return the slots that take what somebody says: any characters but some (their patterns begin
    with `[^`).
    """
    found = set()
    for model in (Plan, Cell):
        schema = TypeAdapter(model).json_schema()
        for name, one in {model.__name__: schema, **schema.get("$defs", {})}.items():
            for field, part in one.get("properties", {}).items():
                if re.search(r'"pattern": "\^(\(\?:)?\[\^', json.dumps(part)):
                    found.add(f"{name}.{field}")
    return frozenset(found)


def _texts(schema: Any) -> bool:
    """Whether a part of a schema, without the classes that it refers to, holds a text of somebody's
    choice.
    """
    if isinstance(schema, dict):
        if "patternProperties" in schema or schema.get("type") == "string":
            return "enum" not in schema and "const" not in schema
        if schema.get("type") == "object" and "additionalProperties" in schema:
            return True  # its keys are texts
        return any(_texts(part) for part in schema.values())
    return isinstance(schema, list) and any(map(_texts, schema))


def places(model: object, path: Path = ()) -> Iterator[tuple[str, Path, str]]:
    """Yield (slot, path in the JSON, text) of every text in a plan or cell that is one of a slot.

    The path of a key ends with it, as that of its value does; the text tells them apart, or does
    not matter.
    """
    known = slots()
    names = type(model).model_fields if isinstance(model, BaseModel) else _fields(model)
    for field in names:
        slot = f"{type(model).__name__}.{field}"
        for inner, found in _leaves(getattr(model, field), (*path, field)):
            if _is_part(found):
                yield from places(found, inner)
            elif slot in known and isinstance(found, str):
                yield slot, inner, found


def _is_part(value: object) -> bool:
    """Whether a value is one of the classes of a plan."""
    return isinstance(value, BaseModel) or is_dataclass(value)


def _fields(part: Any) -> list[str]:
    return [field.name for field in fields(part)]


def _leaves(value: object, path: Path) -> Iterator[tuple[Path, object]]:
    if isinstance(value, str) or _is_part(value):
        yield path, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield (*path, key), key
            yield from _leaves(part, (*path, key))
    elif isinstance(value, tuple | list):
        for number, part in enumerate(value):
            yield from _leaves(part, (*path, number))


def planted(document: Any, path: Path, old: str, new: str) -> Iterator[Any]:
    """Yield documents with another text: at the path alone, wherever it is, and, for a name, as a
    part of names, too.
    """
    one = copy.deepcopy(document)
    at = one
    for part in path[:-1]:
        at = at[part]
    if isinstance(at, dict) and path[-1] == old:
        at[new] = at.pop(old)
    else:
        at[path[-1]] = new
    yield one
    yield everywhere(document, old, new)
    if re.fullmatch(r"[\w-]+", old):
        yield renamed(document, old, new)


def everywhere(value: Any, old: str, new: str) -> Any:
    """Return a document in which every text that is the old one is the new one."""
    if isinstance(value, dict):
        return {k: everywhere(v, old, new) for k, v in value.items()}
    if isinstance(value, list):
        return [everywhere(each, old, new) for each in value]
    return new if value == old else value


def renamed(value: Any, old: str, new: str) -> Any:
    """Return a document in which a name is another, alone and as a part of names between dots."""
    if isinstance(value, dict):
        return {renamed(k, old, new): renamed(v, old, new) for k, v in value.items()}
    if isinstance(value, list):
        return [renamed(each, old, new) for each in value]
    if isinstance(value, str):
        return re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", lambda _: new, value)
    return value

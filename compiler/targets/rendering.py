"""Templates of the targets: how they are compiled, and what makes a text safe in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from fairc.compiler.plan import Cell
from fairc.dsl.core.source import printable

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def template(name: str) -> Template:
    """Return a template, compiled at its first use.

    What it is filled in with goes through `json`, `yaml` or `comment`, or is code, a number or a
    name.
    """
    return _environment().get_template(name)


def quoted(text: object) -> str:
    """Write a text for Compose: quoted as YAML and JSON have it, and a dollar stands for itself."""
    return json.dumps(text).replace("$", "$$")


def comment(text: object) -> str:
    """Make a text safe for a comment: one line, nothing but printable characters."""
    return printable(str(text))


def header(cell: Cell) -> Iterator[str]:
    """Yield the comment lines that say which cell this is."""
    yield f"cell           {cell.id}"
    yield f"experiment     {cell.experiment}"
    yield f"configuration  {cell.configuration}"
    for name, value in cell.bindings.items():
        yield f"  {name} = {value}"
    yield f"repetition     {cell.repetition}, seed {cell.seed}"


@cache
def _environment() -> Environment:
    """Return how templates are read; machines that run cells need none, and no Jinja."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("fairc.compiler.targets"),
        undefined=StrictUndefined,
        line_statement_prefix="#%",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        auto_reload=False,
    )
    found.filters.update(json=json.dumps, yaml=quoted, comment=comment)
    return found

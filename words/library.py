"""The presets: ordinary `.fexp` files that ship with fairc."""

from __future__ import annotations

from functools import cache
from importlib import resources

from fairc.dsl.core.source import Source
from fairc.dsl.text import syntax
from fairc.dsl.text.parser import parse

ALIASES = {"lte": "4g"}


@cache
def preset(name: str) -> syntax.Topology | None:
    """Return the declaration of a preset, or None if it has no file yet."""
    name = ALIASES.get(name, name)
    text = preset_text(name)
    if text is None:
        return None
    for declaration in parse(Source(f"<preset {name}>", text)).declarations:
        if isinstance(declaration, syntax.Topology) and declaration.name.text == name:
            return declaration
    raise AssertionError(f"the preset file {name}.fexp declares no topology of that name")


def preset_text(name: str) -> str | None:
    """Return the text of a preset's file, or None if there is none."""
    file = resources.files("fairc.dsl.presets").joinpath(f"{ALIASES.get(name, name)}.fexp")
    return file.read_text(encoding="utf-8") if file.is_file() else None

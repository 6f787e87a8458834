"""Attributes of links, where they are written as arguments of a topology."""

from __future__ import annotations

from fairc.dsl.core.entries import Elsewhere
from fairc.dsl.core.registry import suggest
from fairc.dsl.text import syntax
from fairc.words.blocks import link as keys


def links_have(topology: syntax.Topology) -> Elsewhere:
    """Return the help for attributes of links that a topology does not take."""

    def help_for(name: str) -> str | None:
        links = (each for each in topology.body.elements if isinstance(each, syntax.Link))
        ends = sorted((e for each in links for e in each.ends), key=lambda e: e.arrow == "--")
        taken = [parameter.name.text for parameter in topology.parameters]
        if name not in keys.LINK or not ends or suggest(name, taken) is not None:
            return None
        link = f"link {ends[0].span.text} {{ {name} = ... }}"
        return f"links have it: `{topology.name.text}(...) with {{ {link} }}`"

    return help_for

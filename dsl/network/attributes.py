"""Attributes of links, where they are written as arguments of a topology."""

from __future__ import annotations

from fairc.dsl.core.entries import Elsewhere
from fairc.dsl.core.registry import suggest
from fairc.dsl.text import syntax
from fairc.words.blocks import link as keys
from fairc.words.presets import TOPOLOGIES


def links_have(topology: syntax.Topology) -> Elsewhere:
    """Return the help for what a topology does not take: attributes of links, and arguments that a
    single preset has.
    """

    def help_for(name: str, text: str) -> str | None:
        links = (each for each in topology.body.elements if isinstance(each, syntax.Link))
        ends = sorted((e for each in links for e in each.ends), key=lambda e: e.arrow == "--")
        taken = [parameter.name.text for parameter in topology.parameters]
        others = [
            preset.name
            for preset in TOPOLOGIES
            if any(parameter.name.text == name for parameter in preset.declaration.parameters)
        ]
        if len(others) == 1 and topology.name.text in TOPOLOGIES:
            return f"`{others[0]}` takes it: `topology = {others[0]}({name}: {text})`"
        if name not in keys.LINK or not ends or suggest(name, taken) is not None:
            return None
        link = f"link {ends[0].span.text} {{ {name} = {text} }}"
        return f"links have it: `{topology.name.text}(...) with {{ {link} }}`"

    return help_for

"""Which names an expression depends on, through every `let`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairc.dsl.text import syntax


def mentioned(node: syntax.Node) -> set[str]:
    """Return every name and every called word inside a node."""
    found = set()
    for part in node.walk():
        if isinstance(part, syntax.Name):
            found.add(part.text)
        elif isinstance(part, syntax.Call):
            found.add(part.name.text)
    return found


def used_names(nodes: Iterable[syntax.Node], lets: Mapping[str, syntax.Expr]) -> frozenset[str]:
    """Return the names in the nodes, and in every `let` that they use, and so on."""
    found: set[str] = set()
    waiting = [name for node in nodes for name in mentioned(node)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            if name in lets:
                waiting.extend(mentioned(lets[name]))
    return frozenset(found)

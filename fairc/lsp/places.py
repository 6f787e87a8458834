"""The declarations of a file: what a name refers to, and the outline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairc.dsl.core.source import Source, Span
from fairc.dsl.text import syntax
from fairc.dsl.text.recovery import read


@dataclass(frozen=True, slots=True)
class Declaration:
    """A name that a file declares.

    sort: `experiment`, `flow`, `topology`, `let`, `axis`, `node`, ... name_at: the name.
    whole: the statement. scope: where the name is known; depth: how many declarations contain it.
    """

    name: str
    sort: str
    name_at: Span
    whole: Span
    scope: Span
    depth: int


def declarations(source: Source) -> list[Declaration]:
    """Return the declarations of a file in its order; of what does not parse, none."""
    file = read(source).file
    return list(_inside(file, file.span, 0)) if file else []


def declaration_of(name: str, offset: int, found: list[Declaration]) -> Declaration | None:
    """Return the declaration that a name at an offset refers to: that of the closest scope."""
    known = [d for d in found if d.name == name and d.scope.start <= offset <= d.scope.end]
    return max(known, key=lambda d: d.scope.start, default=None)


def _inside(parent: syntax.Node, scope: Span, depth: int) -> Iterator[Declaration]:
    for node in parent.children():
        words = list(_named(node))
        for sort, word in words:
            yield Declaration(word.text, sort, word.span, node.span, scope, depth)
        opens = isinstance(node, syntax.Experiment | syntax.Topology | syntax.InlineTopology)
        yield from _inside(node, node.span if opens else scope, depth + bool(words))


def _named(node: syntax.Node) -> Iterator[tuple[str, syntax.Word]]:
    match node:
        case syntax.Experiment():
            yield ("template" if node.is_template else "experiment"), node.name
        case syntax.Topology():
            yield "topology", node.name
        case syntax.Parameter():
            yield "parameter", node.name
        case syntax.Let():
            yield "let", node.name
        case syntax.Metric():
            yield "metric", node.name
        case syntax.Service():
            yield "service", node.name
        case syntax.Flow():
            yield "flow", node.name.name
        case syntax.Users():
            yield "users", node.name.name
        case syntax.Device():
            yield node.kind, node.name.name
        case syntax.Nodes():
            yield from (("node", reference.name) for reference in node.names)
        case syntax.Binding():
            yield from (("axis", word) for word in node.names)

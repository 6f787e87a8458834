"""What the grammar has and the checker does not understand yet: refused, a row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .core.diagnostics import Diagnostic
from .text import syntax


def refusals(declarations: Iterable[syntax.Node]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for everything in declarations that has no meaning yet."""
    for declaration in declarations:
        for node in declaration.walk():
            for what, part in _of(node):
                yield Diagnostic(
                    "not-yet",
                    f"{what} cannot be used yet",
                    part.span,
                    note="understood, but not implemented yet",
                )


def _of(node: syntax.Node) -> Iterator[tuple[str, syntax.Node]]:
    """Yield what is not built of a node itself, and where it stands."""
    for kind, what, part in _UNBUILT:
        if isinstance(node, kind):
            found = part(node)
            if found is not None:
                yield what, found


_Rule = tuple[type[syntax.Node], str, Callable[[Any], syntax.Node | None]]

_UNBUILT: tuple[_Rule, ...] = (
    (syntax.Device, "`tunnel`", lambda node: node.name if node.kind == "tunnel" else None),
)

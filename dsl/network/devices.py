"""The nodes that a topology's devices (proxies and policers) name."""

from __future__ import annotations

from collections.abc import Mapping

from fairc.dsl import model
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import refuse_unknown
from fairc.dsl.core.source import Span


def require_node(name: str, span: Span, nodes: Mapping[str, model.Node]) -> None:
    """Raise CompileError unless the topology has a node of this name."""
    if name not in nodes:
        refuse_unknown("node", "node", name, nodes, span)


def require_router(name: str, span: Span, nodes: Mapping[str, model.Node], what: str) -> None:
    """Raise CompileError unless a node is a router; what: subject and verb, such as
    `proxies run`.
    """
    require_node(name, span, nodes)
    if nodes[name].kind != "router":
        fail(
            "wrong-type",
            f"`{name}` is not a router, and {what} on routers only",
            span,
            labels=(Label(nodes[name].span, "a node: flows start and end here"),),
            help="put a router between it and the link",
        )

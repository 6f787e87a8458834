"""Names that an expression depends on, through every `let`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from fairc.dsl.core.diagnostics import Diagnostic, warning
from fairc.dsl.core.values import Amended, Applied, ListValue, Symbol, TupleValue, Value
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


def depending(lets: Mapping[str, syntax.Expr], names: Collection[str]) -> frozenset[str]:
    """Return the lets that use one of the names, directly or through other lets; each is visited
    once.
    """
    users: dict[str, list[str]] = {}
    for let, expression in lets.items():
        for name in mentioned(expression):
            users.setdefault(name, []).append(let)
    found: set[str] = set()
    waiting = [let for name in names for let in users.get(name, ())]
    while waiting:
        let = waiting.pop()
        if let not in found:
            found.add(let)
            waiting.extend(users.get(let, ()))
    return frozenset(found)


def symbols_in(value: Value) -> Iterator[str]:
    """Yield every word inside a value."""
    stack: list[Value] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Symbol):
            yield item.name
        elif isinstance(item, Applied):
            yield item.name
            stack.extend(argument.value for argument in item.arguments)
        elif isinstance(item, Amended):
            stack.append(item.base)
        elif isinstance(item, ListValue | TupleValue):
            stack.extend(item.items)


def unused(
    bindings: Sequence[syntax.Binding],
    nodes: Iterable[syntax.Node],
    reports: Collection[syntax.Node],
    flows: Sequence[syntax.Flow],
    users: Iterable[syntax.Users],
    services: Collection[syntax.Service],
    lets: Mapping[str, syntax.Expr],
) -> Iterator[Diagnostic]:
    """Yield warnings about swept names that nothing uses, and about groups of users and services
    without a flow.

    nodes: everything that may use a swept name, except other bindings. reports: what is shown and
    claimed; one of a tuple of names may be there alone, as the label of what the others stand for.
    """
    used = used_names([*nodes, *(b.value for b in bindings)], lets)
    shown = used_names(reports, lets)
    for binding in bindings:
        labels = shown if any(word.text in used for word in binding.names) else frozenset[str]()
        for word in (word for word in binding.names if word.text not in used | labels):
            what = f"`{word.text}` is swept, but nothing uses it"
            help = (
                "its values give cells that differ only in their seeds"
                if len(binding.names) == 1
                else "its values change nothing in the cells; as a label, name it in a figure"
            )
            yield warning("unused-name", what, word.span, help=help)
    named = used_names([*flows, *services], lets)
    for name in (group.name for group in users):
        if name.text not in named:
            what = f"no flow runs on the users `{name.text}`"
            help = f"write `users = {name.text}` in a flow"
            yield warning("unused-name", what, name.span, help=help)
    bases = [flow.base for flow in flows if flow.base is not None]
    chosen = used_names([*bases, *(b.value for b in bindings)], lets)
    for word in (service.name for service in services):
        if word.text not in chosen:
            what = f"no flow is the service `{word.text}`"
            help = f"write `flow NAME = {word.text}`"
            yield warning("unused-name", what, word.span, help=help)

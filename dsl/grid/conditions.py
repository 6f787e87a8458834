"""Conditions of `--where`: the grammar of `exclude`, over the canonical text of bindings.

Where values of flows are chosen, `flow` is the name of one, which equals every name that means it:
`flow == f[2]`, `flow in [f[1], f[2]]`, and `flow == f` for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import refuse_unknown, suggest
from fairc.dsl.core.source import Source
from fairc.dsl.core.units import NUMBER
from fairc.dsl.core.values import ListValue, Quantity, Symbol, Value
from fairc.dsl.expressions.evaluate import Scope, evaluate, truth
from fairc.dsl.expressions.names import mentioned
from fairc.dsl.model.names import names_of
from fairc.dsl.text import syntax
from fairc.dsl.text.parser import parse_expression

FLOW = "flow"
"""The name of a flow in conditions."""


@dataclass(frozen=True, eq=False)
class FlowWord(Symbol):
    """The name of a flow as tables have it, which equals every word that means the flow."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbol) and other.name in names_of(self.name)

    def __hash__(self) -> int:
        return hash(self.name)


def check_flows(node: syntax.Expr, scope: Scope, known: Iterable[str]) -> None:
    """Raise CompileError where a condition compares `flow` with a name that is no flow's.

    known: the names of flows as tables have them.
    """
    names = {name for flow in known for name in names_of(flow)}
    for word in _compared(node, scope):
        if word.name not in names:
            refuse_unknown("flow", "flow", word.name, sorted(names), word.span)


def _compared(node: syntax.Expr, scope: Scope) -> Iterator[Symbol]:
    """Yield the words that a condition compares `flow` with."""
    for part in node.walk():
        if isinstance(part, syntax.Compare | syntax.Within):
            sides = part.left, part.right
            for one, other in (sides, sides[::-1]):
                if isinstance(one, syntax.Name) and one.span.text == FLOW:
                    value = evaluate(other, scope)
                    items = value.items if isinstance(value, ListValue) else (value,)
                    yield from (item for item in items if isinstance(item, Symbol))


class Condition:
    """A parsed condition; `names` are the words that it mentions."""

    def __init__(self, node: syntax.Expr) -> None:
        self._node = node
        self.names = frozenset(mentioned(node))

    def check(self, names: Collection[str], flows: Iterable[str] | None = None) -> None:
        """Raise CompileError unless the condition mentions one of these names, or `repetition`.

        flows: what `flow` may be, where it may be named.
        """
        known = {*names, "repetition", *((FLOW,) if flows is not None else ())}
        if flows is not None and FLOW in self.names:
            check_flows(self._node, Scope({}), flows)
        if self.names & known:
            return
        mentioned = sorted(self.names)
        near = next((n for n in (suggest(w, known) for w in mentioned) if n), None)
        fail(
            "unknown-name",
            "this condition depends on no swept name",
            self._node.span,
            note=f"did you mean `{near}`?" if near else "",
            help=f"names: {', '.join(sorted(known))}",
        )

    def matches(
        self, bindings: Mapping[str, str], repetition: int, flow: str | None = None
    ) -> bool:
        """Return whether a cell fulfils the condition.

        bindings: swept name -> canonical text. flow: whose value is looked at, as tables name it.
        Raises CompileError, for example if quantities of different dimensions are compared.
        """
        values: dict[str, Value] = {
            name: _value(text) for name, text in bindings.items() if name in self.names
        }
        values["repetition"] = Quantity(Fraction(repetition), NUMBER, self._node.span)
        if flow is not None and FLOW not in values:
            values[FLOW] = FlowWord(flow, self._node.span)
        return truth(evaluate(self._node, Scope(values)), self._node.span)

    def values(self, axes: Mapping[str, Sequence[str]]) -> str:
        """Return the values of the swept names that it mentions, to say what could meet it."""
        named = (f"{name}: {', '.join(axes[name])}" for name in axes if name in self.names)
        return "; ".join(named)


def condition(text: str) -> Condition:
    """Return the condition that a text describes. Raises CompileError."""
    return Condition(parse_expression(Source("--where", text)))


@lru_cache(maxsize=4096)
def _value(text: str) -> Value:
    return evaluate(parse_expression(Source("<value>", text)), Scope({}))

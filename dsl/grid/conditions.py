"""Conditions of `--where`: the grammar of `exclude`, over the canonical text of bindings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import lru_cache

from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Source
from fairc.dsl.core.units import NUMBER
from fairc.dsl.core.values import Quantity, Value
from fairc.dsl.expressions.evaluate import Scope, evaluate, truth
from fairc.dsl.expressions.names import mentioned
from fairc.dsl.text import syntax
from fairc.dsl.text.parser import parse_expression


class Condition:
    """A parsed condition; `names` are the words that it mentions."""

    def __init__(self, node: syntax.Expr) -> None:
        self._node = node
        self.names = frozenset(mentioned(node))

    def check(self, names: Collection[str]) -> None:
        """Raise CompileError unless the condition mentions one of these names, or `repetition`."""
        known = {*names, "repetition"}
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

    def matches(self, bindings: Mapping[str, str], repetition: int) -> bool:
        """Return whether a cell fulfils the condition.

        bindings: swept name -> canonical text. Raises CompileError, for example if
        quantities of different dimensions are compared.
        """
        values: dict[str, Value] = {
            name: _value(text) for name, text in bindings.items() if name in self.names
        }
        values["repetition"] = Quantity(Fraction(repetition), NUMBER, self._node.span)
        return truth(evaluate(self._node, Scope(values)), self._node.span)


def condition(text: str) -> Condition:
    """Return the condition that a text describes. Raises CompileError."""
    return Condition(parse_expression(Source("--where", text)))


@lru_cache(maxsize=4096)
def _value(text: str) -> Value:
    return evaluate(parse_expression(Source("<value>", text)), Scope({}))

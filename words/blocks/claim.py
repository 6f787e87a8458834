"""The keys of `claim "TEXT" { ... }`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import Words, refuse
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Truth, Value


@dataclass(frozen=True)
class Conditions:
    """A condition; the code that uses it checks what it is about."""

    phrase: str = "a condition"

    def take(self, value: Value, use: str, at: Span | None = None) -> bool:
        """Return the outcome. Raises CompileError unless the value is that of a condition."""
        if not isinstance(value, Truth):
            refuse(self, value, use, at)
        return value.value


A_CONDITION = Conditions()
_OVER: Words[Literal["each", "mean"]] = Words("value of `for`", ("each", "mean"))

WHERE = Parameter("where", A_CONDITION, "the configurations that it is about", otherwise="all")
FOR = Parameter(
    "for", _OVER, "whether it must hold in each configuration, or for their mean", "each"
)
HOLDS = Parameter("holds", A_CONDITION, "what is claimed: statistics against bounds", required=True)

CLAIM: Registry[Parameter[Any]] = Registry("key of claim", "key", [WHERE, FOR, HOLDS])

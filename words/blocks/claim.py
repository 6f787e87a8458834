"""The keys of `claim "TEXT" { ... }`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_POSITIVE_SHARE, Words, refuse
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Symbol, Truth, Value


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
OVER: Words[Literal["each", "mean"]] = Words("value of `for`", ("each", "mean"))


@dataclass(frozen=True)
class Extents:
    """The kind of `for`: a word of `OVER`, or the share of the configurations, more than 0."""

    phrase: str = f"{OVER.phrase}, or a percentage"

    def take(
        self, value: Value, use: str, at: Span | None = None
    ) -> Literal["each", "mean"] | Fraction:
        """Return the word, or the share. Raises CompileError for anything else."""
        if isinstance(value, Symbol):
            return OVER.take(value, use, at)
        return A_POSITIVE_SHARE.take(value, use, at).number


WHERE = Parameter("where", A_CONDITION, "the configurations that it is about", otherwise="all")
FOR = Parameter(
    "for",
    Extents(),
    "whether it must hold in each configuration, in at least a share of them, or for their mean",
    "each",
)
HOLDS = Parameter("holds", A_CONDITION, "what is claimed: statistics against bounds", required=True)

CLAIM: Registry[Parameter[Any]] = Registry("key of claim", "key", [WHERE, FOR, HOLDS])

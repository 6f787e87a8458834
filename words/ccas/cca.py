"""CCAs: the declaration of one, and of its parameters as a plan holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from fairc.dsl.core.entries import Entry, Parameter, Use
from fairc.dsl.core.kinds import A_SWITCH, Quantities, Words
from fairc.dsl.core.units import NUMBER

Setting = int | float | bool | str
"""The value of a CCA's parameter, as the kernel or the QUIC stack takes it."""


@dataclass(frozen=True)
class CcaParameter(Parameter[Any]):
    """A parameter of a CCA. field: its name in the plan; convert: its value as the CCA takes it."""

    field: str = ""
    convert: Callable[[Any], Setting] = int

    @cached_property
    def initial(self) -> Setting | None:
        """The value if it is not given; None: there is no default."""
        return self.convert(self.fallback) if self.default else None

    def admits(self, value: float | str) -> bool:
        """Return whether a plan may hold this value; `field` shows the unit of a number."""
        kind = self.kind
        if isinstance(kind, Words):
            return value in kind.choices
        if isinstance(value, str) or isinstance(value, bool) != isinstance(self.initial, bool):
            return False
        if isinstance(value, bool):
            return True
        if not isinstance(kind, Quantities):  # a switch that the kernel keeps as a number
            return value in (0, 1)
        if kind.whole and value != int(value):
            return False
        scale = 1000 if self.field.endswith("_ms") else 1
        low, high = kind.low, kind.high
        return (low is None or value >= float(low) * scale) and (
            high is None or value <= float(high) * scale
        )


@dataclass(frozen=True, kw_only=True)
class Cca(Entry):
    """A CCA.

    paces: whether it always paces.
    is_scalable: whether its window is inversely proportional to the share of marks (RFC 9332,
    section 1.2).
    needs_ecn: whether it is another CCA without ECN; one of the kernel asks for it by itself
    (TCP_CONG_NEEDS_ECN).
    restarts: whether `idle_restart` reduces its window after an idle time: not where it follows a
    model of the path.
    lowered: parameters of a plan that the language has in another form.
    growth: what its window grows with between losses: round trips, by a packet in each (`rounds`),
    or `time`, by its cube; `model`: it follows a model of the path; empty: in another way.
    own_window: whether it chooses the initial window by itself.
    outgrows_receivers: whether its window may grow by more than what is acknowledged. A receiver's
    window grows with what arrives, so it then limits the flow, however large the buffer is.
    """

    paces: bool = False
    is_scalable: bool = False
    needs_ecn: bool = False
    restarts: bool = True
    growth: Literal["rounds", "time", "model", ""] = ""
    own_window: bool = False
    outgrows_receivers: bool = False
    runs: bool = True
    lowered: tuple[CcaParameter, ...] = ()

    @cached_property
    def fields(self) -> Mapping[str, CcaParameter]:
        """Its parameters by their names in the plan."""
        own = (each for each in self.parameters if isinstance(each, CcaParameter))
        return {each.field: each for each in (*own, *self.lowered)}

    def given(self, use: Use[Cca]) -> dict[str, Setting]:
        """Return the parameters that are given."""
        return {
            name: parameter.convert(use[parameter])
            for name, parameter in self.fields.items()
            if parameter.name in use.arguments
        }

    def complete(self, given: Mapping[str, Setting]) -> dict[str, Setting]:
        """Return all parameters: those given, and the defaults of the others."""
        settings = {
            name: given.get(name, parameter.initial) for name, parameter in self.fields.items()
        }
        return {name: value for name, value in settings.items() if value is not None}


def whole(name: str, summary: str, initial: int, low: int, high: int) -> CcaParameter:
    """Describe a whole number."""
    kind = Quantities((NUMBER,), low=low, high=high, whole=True)
    return CcaParameter(
        name, kind, summary, str(initial), field=name, convert=lambda q: int(q.number)
    )


def real(
    name: str, summary: str, initial: Fraction | float, low: Fraction, high: Fraction
) -> CcaParameter:
    """Describe a number."""
    kind = Quantities((NUMBER,), low=low, high=high)
    return CcaParameter(
        name, kind, summary, f"{float(initial):g}", field=name, convert=lambda q: float(q.number)
    )


def flag(name: str, summary: str, initial: bool) -> CcaParameter:
    """Describe a switch."""
    return CcaParameter(
        name, A_SWITCH, summary, "on" if initial else "off", field=name, convert=bool
    )


def word(name: str, summary: str, words: tuple[str, ...]) -> CcaParameter:
    """Describe one of a few words; without it the first applies."""
    return CcaParameter(
        name, Words(f"`{name}`", words), summary, otherwise=words[0], field=name, convert=str
    )


def switch(name: str, summary: str, initial: int) -> CcaParameter:
    """Describe a switch that the kernel keeps as a number."""
    return CcaParameter(
        name, A_SWITCH, summary, "on" if initial else "off", field=name, convert=int
    )

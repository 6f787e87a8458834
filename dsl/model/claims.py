"""What an experiment claims: quantities of chosen configurations against bounds, resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Statistic = Literal["median", "mean", "percentile", "count"]
Relation = Literal["<", "<=", ">", ">=", "in"]
Form = Literal["sum", "ratio"]
Over = Literal["each", "mean"]


@dataclass(frozen=True, slots=True)
class ClaimTerm:
    """A statistic of one metric over the repetitions of one configuration.

    metric: as in the language (`fairness.F`). flow: of which flow or group of users; empty: of the cell.
    load: of which page load, from 1; 0: the metric has none. share: the quantile of `percentile`, in (0, 1).
    relation, bound: of `count`, what a repetition must fulfil, in the metric's SI unit. factor: of the
    statistic in its sum; of a ratio, of the first term only. cells: the configuration, as its value on each
    axis in canonical text.
    """

    statistic: Statistic
    metric: str
    flow: str
    load: int
    share: float
    relation: str
    bound: float
    factor: float
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClaimUnit:
    """One quantity that is compared: `shift` plus the sum of its terms, or the ratio of two.

    low, high: its bounds in SI units; None: open on that side.
    """

    terms: tuple[ClaimTerm, ...]
    shift: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the file.

    text: the claim's title. over: it must hold in each unit, or for their mean. condition, holds: as
    written. form: what the terms of a unit make. relation: `in` has both bounds, and includes them. unit: SI unit
    of the quantity. shared: the swept names that distinguish units.
    """

    text: str
    over: Over
    condition: str
    holds: str
    form: Form
    relation: Relation
    unit: str
    shared: tuple[str, ...]
    units: tuple[ClaimUnit, ...]

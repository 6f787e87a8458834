"""Verdicts of claims as text: numbers in one unit per claim, bounds, and how many repetitions would
decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairc.dsl.model.claims import distinct_flows
from fairc.runtime.formatting import (
    Scale,
    counted,
    decimals_for,
    number,
    quantity,
    scale_for,
)

from .deciding import ClaimVerdict, Decision, Unit, Verdict
from .power import Needed

METHODS = {
    "order statistics": "order statistics",
    "sign tests": "sign tests of both sides",
    "student": "Student",
    "welch": "Welch-Satterthwaite",
    "clopper-pearson": "Clopper-Pearson",
    "confidence sequence": "confidence sequence",
    "page": "Page's trend test",
    "jonckheere-terpstra": "Jonckheere-Terpstra",
    "none": "",
}
SIGNS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥"}


@dataclass(frozen=True, slots=True)
class UnitText:
    """A unit as text.

    interval: empty if there is none; then note has the reason; of a trend: p. bound: such as
    `> 0.2`.
    """

    where: str
    verdict: Verdict
    value: str
    interval: str
    bound: str
    n: int
    note: str

    @property
    def sentence(self) -> str:
        """All of it on one line, without the configuration and the verdict."""
        found = " ".join(filter(None, (self.value, self.interval)))
        return "; ".join(filter(None, (f"{found or 'no value'}, claimed {self.bound}", self.note)))


def format_of(decided: ClaimVerdict) -> tuple[Scale, int]:
    """Return the unit and the decimals in which all numbers of a claim are written; those of the
    sides of a difference, too.
    """
    numbers = decided.numbers
    if decided.claim.form == "sum":
        numbers = [*numbers, *(side.value for unit in decided.units for side in unit.sides)]
    scale = scale_for(decided.claim.unit, numbers)
    return scale, decimals_for((x / scale.factor for x in numbers), 4)


def unit_texts(decided: ClaimVerdict) -> tuple[UnitText, ...]:
    """Return each unit of a claim as text."""
    scale, decimals = format_of(decided)
    return tuple(_unit_text(decided, unit, scale, decimals) for unit in decided.units)


def _unit_text(decided: ClaimVerdict, unit: Unit, scale: Scale, decimals: int) -> UnitText:
    def shown(x: float) -> str:
        return number(x / scale.factor, decimals)

    estimate = unit.estimate
    value = "" if estimate.value is None else f"{shown(estimate.value)} {scale.unit}".rstrip()
    interval = ""
    if estimate.low is not None and estimate.high is not None:
        interval = f"[{shown(estimate.low)}, {shown(estimate.high)}]"
    elif estimate.floor is not None:
        interval = f"(at least {shown(estimate.floor)})"
    elif estimate.ceiling is not None:
        interval = f"(at most {shown(estimate.ceiling)})"
    if unit.p is not None:
        interval = "(p < 0.0001)" if unit.p < 0.0001 else f"(p = {unit.p:.2g})"
    more = repetitions(unit.needed) if unit.needed is not None else ""
    sides = _sides(decided, unit, scale, decimals)
    note = "; ".join(filter(None, (sides, unit.reason, more, unit.remark)))
    if decided.claim.form == "trend" and value:
        value = f"tau {value}"
    return UnitText(
        ", ".join(f"{name} = {text}" for name, text in unit.where),
        unit.verdict,
        value,
        interval,
        _bound(decided, unit, scale, decimals),
        estimate.n,
        note,
    )


def _sides(decided: ClaimVerdict, unit: Unit, scale: Scale, decimals: int) -> str:
    """Name both sides of a sum or a ratio with their values, and say how they are compared."""
    if not unit.sides:
        return ""
    first, second = unit.sides
    if decided.claim.form == "ratio":
        scale = scale_for(first.unit, [first.value, second.value])
        decimals = decimals_for([side.value / scale.factor for side in unit.sides], 4)
    a, b = (number(side.value / scale.factor, decimals) for side in unit.sides)
    text = f"{first.text} is {a}, {second.text} {b} {scale.unit}".rstrip()
    if unit.method not in ("order statistics", "confidence sequence", "student"):
        return text
    return f"{text}, compared repetition by repetition"


def _bound(decided: ClaimVerdict, unit: Unit, scale: Scale, decimals: int) -> str:
    if decided.claim.form == "trend":
        return "to rise" if unit.high is None else "to fall"

    def shown(x: float) -> str:
        if unit.sides and decided.claim.form == "sum":
            return f"{number(x / scale.factor, decimals)} {scale.unit}".rstrip() if x else "0"
        return quantity(x, decided.claim.unit, 4)

    if unit.low is not None and unit.high is not None:
        return f"in {shown(unit.low)} .. {shown(unit.high)}"
    bound = unit.low if unit.low is not None else unit.high
    return f"{SIGNS[decided.claim.relation]} {'?' if bound is None else shown(bound)}"


def repetitions(needed: Needed) -> str:
    """Return how many repetitions would decide, with 80 % power, as text."""
    least, most = needed
    if most is None:
        return f"at least {least} repetitions would decide (80 % power)"
    if most == least:
        return f"about {least} repetitions would decide (80 % power)"
    return f"{least} to {most} repetitions would decide (80 % power)"


def tally(decided: ClaimVerdict) -> str:
    """Return in how many configurations a claim about a share of them holds; empty for another."""
    if decided.claim.least == 1:
        return ""
    verdicts = [unit.verdict for unit in decided.units]
    holds, open_ = verdicts.count("holds"), verdicts.count("undecided")
    undecided = f" and is undecided in {open_}" if open_ else ""
    several = any(distinct_flows(decided.claim.units))
    of = counted(len(verdicts), "flow and configuration" if several else "configuration")
    return f"it holds in {holds} of {of}{undecided}; {decided.claim.required} are claimed"


def summed_up(decision: Decision) -> str:
    """Return the number of claims by verdict, as text."""
    parts = [
        f"{len(found)} {verb}"
        for verdict, one, several in (
            ("holds", "holds", "hold"),
            ("fails", "fails", "fail"),
            ("undecided", "is undecided", "are undecided"),
        )
        if (found := [d for d in decision.claims if d.verdict == verdict])
        for verb in (one if len(found) == 1 else several,)
    ]
    return f"{counted(len(decision.claims), 'claim')}: {', '.join(parts)}"


def level_text(decision: Decision) -> str:
    """Return the level of each interval, as text."""
    looks = " at every interim analysis" if decision.at_interim else ""
    if decision.pairs == 1:
        return f"its interval is at 95 %{looks and ', valid' + looks}"
    trends = any(decided.claim.form == "trend" for decided in decision.claims)
    what = "intervals and tests" if trends else "intervals"
    return (
        f"{decision.pairs} {what}, each at {100 * decision.level:.4g} %, so that all of"
        f" them hold simultaneously{looks} with 95 % confidence"
    )


def lines(decision: Decision, most: int = 8) -> Iterator[str]:
    """Yield the verdicts for a terminal; the units of each claim that fail or are undecided come
    first.
    """
    if not decision.claims:
        return
    yield f"{summed_up(decision)} ({level_text(decision)})"
    for decided in decision.claims:
        late = (
            ", exploratory: claimed after results existed" if decided.kind == "exploratory" else ""
        )
        yield f"{decided.verdict:>9}  {decided.claim.text}{late}"
        if counts := tally(decided):
            yield f"{'':11}{counts}"
        rows = in_order(unit_texts(decided))
        for row in rows[:most]:
            where = f"{row.where}: " if row.where else ""
            mark = f"{row.verdict}: " if row.verdict != decided.verdict else ""
            yield f"{'':11}{where}{mark}{row.sentence}"
        if len(rows) > most:
            yield f"{'':11}... and {len(rows) - most} more: fairc verdict RUN --format json"


def in_order(rows: tuple[UnitText, ...]) -> list[UnitText]:
    """Return failing units first, then undecided ones, then those that hold; each in the order of
    the grid.
    """
    order = ("fails", "undecided", "holds")
    return sorted(rows, key=lambda row: order.index(row.verdict))

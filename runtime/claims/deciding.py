"""Verdicts of all claims of a run: from simultaneous intervals, never from points.

Decided is over all cells that the plan declares: cells whose set-up is invalid are left out and
counted, but where a repetition has no result, the claim is undecided, since its absence may be no
accident.

With m pairs of claim and configuration, each interval is at 1 - 0.05/m (Bonferroni), so that with
95 % confidence none of them misses what it estimates. A claim holds in a configuration if the whole
interval is within its bounds, fails if the whole interval is outside, and is undecided otherwise.

In a range of repetitions each interval is valid at that level at all interim analyses
simultaneously (intervals.py), so the same applies to all pairs and all interim analyses, wherever
the range ends, even if these verdicts end it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from fairc.compiler.plan import Cell, Claim, ClaimUnit, Plan
from fairc.dsl.model.claims import distinct_flows
from fairc.runtime.repetitions.reading import Measurements
from fairc.runtime.repetitions.remarks import merged
from fairc.runtime.repetitions.samples import FLOW
from fairc.runtime.statistics.estimates import CONFIDENCE, Estimate, mean, median
from fairc.runtime.statistics.repeated import Repeated, repeated

from . import intervals, trends
from .intervals import Quantity, quantity_of
from .power import Needed, needed, together
from .values import Values

Verdict = Literal["holds", "fails", "undecided"]
Kind = Literal["confirmatory", "exploratory", "not known"]
Gaps = Mapping[tuple[str, ...], str]
"""Swept values of a configuration with missing repetitions -> what is missing."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of two statistics that are joined: what it is of, its value, its unit (empty: unknown),
    its factor in the sum.
    """

    text: str
    value: float
    unit: str
    factor: float


@dataclass(frozen=True, slots=True)
class Unit:
    """One pair of claim and configuration, or of one flow there.

    where: the swept names and values that identify it, and its `flow` where it is one of several;
    empty: it is the only one, or the mean. low,
    high: its bounds, in the SI unit. p: of a trend's test. needed: how many repetitions would
    decide it; None if it is decided or the number is unknown. reason: why there is no interval.
    remark: what biases it, or its interval. sides: of a sum or a ratio, its two statistics.
    """

    where: tuple[tuple[str, str], ...]
    verdict: Verdict
    estimate: Estimate
    low: float | None
    high: float | None
    method: str
    needed: Needed | None = None
    remark: str = ""
    p: float | None = None
    sides: tuple[Side, ...] = ()

    @property
    def reason(self) -> str:
        """The reason why there is no interval, or which end is open; empty where there is one."""
        return self.estimate.reason if self.estimate.low is None else ""


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """A claim with its verdict: it holds if enough units hold, and fails once they cannot.

    kind: whether it was made before there were results. declared: how many results existed then,
    and when it was.
    """

    claim: Claim
    verdict: Verdict
    units: tuple[Unit, ...]
    kind: Kind = "not known"
    declared: tuple[int, str] | None = None

    @property
    def numbers(self) -> list[float]:
        """The values, ends of intervals and bounds of all units."""
        every = ((u.estimate.value, *u.estimate.ends, u.low, u.high) for u in self.units)
        return [x for of_unit in every for x in of_unit if x is not None]

    @property
    def needed(self) -> Needed | None:
        """The repetitions that would decide it; None: it is decided, or their number is unknown."""
        if self.verdict != "undecided":
            return None
        return together([unit.needed for unit in self.units if unit.verdict == "undecided"])


@dataclass(frozen=True, slots=True)
class Decision:
    """All claims of a run. pairs: how many intervals hold simultaneously; level: of each of them.

    at_interim: whether they are also valid at every interim analysis of a range of repetitions.
    """

    claims: tuple[ClaimVerdict, ...]
    pairs: int
    level: float
    at_interim: bool = False

    @property
    def verdict(self) -> Verdict:
        """`fails` if a claim fails, else `undecided` if one is, else `holds`."""
        return _enough([decided.verdict for decided in self.claims], len(self.claims))

    def is_well(self, *, strict: bool) -> bool:
        """Return whether no claim fails or, strictly, all hold."""
        return self.verdict == "holds" or (self.verdict == "undecided" and not strict)


def decide(
    measured: Measurements, missing: Iterable[Cell], before: Mapping[int, tuple[int, str]] | None
) -> Decision:
    """Decide the claims of a plan.

    missing: cells that it needs and that have no result. before: for each claim, by number, how
    many results existed when a run first made it, and when; None: not known.
    Raises TableError when the tables cannot be read.
    """
    plan = measured.plan
    pairs, level = _level(plan)
    values = Values(measured, (term for claim in plan.claims for term in claim.terms))
    gaps = _gaps(measured, missing)
    decided = []
    for number, claim in enumerate(plan.claims):
        units = tuple(_units(claim, plan, values, level, gaps))
        declared = None if before is None else before.get(number)
        kind: Kind = "not known"
        if declared is not None:
            kind = "exploratory" if declared[0] else "confirmatory"
        decided.append(ClaimVerdict(claim, _of_units(claim, units), units, kind, declared))
    return Decision(tuple(decided), pairs, level, repeated(plan).is_range)


def _gaps(measured: Measurements, missing: Iterable[Cell]) -> Gaps:
    """Return why configurations with missing repetitions decide nothing."""
    absent = Counter(tuple(cell.bindings.values()) for cell in missing)
    found = {}
    for row, number in absent.items():
        there = sum(tuple(v for _, v in o.bindings) == row for o in measured.outcomes)
        found[row] = f"{number} of its {number + there} repetitions are missing"
    return found


def undecided(plan: Plan, values: Values, claims: Iterable[Claim]) -> tuple[str, ...]:
    """Return the texts of the claims that are undecided by these values, with the intervals that
    `decide` uses.

    claims: the plan's, perhaps with fewer units each.
    """
    _, level = _level(plan)
    return tuple(
        claim.text
        for claim in claims
        if _of_units(claim, _units(claim, plan, values, level)) == "undecided"
    )


def _level(plan: Plan) -> tuple[int, float]:
    """Return how many intervals the claims of a plan have, and the level of each."""
    pairs = sum(claim.pairs for claim in plan.claims)
    return pairs, 1 - (1 - CONFIDENCE) / max(1, pairs)


def _of_units(claim: Claim, units: Sequence[Unit]) -> Verdict:
    required = 1 if claim.over == "mean" else claim.required
    return _enough([unit.verdict for unit in units], required)


def _enough(verdicts: Sequence[Verdict], required: int) -> Verdict:
    """Return whether at least `required` hold: undecided ones leave it open while they can turn
    it.
    """
    if verdicts.count("holds") >= required:
        return "holds"
    possible = len(verdicts) - verdicts.count("fails")
    return "fails" if possible < required else "undecided"


def _units(
    claim: Claim, plan: Plan, values: Values, level: float, gaps: Gaps = MappingProxyType({})
) -> list[Unit]:
    names = [axis.name for axis in plan.axes]
    common, repeats = bool(plan.common), repeated(plan)
    if claim.over == "mean":
        gap = next(filter(None, (_gap(unit, gaps) for unit in claim.units)), "")
        found = intervals.nothing(gap) if gap else _mean(claim, values, level, common, repeats)
        low, high = _mean_bound(claim, "low"), _mean_bound(claim, "high")
        judged = _judged(claim, (), found, low, high, None if repeats.is_range else level)
        return [replace(judged, remark=_remark(values, claim.units, found))]
    units = []
    for unit, flow in zip(claim.units, distinct_flows(claim.units), strict=True):
        cells = {**dict(zip(names, unit.terms[0].cells, strict=True)), FLOW: flow}
        where = tuple((name, cells[name]) for name in (*claim.shared, *([FLOW] if flow else [])))
        gap = _gap(unit, gaps)
        if claim.form == "trend":
            units.append(_trend(unit, where, values, level, gap, common=common, repeats=repeats))
            continue
        found = (
            intervals.nothing(gap)
            if gap
            else quantity_of(unit, values, level, common=common, repeated=repeats)
        )
        of = None if repeats.is_range else level
        judged = _judged(claim, where, found, unit.low, unit.high, of)
        remark, sides = _remark(values, [unit], found), _sides(unit, names, values)
        units.append(replace(judged, remark=remark, sides=sides))
    return units


def _sides(unit: ClaimUnit, names: Sequence[str], values: Values) -> tuple[Side, ...]:
    """Return the two statistics that a unit joins; none where it has another number of them, or a
    side has no value.
    """
    rows = [dict(zip(names, term.cells, strict=True)) for term in unit.terms]
    found = []
    for term, factor, row in zip(unit.terms, unit.contrast.factors, rows, strict=True):
        own = ", ".join(f"{n} = {row[n]}" for n in names if len({r[n] for r in rows}) > 1)
        of = ", ".join(filter(None, (term.flow, f"load: {term.load}" if term.load else "")))
        what = f"{term.statistic}({term.metric}{f'({of})' if of else ''})"
        of_term = values.of(term)
        known = [] if isinstance(of_term, str) else list(of_term.values())
        value = (mean if term.statistic == "mean" else median)(known).value
        if value is not None:
            text = f"{what} where {own}" if own else what
            found.append(Side(text, value, values.unit(term), factor))
    return tuple(found) if len(found) == len(unit.terms) == 2 else ()


def _remark(values: Values, units: Iterable[ClaimUnit], found: Quantity) -> str:
    """Say what biases a quantity or its interval; empty if nothing does."""
    units = [*units]
    of_terms = (values.remark(term) for unit in units for term in unit.terms)
    of_units = map(values.times, units)
    return "; ".join(merged(filter(None, (*of_terms, *of_units, found.estimate.remark))))


def _gap(unit: ClaimUnit, gaps: Gaps) -> str:
    """Return why a unit cannot be decided, whatever the values are; empty if it can."""
    return next((gaps[term.cells] for term in unit.terms if term.cells in gaps), "")


def _trend(
    unit: ClaimUnit,
    where: tuple[tuple[str, str], ...],
    values: Values,
    level: float,
    gap: str,
    *,
    common: bool,
    repeats: Repeated,
) -> Unit:
    known = values.each(unit.terms)
    why = gap or (known if isinstance(known, str) else "")
    if any(values.bounds(term) for term in unit.terms):
        why = why or "what had not ended leaves the order of the medians open"
    found = (
        trends.undecided(why)
        if why or isinstance(known, str)
        else trends.of_trend(unit, known, level, common=common, repeated=repeats)
    )
    of_terms = merged(values.remark(term) for term in unit.terms)
    remarks = (found.remark, *of_terms, values.times(unit))
    return Unit(
        where,
        found.verdict,
        found.estimate,
        unit.low,
        unit.high,
        found.method,
        remark="; ".join(filter(None, remarks)),
        p=found.p,
    )


def _mean(claim: Claim, values: Values, level: float, common: bool, repeats: Repeated) -> Quantity:
    every = [values.each(unit.terms) for unit in claim.units]
    known = [of_terms for of_terms in every if not isinstance(of_terms, str)]
    if len(known) < len(every):
        return intervals.nothing("a configuration has no value")
    return intervals.of_mean(
        [unit.contrast for unit in claim.units],
        known,
        level,
        common=common,
        repeated=repeats,
        bounds=[[values.bounds(term) for term in unit.terms] for unit in claim.units],
    )


def _mean_bound(claim: Claim, end: Literal["low", "high"]) -> float | None:
    """Return a bound of the mean over units: the mean of their bounds."""
    bounds = [unit.low if end == "low" else unit.high for unit in claim.units]
    known = [bound for bound in bounds if bound is not None]
    return sum(known) / len(known) if len(known) == len(bounds) and known else None


def _judged(
    claim: Claim,
    where: tuple[tuple[str, str], ...],
    found: Quantity,
    low: float | None,
    high: float | None,
    level: float | None,
) -> Unit:
    """Return a unit with its verdict.

    level: of the intervals, to estimate `needed`; None: do not estimate it.
    """
    estimate = found.estimate
    verdict = _verdict(claim.relation, estimate, low, high)
    open_ = needed(found, low, high, level) if verdict == "undecided" and level else None
    return Unit(where, verdict, estimate, low, high, found.method, open_)


def _verdict(relation: str, estimate: Estimate, low: float | None, high: float | None) -> Verdict:
    """Return the verdict from the position of an interval relative to its bounds; an interval may
    be open on one side.
    """
    least, most = estimate.ends
    if least is None and most is None:
        return "undecided"
    least, most = (-math.inf if least is None else least), (math.inf if most is None else most)
    if low is not None:
        strict = relation == ">"
        if most < low or (strict and most == low):
            return "fails"
        if least < low or (strict and least == low):
            return "undecided"
    if high is not None:
        strict = relation == "<"
        if least > high or (strict and least == high):
            return "fails"
        if most > high or (strict and most == high):
            return "undecided"
    return "holds"

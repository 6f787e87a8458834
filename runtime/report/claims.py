"""The claims at the top of the page: verdicts, and each interval drawn against its bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from markupsafe import Markup

from fairc.runtime.claims.deciding import ClaimVerdict, Decision, Unit
from fairc.runtime.claims.wording import (
    METHODS,
    UnitText,
    format_of,
    in_order,
    level_text,
    summed_up,
    tally,
    unit_texts,
)
from fairc.runtime.formatting import Cell, counted, interval, one_line, scaled
from fairc.runtime.run.outcome import decide_claims
from fairc.runtime.store.folder import Store

from .invocation import when
from .run import Run

SHOWN = 6
"""Rows of a claim that are seen at once; the others can be opened."""

WIDTH, HEIGHT, EDGE = 240.0, 26.0, 6.0
COLUMNS = 31
"""Width of a picture in characters."""


@dataclass(frozen=True, slots=True)
class Row:
    """One pair of claim and configuration as text, with its picture as SVG and in characters (empty
    without a value).

    where: the values that distinguish it from the claim's other configurations. text: `!` at a
    bound, `=` along the interval, `o` at the value. value, interval: as numbers, in the unit of the
    claim; empty without one.
    """

    unit: UnitText
    where: str
    svg: str
    text: str
    value: Cell
    interval: Cell

    @property
    def picture(self) -> Any:
        """The picture for a page that escapes texts."""
        return Markup(self.svg)


@dataclass(frozen=True, slots=True)
class View:
    """A claim as it is printed; unit: of its numbers; folded: rows that can be opened."""

    text: str
    unit: str
    verdict: str
    asks: str
    claimed: str
    rows: tuple[Row, ...]
    folded: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Claims:
    """All claims of the page; summary: the number of claims by verdict; level: of each interval."""

    views: tuple[View, ...]
    summary: str
    level: str
    methods: str


def claims(run: Run) -> Claims:
    """Return the claims of a run, decided."""
    decision = decide_claims(run.measured, Store(run.path))
    if not decision.claims:
        return Claims((), "", "", "")
    has_trends = any(decided.claim.form == "trend" for decided in decision.claims)
    methods = sorted({METHODS[u.method] for d in decision.claims for u in d.units} - {""})
    return Claims(
        tuple(map(_view, decision.claims)),
        summed_up(decision),
        _level(decision),
        f"{'Intervals and tests' if has_trends else 'Intervals'}: {', '.join(methods)}."
        if methods
        else "",
    )


def _level(decision: Decision) -> str:
    text = level_text(decision)
    return f"{text[0].upper()}{text[1:]}."


def _view(decided: ClaimVerdict) -> View:
    texts = unit_texts(decided)
    window = _window(decided)
    scale, decimals = format_of(decided)

    differing = _differing(decided.units)
    rows: dict[UnitText, Row] = {}
    for unit, row in zip(decided.units, texts, strict=True):
        found = unit.estimate
        value = "" if found.value is None else scaled(found.value, scale, decimals)
        ends = interval(found.low, found.high, scale, decimals)
        pictures = _svg(unit, row, window), _text(unit, window)
        own = ", ".join(f"{name} = {text}" for name, text in unit.where if name in differing)
        rows[row] = Row(row, own or row.where, *pictures, value, ends)
    ordered = [rows[row] for row in in_order(texts)]
    return View(
        decided.claim.text,
        scale.unit,
        decided.verdict,
        _asks(decided),
        _claimed(decided),
        tuple(ordered[:SHOWN]),
        tuple(ordered[SHOWN:]),
    )


def _differing(units: tuple[Unit, ...]) -> set[str]:
    """Return the names that differ between configurations; what the claim's `where` fixes stands
    above them.
    """
    values: dict[str, set[str]] = {}
    for unit in units:
        for name, text in unit.where:
            values.setdefault(name, set()).add(text)
    return {name for name, found in values.items() if len(found) > 1}


def _asks(decided: ClaimVerdict) -> str:
    claim = decided.claim
    over = "the mean over configurations" if claim.over == "mean" else "each configuration"
    if claim.least < 1:
        over = f"at least {100 * claim.least:.12g} % of the configurations"
    where = f" where `{one_line(claim.condition)}`" if claim.condition else ""
    # The row of an only configuration names it.
    several = f", for {over}{where}" if len(claim.units) > 1 or claim.over == "mean" else ""
    counts = tally(decided)
    return f"`{one_line(claim.holds)}`{several}{f': {counts}' if counts else ''}"


def _claimed(decided: ClaimVerdict) -> str:
    """Return when it was claimed, as text."""
    if decided.declared is None:
        return "It is unknown whether this was claimed before any result existed."
    results, at = decided.declared
    if results:
        return f"Exploratory: claimed on {when(at)}, when {counted(results, 'result')} existed."
    return f"Confirmatory: claimed before any cell had a result, on {when(at)}."


def _window(decided: ClaimVerdict) -> tuple[float, float]:
    """Return the range that all pictures of a claim share."""
    low, high = min(decided.numbers, default=0.0), max(decided.numbers, default=1.0)
    room = 0.08 * ((high - low) or abs(high) or 1.0)
    return low - room, high + room


def _svg(unit: Unit, row: UnitText, window: tuple[float, float]) -> str:
    """Draw an interval: a band where the claim holds, a line at each bound, the interval and its
    value.

    Colours are variables of the page, so that it follows light and dark. All texts in it are
    numbers and words of this module.
    """
    estimate = unit.estimate
    if estimate.value is None:
        return ""

    def x(value: float) -> float:
        share = (value - window[0]) / (window[1] - window[0])
        return round(EDGE + share * (WIDTH - 2 * EDGE), 1)

    left = EDGE if unit.low is None else x(unit.low)
    right = WIDTH - EDGE if unit.high is None else x(unit.high)
    middle = HEIGHT / 2
    width = round(max(0.0, right - left), 1)
    parts = [f'<rect x="{left}" y="3" width="{width}" height="{HEIGHT - 6}" class="holding"/>']
    parts += [
        f'<line x1="{at}" x2="{at}" y1="1" y2="{HEIGHT - 1}" class="bound"/>'
        for at, bound in ((left, unit.low), (right, unit.high))
        if bound is not None
    ]
    if estimate.low is not None and estimate.high is not None:
        parts.append(
            f'<line x1="{x(estimate.low)}" x2="{x(estimate.high)}" y1="{middle}" y2="{middle}"'
            ' class="interval"/>'
        )
    parts.append(f'<circle cx="{x(estimate.value)}" cy="{middle}" r="3.5" class="point"/>')
    label = quoteattr(f"{row.verdict}: {row.sentence}")
    return (
        f'<svg class="claim {unit.verdict}" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img"'
        f" aria-label={label}>{''.join(parts)}</svg>"
    )


def _text(unit: Unit, window: tuple[float, float]) -> str:
    """Draw the same with characters."""
    estimate = unit.estimate
    if estimate.value is None:
        return ""

    def at(value: float) -> int:
        return round((value - window[0]) / (window[1] - window[0]) * (COLUMNS - 1))

    drawn = ["."] * COLUMNS
    if estimate.low is not None and estimate.high is not None:
        for place in range(at(estimate.low), at(estimate.high) + 1):
            drawn[place] = "="
    for bound in (unit.low, unit.high):
        if bound is not None:
            drawn[at(bound)] = "!"
    drawn[at(estimate.value)] = "o"
    return "".join(drawn)

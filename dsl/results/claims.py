"""`claim`: what the run is to decide, resolved to configurations, statistics and bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairc.dsl.blocks import Block
from fairc.dsl.core.diagnostics import (
    CompileError,
    Diagnostic,
    Diagnostics,
    Label,
    Severity,
    warning,
)
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.model.claims import Claim, Over
from fairc.dsl.text import syntax
from fairc.words.blocks.claim import CLAIM, FOR, HOLDS, OVER, WHERE

from .claim_forms import expanded
from .claim_readings import Reading, check_where, readings_in
from .claim_trends import Trends, trend_of
from .claim_units import PAIR_LIMIT, ClaimUnits, Comparisons
from .facts import Facts, of_a_part

LEVEL = 0.05
"""The error probability of all claims together."""


@dataclass
class _Decidability:
    """A claim with what decides whether its repetitions suffice.

    span: its place.
    has: the fewest repetitions that a unit of it has.
    kinds: the intervals that decide it, each with its quantile.
    """

    claim: Claim
    span: Span
    has: int
    kinds: set[tuple[str, float]]


def check_claims(
    nodes: Sequence[syntax.Claim],
    facts: Facts,
    common: bool,
    is_range: bool,
    is_end: bool,
    diagnostics: Diagnostics,
) -> tuple[Claim, ...]:
    """Return the claims of an experiment that has no errors so far; add what is wrong to the
    diagnostics.

    common: whether the configurations of a repetition share their draws. is_range: whether the
    results end a range of repetitions; is_end: whether the claims themselves do.
    """
    if not nodes or diagnostics.errors:
        return ()
    checker = ClaimChecker(facts, common)
    for node in nodes:
        try:
            of_a_part(facts, diagnostics, checker.add, expanded(node, facts.lets))
        except CompileError as error:
            diagnostics.update(error.diagnostics)
            if any(each.code == "too-many" for each in error.diagnostics):
                break  # which is said once: the others would be about as many
    if is_range:
        diagnostics.update(checker.without_interval(is_end))
    diagnostics.update(checker.warnings(is_range))
    return checker.claims


class ClaimChecker:
    """Checks the claims of an experiment against its metrics and its grid."""

    def __init__(self, facts: Facts, common: bool) -> None:
        self._facts = facts
        self._common = common
        self._checked: list[_Decidability] = []
        self._texts: dict[str, Span] = {}
        self.pairs = 0  # of claim and configuration

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The valid claims."""
        return tuple(checked.claim for checked in self._checked)

    def add(self, node: syntax.Claim) -> None:
        """Resolve a claim. Raises CompileError with everything wrong in it."""
        gather = Gather()
        text = " ".join(node.text.value.split())
        with gather.attempt():
            self._check_text(text, node.text.span)
        block = Block(node.text.span, node.settings.items, CLAIM, "a claim")
        with gather.attempt():
            block.checked()
        over: Over = "each"
        least = 1.0
        with gather.attempt():
            # `each` and `mean` are words here even where the file has a `let` of the name.
            lets = {k: v for k, v in self._facts.lets.items() if k not in OVER.choices}
            extent = block.get(FOR, Scope({}, lets))
            if isinstance(extent, Fraction):
                least = float(extent)
            else:
                over = extent
        where = block.settings.get(WHERE.name)
        if where is not None:
            with gather.attempt():
                check_where(where.value, self._facts)
        holds = block.settings.get(HOLDS.name)
        readings: dict[int, Reading] = {}
        if holds is not None:
            readings = readings_in(holds.value, self._facts, gather)
        gather.finish()
        assert holds is not None
        chosen = where.value if where else None
        resolved = self._units(holds.value, readings, over, chosen)
        units = tuple(resolved.units())
        self._checked.append(
            _Decidability(
                Claim(
                    text=text,
                    over=over,
                    condition=where.value.span.one_line if where else "",
                    holds=holds.value.span.one_line,
                    relation=resolved.relation,
                    unit=resolved.unit,
                    shared=resolved.shared,
                    units=units,
                    least=least,
                ),
                node.text.span,
                resolved.least,
                resolved.kinds,
            )
        )
        self.pairs += self.claims[-1].pairs
        if self.pairs > PAIR_LIMIT:
            fail(
                "too-many",
                f"up to here the claims of this experiment make {self.pairs:,} pairs of claim and"
                f" configuration; the limit is {PAIR_LIMIT:,}",
                node.text.span,
                help="claim less: fix swept names with `where`, or write `for = mean`",
            )

    def _units(
        self,
        holds: syntax.Expr,
        readings: Mapping[int, Reading],
        over: Over,
        where: syntax.Expr | None,
    ) -> ClaimUnits:
        """Return what resolves the units of a claim. Raises CompileError."""
        trend = trend_of(holds)
        if trend is None:
            return Comparisons(self._facts, holds, readings, over, where, self._common)
        if over == "mean":
            fail(
                "claim-form",
                "a trend has no mean over configurations",
                trend.span,
                help="write `for = each`, or a share of them such as `for = 90%`",
            )
        return Trends(self._facts, trend, readings, where, self._common)

    def _check_text(self, text: str, span: Span) -> None:
        if not text:
            fail(
                "missing-argument",
                "a claim needs a text that states it",
                span,
                help='for example `claim "CUBIC takes more than its share" { ... }`',
            )
        if text in self._texts:
            fail(
                "duplicate-claim",
                "two claims have the same text",
                span,
                labels=(Label(self._texts[text], "first occurrence"),),
                help="reword one of them",
            )
        self._texts[text] = span

    def without_interval(self, is_end: bool) -> Iterator[Diagnostic]:
        """Yield diagnostics for claims that no range of repetitions decides; is_end: whether claims
        end it.
        """
        for checked in self._checked:
            kinds = {kind for kind, _ in checked.kinds}
            if kinds & {"mean", "trend"}:
                what = "mean" if "mean" in kinds else "trend"
                known = "interval of a mean" if what == "mean" else "test of a trend"
                instead = "claim something about the `median`, or " if what == "mean" else ""
                yield Diagnostic(
                    "undecidable-claim",
                    "a range of repetitions never decides this claim",
                    checked.span,
                    note=f"it is about a {what}",
                    notes=(f"no {known} is valid if the values decide their number",),
                    help=f"{instead}write one number for `repeat`",
                    severity=Severity.ERROR if is_end else Severity.WARNING,
                )

    def warnings(self, is_range: bool) -> Iterator[Diagnostic]:
        """Yield warnings for claims that the repetitions (of a range: the most) cannot decide,
        whatever the results.
        """
        pairs = self.pairs
        for checked in self._checked:
            needed = max(
                (_needed(kind, share, pairs, is_range) for kind, share in checked.kinds), default=0
            )
            if checked.has < needed:
                have = "1 repetition" if checked.has == 1 else f"{checked.has} repetitions"
                advice = f"write `repeat = {needed}` or more"
                if is_range:
                    advice = f"extend the range to {needed} or more"
                yield warning(
                    "few-repetitions",
                    f"{have} cannot decide this claim, whatever the results",
                    checked.span,
                    note=f"it needs at least {needed}",
                    notes=(
                        (
                            f"the claims make {pairs} {'pair' if pairs == 1 else 'pairs'} of claim"
                            f" and configuration, decided simultaneously at 95 %"
                        ),
                    ),
                    help=f"{advice}, or claim less",
                )


def _needed(kind: str, share: float, pairs: int, is_range: bool = False) -> int:
    """Return the least number of repetitions that makes an interval at level 1 - 0.05/m finite, m =
    pairs.

    Order statistics: minimum and maximum enclose a quantile q with probability 1 - q^n - (1 - q)^n;
    the difference of two independent medians has an interval where 2 / 2^n - 1 / 4^n is at most the
    tail (medians.py, `values_needed`). For a range the
    confidence sequence of a quantile is finite when (n + 1) max(q, 1 - q)^n is at most 0.05/m
    (sequential.py, `kept_counts`).
    """
    if is_range and kind in ("independent", "median", "percentile"):
        worst, n = max(share, 1 - share), 1
        while (n + 1) * worst**n > LEVEL / pairs:
            n += 1
        return n
    tail = LEVEL / (2 * pairs)
    if kind == "independent":
        return math.ceil(round(-math.log2(1 - math.sqrt(1 - tail)), 9))
    if kind == "mean":
        return 2
    if kind in ("count", "trend"):  # each step of a trend has an interval, which needs more
        return 1
    worst = max(share, 1 - share)
    return math.ceil(round(math.log(tail) / math.log(worst), 9))

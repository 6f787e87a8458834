"""Texts that differ in their numbers alone make one, above all why cells are not valid."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .reading import Outcome

WORDS = ("failed", "invalid", "flagged")
"""The verdicts that have a reason, the worst first."""
NONE_RECORDED = "no reason was recorded"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Remark:
    """A reason and the cells that it concerns.

    reason: a number that differs among them stands as its range, `1.3-52.6`.
    """

    word: str
    reason: str
    outcomes: tuple[Outcome, ...]

    @property
    def line(self) -> str:
        """The remark for people: `28 flagged: ... (for example 18f406895349086b)`."""
        example = f"cell {self.outcomes[0].cell}"
        where = example if len(self.outcomes) == 1 else f"for example {example}"
        return f"{len(self.outcomes)} {self.word}: {self.reason} ({where})"


def remarks(outcomes: Iterable[Outcome]) -> list[Remark]:
    """Return why cells are not valid: the worst verdict first, then what concerns most cells."""
    found = [
        (outcome.verdict_word, NUMBER.sub("0", reason), reason, outcome)
        for outcome in outcomes
        if outcome.verdict_word != "valid"
        for reason in outcome.reasons or (NONE_RECORDED,)
    ]
    found.sort(key=lambda each: each[:2])
    result = []
    for (word, _), group in groupby(found, key=lambda each: each[:2]):
        same = list(group)
        cells = {outcome.cell: outcome for *_, outcome in same}
        reason = _ranged([reason for *_, reason, _ in same])
        result.append(Remark(word, reason, tuple(cells.values())))
    return sorted(result, key=lambda each: (WORDS.index(each.word), -len(each.outcomes)))


def shown(found: Sequence[Remark], most: int = 8) -> Iterator[str]:
    """Yield remarks for people, each on a line; most: how many of them."""
    for remark in found[:most]:
        yield f"  {remark.line}"
    if len(found) > most:
        yield f"  ... and {len(found) - most} more reasons, which the report lists"


def merged(texts: Iterable[str]) -> list[str]:
    """Return different texts in their order, those that differ in their numbers alone as one, with
    ranges.
    """
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(without_numbers(text), []).append(text)
    return [_ranged(each) for each in alike.values()]


def without_numbers(text: str) -> str:
    """Return a text that is the same for texts that differ in their numbers alone."""
    return NUMBER.sub("0", text)


def _ranged(reasons: Sequence[str]) -> str:
    """Return reasons that differ in their numbers alone as one, with ranges."""
    columns = iter(zip(*map(NUMBER.findall, reasons), strict=True))

    def spanned(_: re.Match[str]) -> str:
        numbers: list[str] = sorted(next(columns), key=float)
        low, high = numbers[0], numbers[-1]
        return low if low == high else f"{low}{' to ' if low.startswith('-') else '-'}{high}"

    return NUMBER.sub(spanned, reasons[0])

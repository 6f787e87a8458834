"""`fairc compare RUN --baseline BASELINE`: what has changed since a stored run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairc.runtime.claims import ClaimVerdict, Decision
from fairc.runtime.compare.comparison import IDENTICAL, SAME, Cells, ComparisonRow, compare_runs
from fairc.runtime.formatting import counted, escape_markdown
from fairc.runtime.repetitions.reading import measured
from fairc.runtime.run.outcome import decide_claims
from fairc.runtime.store.folder import Store, read_plan

from .results import (
    TABLES,
    Compared,
    Side,
    fresh_tables,
    medians_of,
    of,
    plain,
    require_whole,
    values_of,
)

MAX_ROWS = 40


@dataclass(frozen=True, slots=True)
class Change:
    """A claim whose verdict differs from the baseline's; empty: the claim is not there."""

    claim: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes.

    claims: those with another verdict; kept: how many have the same; rows: every value compared.
    """

    baseline: Path
    run: Path
    cells: Cells
    claims: tuple[Change, ...]
    kept: int
    rows: Sequence[ComparisonRow]

    @property
    def metrics(self) -> list[ComparisonRow]:
        """The values that are not identical or the same."""
        return [row for row in self.rows if row["verdict"] not in (IDENTICAL, SAME)]

    @property
    def any(self) -> bool:
        """Whether anything changed."""
        return bool(self.claims or self.metrics)


def against(baseline: Side, run: Side) -> Compared:
    """Return what changed from a baseline to a run. Raises UsageError, StoreError, TableError."""
    for folder in dict.fromkeys((baseline.run, run.run)):
        require_whole(folder)
    cells, rows = compare_runs(fresh_tables(baseline.run), fresh_tables(run.run))
    changed, kept = _claims(_decision(baseline.run), _decision(run.run))
    found = Changes(baseline.name, run.name, cells, changed, kept, rows)
    forms = _document(found), [*_text(found)], [*_markdown(found)]
    return Compared(not found.any, *forms)


def _decision(run: Path) -> Decision:
    return decide_claims(measured(run / TABLES, read_plan(run)), Store(run))


def _claims(before: Decision, after: Decision) -> tuple[tuple[Change, ...], int]:
    """Return the claims (matched by their texts) whose verdicts changed, and how many did not."""

    def by_text(decision: Decision) -> dict[str, ClaimVerdict]:
        return {decided.claim.text: decided for decided in decision.claims}

    old, new = by_text(before), by_text(after)
    changed = []
    for text in dict.fromkeys((*new, *old)):
        was = old[text].verdict if text in old else ""
        now = new[text].verdict if text in new else ""
        if was != now:
            changed.append(Change(text, was, now))
    return tuple(changed), len({*old, *new}) - len(changed)


def _text(found: Changes) -> Iterator[str]:
    """Yield lines for people: claims first, then metrics."""
    cells = found.cells
    yield (
        f"baseline: {found.baseline}; {cells.both} cells in both, raw artefacts byte-identical:"
        f" {cells.identical}"
    )
    for change in found.claims:
        yield (
            f"claim: {change.claim}: {change.before or 'not there'} ->"
            f" {change.after or 'not there'}"
        )
    if found.kept:
        yield f"{counted(found.kept, 'claim')} as before"
    for row in found.metrics[:MAX_ROWS]:
        yield f"{row['metric']}{of(row['by'])}: {values_of(row)}{row['words']}"
    if len(found.metrics) > MAX_ROWS:
        yield f"... and {len(found.metrics) - MAX_ROWS} more: --format json"
    same = len(found.rows) - len(found.metrics)
    yield f"{same} of {len(found.rows)} values identical or the same"


def _document(found: Changes) -> dict[str, Any]:
    """Return the object that docs/run/cli.md describes."""
    return {
        "baseline": str(found.baseline),
        "run": str(found.run),
        "changed": found.any,
        "cells": asdict(found.cells),
        "claims": [asdict(change) for change in found.claims],
        "metrics": plain(found.rows),
    }


def _markdown(found: Changes) -> Iterator[str]:
    """Yield the text of a comment: what changed, and how much did not."""
    yield "### What changed against the baseline"
    yield ""
    cells = found.cells
    yield f"{cells.both} cells in both, {cells.identical} of them equal to the byte."
    if found.claims:
        yield from ("", "| Claim | Baseline | Now |", "|---|---|---|")
        for change in found.claims:
            texts = (change.claim, change.before or "not there", change.after or "not there")
            yield f"| {' | '.join(map(escape_markdown, texts))} |"
    yield ""
    if not found.metrics:
        yield f"All {len(found.rows)} values are identical or the same."
        return
    yield from ("| Value | Verdict | Baseline | Now | |", "|---|---|---:|---:|---|")
    for row in found.metrics[:MAX_ROWS]:
        before, after = medians_of(row)
        shown = (f"{row['metric']}{of(row['by'])}", row["verdict"], before, after, row["words"])
        yield f"| {' | '.join(map(escape_markdown, shown))} |"
    if len(found.metrics) > MAX_ROWS:
        yield from ("", f"And {len(found.metrics) - MAX_ROWS} more.")
    yield ""
    same = len(found.rows) - len(found.metrics)
    yield f"{same} of {len(found.rows)} values identical or the same."

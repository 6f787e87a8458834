"""`fairc compare`: compare two runs, metric by metric: identical, same, different, undecided or
missing.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from fairc.runtime.compare.comparison import (
    IDENTICAL,
    MISSING,
    SAME,
    VERDICTS,
    Cells,
    ComparisonRow,
    compare_runs,
)
from fairc.runtime.formatting import escape_markdown
from fairc.runtime.store.spreadsheet import no_formula

from . import agreement, console
from .baseline import against
from .failures import Status, UsageError
from .options import Command, form, quiet, type_path
from .results import (
    SHOWN_ROWS,
    aligned,
    fresh_tables,
    of,
    require_whole,
    values_of,
)

Rows = Sequence["ComparisonRow"]


@click.command(cls=Command)
@click.argument("first", metavar="RUN", type=type_path)
@click.argument("second", metavar="[RUN]", type=type_path, required=False)
@click.option(
    "--baseline",
    metavar="RUN|PACK",
    type=type_path,
    help="Instead of a second run: what changed since this one, claims first.",
)
@form("text", "json", "md", help="json is in SI base units; md: with --baseline.")
@click.option(
    "--margin",
    "margins",
    metavar="[METRIC=]MARGIN",
    multiple=True,
    help="Ask whether they agree within a share of the first's median (5%), or an amount for one"
    " metric (fairness.F=0.02, SI base unit). May be repeated.  [between engines: 5%]",
)
@quiet()
def compare(
    first: Path, second: Path | None, baseline: Path | None, form: str, margins: tuple[str, ...]
) -> None:
    """Compare two runs, metric by metric: identical, same, different, undecided or missing.

    Between runs of two engines, or with --margin: agree, differ, or cannot tell, by the 95 %
    interval of the shift from the first to the second. The exit status is 1 unless everything is
    identical or the same, or agrees; with --baseline also when the verdict of a claim has changed.
    """
    if baseline is not None:
        if second is not None or margins:
            raise UsageError("--baseline stands for the other run, and takes no --margin")
        sys.exit(against(first, baseline, form))
    if second is None:
        raise UsageError("compare takes two runs", "fairc compare RUN RUN, or RUN --baseline RUN")
    if form == "md":
        raise UsageError("--format md is for --baseline")
    for run in dict.fromkeys((first, second)):
        require_whole(run)
    cells, rows = compare_runs(fresh_tables(first), fresh_tables(second))
    if margins or agreement.engine_of(first) != agreement.engine_of(second):
        sys.exit(agreement.answer(first, second, cells, rows, margins, form))
    for line in FORMS[form](first, second, cells, rows):
        console.result(line)
    if any(row["verdict"] not in (IDENTICAL, SAME) for row in rows) or not rows:
        sys.exit(Status.NOT_ALL_VALID)


def as_text(first: Path, second: Path, cells: Cells, rows: Rows) -> Iterator[str]:
    """Yield lines for people: the cells, a table of verdicts, and what is not identical or the
    same.
    """
    yield f"first: {first}, {_counted(cells.first)}; second: {second}, {_counted(cells.second)}"
    if cells.both:
        same = "all" if cells.identical == cells.both else str(cells.identical)
        yield f"{_counted(cells.both)} in both; raw artefacts byte-identical (SHA-256): {same}"
    else:
        yield "the runs have no cell in common: they have different experiments, settings or seeds"
    if not rows:
        yield "neither run has measurements"
        return
    yield ""
    counts = Counter((row["metric"], row["verdict"]) for row in rows)
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    body = [[m, *(str(counts[m, verdict] or "") for verdict in VERDICTS)] for m in metrics]
    yield from aligned([["metric", *VERDICTS], *body], left=1)
    listed_rows = [row for row in rows if row["verdict"] not in (IDENTICAL, SAME)]
    yield from [""] if listed_rows else []
    missing = 0
    for row in listed_rows:
        missing += row["verdict"] == MISSING
        if row["verdict"] != MISSING or missing <= SHOWN_ROWS:
            yield f"{row['metric']}{of(row['by'])}: {values_of(row)}{row['words']}"
    if missing > SHOWN_ROWS:
        yield f"... and {missing - SHOWN_ROWS} more are missing in one run: --format json"


def as_json(first: Path, second: Path, cells: Cells, rows: Rows) -> Iterator[str]:
    """Yield the object that docs/run/cli.md describes."""
    compared = [{key: value for key, value in row.items() if key != "by_second"} for row in rows]
    document = {
        "first": str(first),
        "second": str(second),
        "cells": asdict(cells),
        "metrics": compared,
    }
    yield console.as_json(document)


FORMS: dict[str, Callable[[Path, Path, Cells, Rows], Iterator[str]]] = {
    "text": as_text,
    "json": as_json,
}


def pairs_as_text(rows: Rows) -> Iterator[str]:
    """Yield lines for people: how each pair of groups in a run compares."""
    if not rows:
        yield "fewer than two groups: nothing to compare"
    for row in rows:
        sides = f"{of(row['by']).lstrip(', ')} against {of(row['by_second']).lstrip(', ')}"
        yield f"{row['metric']}, {sides}: {values_of(row)}{row['words']}"


def pairs_as_json(rows: Rows) -> Iterator[str]:
    """Yield the array that docs/run/cli.md describes."""
    yield console.as_json(list(rows))


def pairs_as_csv(rows: Rows) -> Iterator[str]:
    """Yield the columns of the JSON form, with each side's `by` as a JSON object."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    for place, row in enumerate(rows):
        if not place:
            writer.writerow(row)
        values = (json.dumps(v) if isinstance(v, dict) else v for v in row.values())
        writer.writerow(no_formula(v) if isinstance(v, str) else v for v in values)
    yield from lines.getvalue().splitlines()


def pairs_as_markdown(rows: Rows) -> Iterator[str]:
    """Yield the lines of the text form as a Markdown list."""
    yield from (f"- {escape_markdown(line)}" for line in pairs_as_text(rows))


PAIR_FORMS: dict[str, Callable[[Rows], Iterator[str]]] = {
    "text": pairs_as_text,
    "csv": pairs_as_csv,
    "json": pairs_as_json,
    "md": pairs_as_markdown,
}


def _counted(cells: int) -> str:
    return f"{cells} cell{'' if cells == 1 else 's'}"

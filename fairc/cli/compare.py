"""`fairc compare`: compare two runs, metric by metric: identical, same, different, undecided or
missing.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from fairc.runtime.compare.comparison import (
    IDENTICAL,
    MISSING,
    SAME,
    VERDICTS,
    Cells,
    ComparisonRow,
    compare_runs,
)
from fairc.runtime.formatting import counted, escape_markdown, no_formula
from fairc.runtime.store.folder import read_plan, runs_in

from . import agreement, console
from .baseline import against
from .failures import Status, UsageError
from .results import (
    SHOWN_ROWS,
    Compared,
    Side,
    aligned,
    fresh_tables,
    of,
    plain,
    require_whole,
    values_of,
)
from .unpacking import opened

Rows = Sequence["ComparisonRow"]


def compare(
    first: Path, second: Path | None, baseline: Path | None, form: str, margins: tuple[str, ...]
) -> None:
    """Compare two runs, metric by metric: identical, same, different, undecided or missing."""
    if baseline is not None:
        if second is not None or margins:
            raise UsageError("--baseline stands for the other run, and takes no --margin")
        if not baseline.exists():
            raise UsageError(
                f"there is no baseline {baseline}", "`fairc pack RUN -o FILE` stores one"
            )
        sys.exit(_answer(baseline, first, against, form))
    if second is None:
        raise UsageError("compare takes two runs", "fairc compare RUN RUN, or RUN --baseline RUN")
    if form == "md":
        raise UsageError("--format md is for --baseline")
    sys.exit(_answer(first, second, lambda a, b: _compared(a, b, margins), form))


def _answer(first: Path, second: Path, ask: Callable[[Side, Side], Compared], form: str) -> int:
    """Compare two runs, experiment by experiment, and print the answer; return the exit status."""
    with opened(first) as one, opened(second) as other:
        sides = _sides(first, one), _sides(second, other)
        if all(len(side) == 1 for side in sides):
            pairs = {"": tuple(next(iter(side.values())) for side in sides)}
        else:
            pairs = {
                name: (side, sides[1][name]) for name, side in sides[0].items() if name in sides[1]
            }
        alone = [sorted(side.keys() - pairs.keys()) if "" not in pairs else [] for side in sides]
        if not pairs:
            raise UsageError(
                f"{first} and {second} have no experiment in common: {', '.join(alone[0])} and"
                f" {', '.join(alone[1])}"
            )
        found = {name: ask(*pair) for name, pair in pairs.items()}
    for line in FORMS[form](found, dict(zip((str(first), str(second)), alone, strict=True))):
        console.result(line)
    well = all(one.well for one in found.values()) and not any(alone)
    return Status.WELL if well else Status.NOT_ALL_VALID


def _sides(target: Path, folder: Path) -> dict[str, Side]:
    """Return the runs of a folder by their experiments.

    target: the folder as the user named it.
    """
    return {
        name or read_plan(run).experiment: Side(target / name if name else target, run)
        for name, run in runs_in(folder).items()
    }


def _compared(first: Side, second: Side, margins: Sequence[str]) -> Compared:
    """Compare two runs. Raises UsageError, TableError, StoreError."""
    for run in dict.fromkeys((first.run, second.run)):
        require_whole(run)
    both = fresh_tables(first.run), fresh_tables(second.run)
    cells, rows = compare_runs(*both)
    if margins or agreement.engine_of(first.run) != agreement.engine_of(second.run):
        return agreement.answer(first, second, cells, rows, margins)
    document = {
        "first": str(first.name),
        "second": str(second.name),
        "cells": asdict(cells),
        "metrics": plain(rows),
    }
    well = bool(rows) and all(row["verdict"] in (IDENTICAL, SAME) for row in rows)
    return Compared(well, document, [*_text(first.name, second.name, cells, rows)])


def as_text(found: Mapping[str, Compared], alone: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield lines for people. alone: which experiments only one side has."""
    for name, one in found.items():
        yield from [f"experiment {name}"] if name else []
        yield from one.text
        yield from [""] if name else []
    for side, names in alone.items():
        yield from [f"only in {side}: {', '.join(names)}"] if names else []


def as_markdown(found: Mapping[str, Compared], alone: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the text of a comment."""
    for name, one in found.items():
        yield from [f"## {escape_markdown(name)}", ""] if name else []
        yield from one.markdown
        yield from [""] if name else []
    for side, names in alone.items():
        listed = escape_markdown(f"Only in {side}: {', '.join(names)}.")
        yield from [listed] if names else []


def as_json(found: Mapping[str, Compared], alone: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the object that docs/run/cli.md describes."""
    if "" in found:
        yield console.as_json(found[""].document)
        return
    each = [{"experiment": name, **one.document} for name, one in found.items()]
    yield console.as_json({"experiments": each, "alone": alone})


def _text(first: Path, second: Path, cells: Cells, rows: Rows) -> Iterator[str]:
    """Yield lines for people: the cells, a table of verdicts, and what is not identical or the
    same.
    """
    one, other = counted(cells.first, "cell"), counted(cells.second, "cell")
    yield f"first: {first}, {one}; second: {second}, {other}"
    if cells.both:
        same = "all" if cells.identical == cells.both else str(cells.identical)
        both = counted(cells.both, "cell")
        yield f"{both} in both; raw artefacts byte-identical (SHA-256): {same}"
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


FORMS: dict[str, Callable[[Mapping[str, Compared], Mapping[str, Sequence[str]]], Iterator[str]]] = {
    "text": as_text,
    "json": as_json,
    "md": as_markdown,
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

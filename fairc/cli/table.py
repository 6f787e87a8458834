"""`fairc table`: print one table of METRIC (fairness.F, goodput, ...): value, n and 95 % confidence
interval.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fairc import dsl
from fairc.dsl.core.diagnostics import CompileError
from fairc.runtime.compare.comparison import ComparisonRow, Mixture, compare_groups
from fairc.runtime.formatting import no_formula
from fairc.runtime.repetitions.reading import Measurements, UnknownName
from fairc.runtime.repetitions.samples import FLOW, LOAD, PROTOCOL, Where
from fairc.runtime.repetitions.summaries import Row, summarise
from fairc.runtime.store.folder import read_cells, read_plan, runs_in

from . import console
from .compare import PAIR_FORMS
from .failures import UsageError
from .results import fresh_tables, markdown, tell_missing, text
from .unpacking import opened

R = TypeVar("R", Row, ComparisonRow)
RowsOf = Callable[[Measurements, Where | None], list[R]]
"""What a run measured, and which of it is looked at -> rows of a table."""


def table(
    run: Path, metric: str, by: str | None, where: str | None, stat: str, tested: bool, form: str
) -> None:
    """Print one table of METRIC: value, n and 95 % confidence interval."""
    groups = None if by is None else _names(by)
    with opened(run) as folder:
        if tested:
            lines = PAIR_FORMS[form](of_each(folder, where, _pairs(metric, groups)))
        else:
            together = groups is None and form in FOR_PEOPLE
            summed_up = _summaries(metric, groups, _names(stat) or [stat], together=together)
            lines = FORMS[form](of_each(folder, where, summed_up))
        for line in lines:
            console.result(line)


def _names(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _pairs(metric: str, groups: Sequence[str] | None) -> RowsOf[ComparisonRow]:
    return lambda measured, where: compare_groups(measured, metric, groups, where)


def _summaries(
    metric: str, groups: Sequence[str] | None, names: Sequence[str], *, together: bool
) -> RowsOf[Row]:
    """Return what summarises a run by each of some statistics."""
    return lambda measured, where: [
        row
        for name in names
        for row in summarise(measured, metric, groups, where, name, together=together)
    ]


def of_each(folder: Path, where: str | None, rows_of: RowsOf[R]) -> list[R]:
    """Return the rows of each run in a folder. Rows of several experiments have the name of theirs
    among the names that group values; an experiment that lacks a name is left out.

    Raises UsageError and CompileError for an unknown name, and for a condition that nothing meets.
    """
    runs = runs_in(folder)
    found: dict[str, list[R]] = {}
    lacking: dict[str, UsageError | CompileError] = {}
    for name, run in runs.items():
        measured = fresh_tables(run)
        tell_missing(run, measured)
        try:
            found[name] = rows_of(measured, chosen(where, measured))
        except (UnknownName, Mixture) as error:
            lacking[name] = UsageError(str(error))
        except CompileError as error:
            lacking[name] = error
    if not found:
        raise next(iter(lacking.values()))
    for name, why in lacking.items():
        console.say(f"experiment {name} is left out: {_said(why)}")
    if where is not None and not any(found.values()):
        require_met(where, [runs[name] for name in found])
    if "" in found:
        return found[""]
    keys = dict.fromkeys(key for rows in found.values() for row in rows for key in row["by"])
    for name, rows in found.items():
        sides: Any  # a row of either kind
        for sides in rows:
            for side in {"by", "by_second"} & sides.keys():
                sides[side] = {"experiment": name, **dict.fromkeys(keys), **sides[side]}
    return [row for rows in found.values() for row in rows]


def _said(error: UsageError | CompileError) -> str:
    return error.message if isinstance(error, UsageError) else error.diagnostics[0].message


def require_met(where: str, runs: Sequence[Path]) -> None:
    """Raise UsageError unless a cell of a plan meets a condition, which may not have been run yet.

    A condition on flows, loads or protocols is about results; it is met by none.
    """
    condition = dsl.condition(where)
    plans = [(read_plan(run), run) for run in runs]
    axes = {axis.name: axis.values for plan, _ in plans for axis in plan.axes}
    if not condition.names & {FLOW, LOAD, PROTOCOL} - axes.keys() and any(
        condition.matches(cell.bindings, cell.repetition)
        for _, run in plans
        for cell in read_cells(run)
    ):
        return
    raise UsageError(f"no result meets the --where condition `{where}`", condition.values(axes))


def chosen(where: str | None, measured: Measurements) -> Callable[[Mapping[str, str]], bool] | None:
    """Return the test for the values that `--where` chooses, or None. Raises CompileError."""
    if where is None:
        return None
    condition = dsl.condition(where)
    known = (*measured.axes, "load", "protocol")
    flows = {value.measure.flow for value in measured.values() if value.measure.flow}
    condition.check(known, flows)
    return lambda names: condition.matches(
        {name: names[name] for name in known if name in names},
        int(names["repetition"]),
        names.get("flow", ""),
    )


def as_text(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a table for people."""
    yield from _by_statistic(rows, text)


def _by_statistic(
    rows: Sequence[Row], form: Callable[[Sequence[Row]], Iterator[str]]
) -> Iterator[str]:
    """Yield a table for each statistic; metrics of one name may have several units, too."""
    if not rows:
        yield "no results match this plan yet"
    alike: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        alike.setdefault((row["stat"], row["unit"]), []).append(row)
    for place, of_one in enumerate(alike.values()):
        yield from [""] if place else []
        yield from form(of_one)


def as_markdown(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the tables of `as_text` in Markdown."""
    yield from _by_statistic(rows, markdown)


def as_json(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the array that docs/run/cli.md describes."""
    yield console.as_json(rows)


def as_csv(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the columns of the JSON form, with one column for each entry of `by`.

    A swept name that is also the name of a column, such as `n`, becomes `by.n`.
    """
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    keys = list(rows[0]["by"]) if rows else []
    before = ("metric", "unit", "stat")
    after = (
        *("n", "invalid", "censored", "value", "ci_low", "ci_high"),
        *("reason", "no_interval", "remark"),
    )
    heads = [f"by.{key}" if key in (*before, *after) else key for key in keys]
    writer.writerow([*before, *heads, *after])
    for row in rows:
        numbers = (row["value"], row["ci_low"], row["ci_high"])
        writer.writerow(
            [
                *(row["metric"], row["unit"], row["stat"]),
                *(no_formula(row["by"][key]) for key in keys),
                *(row["n"], row["invalid"], row["censored"], *numbers),
                *(no_formula(row[text]) for text in ("reason", "no_interval", "remark")),
            ]
        )
    yield from lines.getvalue().splitlines()


FORMS: dict[str, Callable[[Sequence[Row]], Iterator[str]]] = {
    "text": as_text,
    "csv": as_csv,
    "json": as_json,
    "md": as_markdown,
}
FOR_PEOPLE = ("text", "md")
"""The forms in which many flows of one statement are one row."""

"""`fairc table`: print one table of METRIC (fairness.F, goodput, ...): value, n and 95 % confidence
interval.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from fairc import dsl
from fairc.runtime.compare.comparison import Mixture, compare_groups
from fairc.runtime.repetitions.reading import Measurements, UnknownName
from fairc.runtime.repetitions.summaries import Row, summarise
from fairc.runtime.store.spreadsheet import no_formula

from . import console
from .compare import PAIR_FORMS
from .failures import UsageError
from .options import Command, form, quiet, type_path, where
from .results import fresh_tables, markdown, text


@click.command(cls=Command)
@click.argument("run", metavar="RUN", type=type_path)
@click.argument("metric")
@click.option(
    "--by",
    metavar="A,B",
    help="Swept names, flow, repetition, load, protocol.  [default: swept, flow]",
)
@where("Use only cells that meet a condition, as in `exclude`; `flow == f[2]` chooses flows.")
@click.option(
    "--stat",
    metavar="A,B",
    default="median",
    show_default=True,
    help="median, mean, bootstrap (mean with BCa interval), min, max, p90, ...",
)
@click.option(
    "--test", "tested", is_flag=True, help="Compare every pair of rows: test, effect size, verdict."
)
@form("text", "csv", "json", "md", help="csv and json are in SI base units.")
@quiet()
def table(
    run: Path, metric: str, by: str | None, where: str | None, stat: str, tested: bool, form: str
) -> None:
    """Print one table of METRIC (fairness.F, goodput, ...): value, n and 95 % confidence
    interval.
    """
    measured = fresh_tables(run)
    groups = None if by is None else _names(by)
    looked_at = measured, metric, groups, chosen(where, measured)
    try:
        if tested:
            lines = PAIR_FORMS[form](compare_groups(*looked_at))
        else:
            names = _names(stat) or [stat]
            lines = FORMS[form]([row for name in names for row in summarise(*looked_at, name)])
    except (UnknownName, Mixture) as error:
        raise UsageError(str(error)) from None
    for line in lines:
        console.result(line)


def _names(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


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
    if not rows:
        yield "no results match this plan yet"
    for place, stat in enumerate(dict.fromkeys(row["stat"] for row in rows)):
        yield from [""] if place else []
        yield from form([row for row in rows if row["stat"] == stat])


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

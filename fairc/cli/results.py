"""The stored results of a run, as tables for people."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from fairc.compiler.plan import Plan
from fairc.compiler.record import recorded
from fairc.runtime.formatting import count_head, counted, decimals_for, number, scale_for
from fairc.runtime.formatting import escape_markdown as escape
from fairc.runtime.metrics.registry import full_name, presentation
from fairc.runtime.ranges.cells import finished
from fairc.runtime.repetitions.reading import Measurements, UnknownName, measured
from fairc.runtime.repetitions.remarks import merged
from fairc.runtime.repetitions.samples import FLOW
from fairc.runtime.repetitions.summaries import Row, summarise
from fairc.runtime.run.verification import Verification, of_cells
from fairc.runtime.store import hashes, tables
from fairc.runtime.store.cell_folder import RESULT
from fairc.runtime.store.folder import LOCK, PLAN, Store, read_plan

from . import console
from .failures import UsageError

if TYPE_CHECKING:
    from fairc.runtime.compare.comparison import ComparisonRow


@dataclass(frozen=True, slots=True)
class Side:
    """A run that is compared. name: as the user named it; run: its directory."""

    name: Path
    run: Path


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison of two runs.

    well: whether nothing differs. document: for JSON. text, markdown: lines for people.
    """

    well: bool
    document: dict[str, Any]
    text: Sequence[str]
    markdown: Sequence[str] = ()


TABLES = "tables"
SHOWN_ROWS = 24
SHOWN_METRICS = 4


def default_run(name: str, suite: str = "") -> Path:
    """Return the run directory of an experiment, unless -o names another.

    suite: the name of its file, if that has several; their folder is that of the file's name.
    """
    return Path("results") / suite / name


def suite_of(plan: Plan) -> str:
    """Return the name of a plan's file, if that has several experiments; else empty."""
    name = PurePath(plan.file).stem
    return name if plan.experiments and name != ".." else ""


def refresh(store: Store, checked: bool = False) -> None:
    """Rewrite the tables of a run from its stored cells; the store is locked.

    checked: whether a sweep has just checked the cells; if not, damaged derived files are derived
    again here. Raises UsageError for a result that is broken, or of another build.
    """
    if not checked:
        # Imports all that analyses cells: a tenth of a second, which tables that are whole can do
        # without.
        from fairc.runtime.run import repair

        if count := repair.rederive(store):
            console.say(f"{counted(count, 'damaged cell')} recomputed from raw artefacts")

    try:
        tables.renew(store, finished(store))
    except tables.TableError as error:
        again = (
            f"`fairc run FILE -o {store.path}` recomputes what it can from stored artefacts,"
            " and runs the rest"
        )
        raise UsageError(str(error), again) from None


def up_to_date(run: Path) -> bool:
    """Return whether the tables hold everything that is stored."""
    try:
        written = (run / TABLES / "cells.parquet").stat().st_mtime_ns
        sources = [run / name for name in (PLAN, LOCK, "cells")]
        with os.scandir(run / "cells") as cells:
            for cell in (entry for entry in cells if entry.is_dir()):
                result = Path(cell.path, RESULT)
                sources += [Path(cell.path), *([result] if result.exists() else [])]
        return all(path.stat().st_mtime_ns <= written for path in sources)
    except FileNotFoundError:
        return False


def whole_tables(run: Path) -> bool:
    """Return whether the tables are as written; without a record nothing says so."""
    known = recorded(run)
    if known is None:
        return False
    tables = {name: file for name, file in known.files.items() if name.startswith(f"{TABLES}/")}
    return not hashes.differing(run, known.model_copy(update={"files": tables}))


def fresh(run: Path) -> bool:
    """Return whether the tables hold everything that is stored, as written, and lack no column."""
    return up_to_date(run) and whole_tables(run) and tables.current(run / TABLES)


def plan_of(run: Path) -> Plan:
    """Return the plan of a run, and say whether it should be run again. Raises StoreError."""
    plan = read_plan(run)
    if plan.outdated:
        console.complain(f"warning: {run}: {plan.outdated}")
    return plan


def fresh_tables(run: Path) -> Measurements:
    """Bring the tables of a run up to date if they are not, or lack columns; return what its cells
    measured.
    """
    plan = plan_of(run)
    if not fresh(run):
        with Store(run) as store:
            refresh(store)
    return measured(run / TABLES, plan)


def tell_missing(run: Path, measured: Measurements) -> None:
    """Warn of a run that is not complete: its numbers are of the cells that are there."""
    if len(measured.ids) == measured.plan.cells:
        return
    # What decides claims, of which a table needs nothing where the run is complete.
    from fairc.runtime.run.outcome import without_result

    if absent := len(without_result(measured, Store(run))):
        console.complain(
            f"warning: {absent} of {measured.plan.cells} cells have no result; to run them:"
            f" fairc run {run} -o {run}"
        )


def summary(run: Path, measured: Measurements) -> Iterator[str]:
    """Yield the lines of the table that a run ends with: what was measured, per configuration."""
    asked = list(dict.fromkeys(n for request in measured.plan.measure for n in request.shown))
    found: list[tuple[str, Sequence[Row]]] = []
    missing = []
    for metric in asked:
        try:
            rows = summarise(measured, metric, together=True)
            found += [(metric, rows)] if rows else []
            stand_in = presentation(full_name(metric)).stand_in
            if stand_in and stand_in not in asked and all(row["value"] is None for row in rows):
                # Behind, by its own name.
                found.append((stand_in, summarise(measured, stand_in, together=True)))
        except UnknownName:  # a plug-in that is not installed, or nothing that the cells have
            missing.append(metric)
    for metric, shown in found[:SHOWN_METRICS]:
        yield ""
        yield from text(shown[:SHOWN_ROWS])
        if len(shown) > SHOWN_ROWS:
            yield f"... and {len(shown) - SHOWN_ROWS} more: fairc table {run} {metric}"
    if missing:
        yield ""
        yield f"without a value in any cell: {', '.join(missing)}"
    if left := [metric for metric, _ in found[SHOWN_METRICS:]]:
        yield ""
        yield f"also measured: {', '.join(left)} (fairc table {run} METRIC)"


def text(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table of one metric; its numbers share a unit prefix that suits them
    all.
    """
    head, body, names = columns(rows)
    yield from aligned([head, *body], left=names)
    yield from remarks(rows)


def markdown(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the table of `text` in Markdown."""
    head, body, names = columns(rows)
    rule = [*(["---"] * names), *(["---:"] * (len(head) - names))]
    for cells in (head, rule, *body):
        yield f"| {' | '.join(cell if cells is rule else escape(cell) for cell in cells)} |"
    for remark in remarks(rows):
        yield from ("", escape(remark))


def columns(rows: Sequence[Row]) -> tuple[list[str], list[list[str]], int]:
    """Return the head and the rows of a table of one metric, and how many columns are names."""
    known = [row["value"] for row in rows if row["value"] is not None]
    scale = scale_for(rows[0]["unit"], known)
    decimals = decimals_for(value / scale.factor for value in known)

    def shown(value: float | None) -> str:
        return "-" if value is None else number(value / scale.factor, decimals)

    # A metric of the whole cell has no flow: its column would be empty.
    keys = [key for key in rows[0]["by"] if any(row["by"][key] is not None for row in rows)]
    unit = f" ({scale.unit})" if scale.unit else ""
    crowded = any("flows" in row for row in rows)
    head = [
        *keys,
        f"{rows[0]['stat']} {rows[0]['metric']}{unit}",
        "95 % CI",
        count_head(keys),
        "left out",
        *(["single flows"] if crowded else []),
    ]
    body = [
        [
            *(_key(row, key) for key in keys),
            shown(row["value"]),
            interval(row, shown(row["ci_low"]), shown(row["ci_high"])),
            str(row["n"]),
            str(row["invalid"] or ""),
            *([_spread(row, shown)] if crowded else []),
        ]
        for row in rows
    ]
    return head, body, len(keys)


def _key(row: Row, key: str) -> str:
    """Return a name of a row; of many flows as one, with their number."""
    several = f" ({counted(row['flows'], 'flow')})" if key == FLOW and "flows" in row else ""
    return f"{row['by'][key] or ''}{several}"


def _spread(row: Row, shown: Callable[[float], str]) -> str:
    """Return between what the statistics of single flows are; empty for a row of one."""
    if "lowest" not in row or "highest" not in row:
        return ""
    return f"{shown(row['lowest'])} .. {shown(row['highest'])}"


def remarks(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what biases rows, and why they have no value or no interval, each once."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["remark"]:
            found.setdefault(row["remark"], []).append(row)
    for remark, of in [*found.items()][:SHOWN_ROWS]:
        names = [*map(_named, of)] if len(of) < len(rows) else []
        more = [f"{len(names) - 3} more"] if len(names) > 3 else []
        yield f"{'; '.join((*names[:3], *more)) or 'remark'}: {remark}"
    if len(found) > SHOWN_ROWS:
        yield f"... and {len(found) - SHOWN_ROWS} more remarks: --format csv"
    without = [
        row["reason"]
        for row in rows
        if row["reason"] and row["value"] is None and row["reason"] not in row["remark"]
    ]
    for reason in merged(dict.fromkeys(without)):
        yield f"without a value: {reason}"
    for reason in dict.fromkeys(row["no_interval"] for row in rows if row["no_interval"]):
        yield f"no interval: {reason}"
    if crowd := next((row for row in rows if "flows" in row), None):
        apart = ",".join(key for key in crowd["by"] if key == FLOW or crowd["by"][key] is not None)
        yield f"several flows: the mean of theirs in each cell; each of them: --by {apart}"


def _named(row: Row) -> str:
    """Name a row: `loss = 1%, flow = a`."""
    return ", ".join(f"{key} = {text}" for key, text in row["by"].items() if text is not None)


def interval(row: Row, low: str, high: str) -> str:
    """Write a confidence interval, or a dash if there is none."""
    return "-" if row["ci_low"] is None else f"{low} .. {high}"


def aligned(rows: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    """Yield rows as lines in columns; the first `left` columns are flush left, the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def require_whole(run: Path) -> None:
    """Raise UsageError if a cell of a run is not as stored: its recorded hashes would be compared,
    not its files.
    """
    plan_of(run)
    if damaged := list(of_cells(run, Verification())):
        others = f", and {len(damaged) - 1} more files" if len(damaged) > 1 else ""
        raise UsageError(
            f"{run} is damaged: {damaged[0].file}: {damaged[0].why}{others}",
            f"`fairc verify {run}` lists everything, and what repairs it",
        )


def of(by: Mapping[str, str | None]) -> str:
    """Write the group of a value, to follow its name."""
    return "".join(f", {key} = {value}" for key, value in by.items() if value is not None)


def plain(rows: Iterable[ComparisonRow]) -> list[dict[str, object]]:
    """Return what JSON has of the comparison of two runs: both sides of a row have one `by`."""
    return [{key: value for key, value in row.items() if key != "by_second"} for row in rows]


def values_of(row: ComparisonRow) -> str:
    """Write both medians, if there are two, in a unit that suits them, and by how much they
    differ.
    """
    both = [m for m in (row["median_first"], row["median_second"]) if m is not None]
    if len(both) < 2:
        return ""
    scale = scale_for(row["unit"], both)
    decimals = decimals_for(m / scale.factor for m in both)
    a, b = medians_of(row)
    unit = f" {scale.unit}" if scale.unit else ""
    return f"medians {a} and {b}; {_shift(row, scale.factor, decimals, unit)}"


def medians_of(row: ComparisonRow) -> tuple[str, str]:
    """Write each median in a unit that suits both; empty if there is none."""
    both = (row["median_first"], row["median_second"])
    scale = scale_for(row["unit"], [m for m in both if m is not None])
    decimals = decimals_for(m / scale.factor for m in both if m is not None)
    a, b = (
        "" if m is None else f"{number(m / scale.factor, decimals)} {scale.unit}".rstrip()
        for m in both
    )
    return a, b


def _shift(row: ComparisonRow, factor: float, decimals: int, unit: str) -> str:
    """Write by how much the second of a pair is larger; empty if samples are not compared in
    pairs.
    """
    if row["shift"] is None:
        return ""
    ends = [
        number(x / factor, decimals) for x in (row["shift_low"], row["shift_high"]) if x is not None
    ]
    interval = f", 95 % interval {' .. '.join(ends)}{unit}" if ends else ""
    return f"second - first: {number(row['shift'] / factor, decimals)}{unit}{interval}; "

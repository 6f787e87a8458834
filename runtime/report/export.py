"""Every table of the report as data, for CSV and LaTeX: the same numbers as on the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fairc.runtime.formatting import Cell, count, count_head, scaled

from .answer import Answer, Entry, entry
from .claims import Claims
from .explore import shown_values
from .run import Run
from .sheet import Sheet, section_table
from .summary import Results

Row = tuple[Cell, ...]


def sheets(
    values: Mapping[str, Any], figures: Iterable[object], run: Run, results: Results
) -> tuple[Sheet, ...]:
    """Return the tables of a report in the order of the page; those without a row are left out.

    values: of `page.context`. figures: of the report, in its order. The page names the sheet of
    each of its tables in the attribute `data-sheet`.
    """
    every = [
        _claims(values["claims"]),
        *_cells(run, results),
        _answer(values["answer"], [axis.name for axis in values["axes"]]),
        values["deviations"],
        *(figure for figure in figures if isinstance(figure, Sheet)),
        values["verdicts"],
        values["reasons"],
        values["differences"],
        values["settings"],
        values["ended"].sheet,
        *([values["warmup"]] if values["warmup"] else []),
        values["phases"].sheet,
        values["compared"].pairs,
        values["compared"].series,
        values["metrics"],
        values["overrides"].settings,
        values["lock"],
    ]
    return tuple(sheet for sheet in every if sheet.rows)


def _of(entry: Entry | None) -> tuple[Cell, Cell]:
    """Return the median of an entry, and its interval or why there is none."""
    if entry is None or entry.median is None:
        return "", ""
    return entry.median, entry.ends or ""


_NUMBERS = (("median", True), ("95 % interval", True), ("n", True))


def _answer(found: Answer, axes: list[str]) -> Sheet:
    """Return a row for each configuration, or for each metric of an only one."""
    if found.alone:
        (group,) = found.groups
        rows = [(e.named, *_of(e), count(e.n), e.remark) for e in group.entries]
        names = (("what", False), *_NUMBERS, ("remark", False))
        return section_table("answer", "The answer", names, rows)
    columns = found.columns
    head = (
        *((axis, False) for axis in axes),
        (count_head(axes), True),
        *(
            h
            for e in columns
            for h in ((e.named, True), (f"{e.what}, 95 % interval{_unit(e)}", True))
        ),
        ("remarks", False),
    )
    lines: list[Row] = []
    for group in found.groups:
        numbers = [part for e in columns for part in _of(group.entry(e.measure))]
        texts = [text for _, text in group.configuration.bindings]
        remarks = "; ".join(f"{e.what}: {e.remark}" for e in group.entries if e.remark)
        lines.append((*texts, count(len(group.configuration.counted)), *numbers, remarks))
    return section_table("answer", "The answer", head, lines)


def _unit(entry: Entry) -> str:
    return f" ({entry.unit})" if entry.unit else ""


def _claims(found: Claims) -> Sheet:
    """Return a row for each pair of claim and configuration, in the order of the page."""
    rows = [
        (
            f"{view.text} ({view.unit})" if view.unit else view.text,
            row.unit.where,
            row.unit.verdict,
            row.value,
            row.interval,
            row.unit.bound,
            count(row.unit.n),
            row.unit.note,
        )
        for view in found.views
        for row in (*view.rows, *view.folded)
    ]
    head = (
        ("claim", False),
        ("configuration", False),
        ("verdict", False),
        ("value", True),
        ("interval", True),
        ("claimed", False),
        ("n", True),
        ("remark", False),
    )
    return section_table("claims", "Claims", head, rows)


def _cells(run: Run, results: Results) -> Iterator[Sheet]:
    """Yield the explorer's columns for each cell of all configurations."""
    if len(run.configurations) < 2:
        return
    measures = shown_values(results)
    scales = {m: results.formats[m.metric] for m in measures}
    names = [entry(results, m, results.group(m, run.configurations[0])).named for m in measures]
    rows: list[Row] = []
    for configuration in run.configurations:
        for o in configuration.outcomes:
            numbers = [
                "" if (v := results.number(m, o)) is None else scaled(v, *scales[m])
                for m in measures
            ]
            texts = [text for _, text in configuration.bindings]
            reasons = "; ".join(o.reasons)
            rows.append(
                (*texts, count(o.repetition), o.verdict_word, reasons, *numbers, o.seed, o.cell)
            )
    head = (
        *((axis, False) for axis in run.axes),
        ("repetition", True),
        ("verdict", False),
        ("reasons", False),
        *((name, True) for name in names),
        ("seed", False),
        ("cell", False),
    )
    yield section_table("cells", "Cells", head, rows)

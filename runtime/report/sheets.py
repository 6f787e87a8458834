"""Every table of the report as data, for CSV and LaTeX: the same numbers as on the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fairc.runtime.formatting import Cell, count, count_head, scaled

from .answer import Answer, Entry, entry
from .asked import Changes
from .claims import Claims
from .comparisons import Difference
from .endings import RangeSummary
from .explore import shown_values
from .figures import Sheet
from .phases import Phases
from .run import Run
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
        *_deviations(values["plan"].deviates),
        *(figure for figure in figures if isinstance(figure, Sheet)),
        *_validity(values),
        _endings(values["ended"]),
        *([values["warmup"]] if values["warmup"] else []),
        _phases(values["phases"]),
        *_comparisons(values["compared"]),
        _metrics(values),
        _settings(values["asked"]),
        _lock(values["lock"]),
    ]
    return tuple(sheet for sheet in every if sheet.rows)


def _sheet(name: str, title: str, head: Iterable[tuple[str, bool]], rows: Iterable[Row]) -> Sheet:
    return Sheet(name, "tables", title, "", tuple(head), tuple(rows))


def _of(entry: Entry | None) -> tuple[Cell, Cell]:
    """Return the median of an entry, and its interval or why there is none."""
    if entry is None or entry.median is None:
        return "", ""
    return entry.median, entry.ends or ""


def _named(entry: Entry) -> str:
    return f"{entry.what} ({entry.unit})" if entry.unit else entry.what


_NUMBERS = (("median", True), ("95 % interval", True), ("n", True))


def _answer(found: Answer, axes: list[str]) -> Sheet:
    """Return a row for each configuration, or for each metric of an only one."""
    if found.alone:
        (group,) = found.groups
        rows = [(_named(e), *_of(e), count(e.n), e.remark) for e in group.entries]
        names = (("what", False), *_NUMBERS, ("remark", False))
        return _sheet("table-answer", "The answer", names, rows)
    columns = found.columns
    head = (
        *((axis, False) for axis in axes),
        (count_head(axes), True),
        *(
            h
            for e in columns
            for h in ((_named(e), True), (f"{e.what}, 95 % interval{_unit(e)}", True))
        ),
        ("remarks", False),
    )
    lines: list[Row] = []
    for group in found.groups:
        numbers = [part for e in columns for part in _of(group.entry(e.measure))]
        texts = [text for _, text in group.configuration.bindings]
        remarks = "; ".join(f"{e.what}: {e.remark}" for e in group.entries if e.remark)
        lines.append((*texts, count(len(group.configuration.counted)), *numbers, remarks))
    return _sheet("table-answer", "The answer", head, lines)


def _unit(entry: Entry) -> str:
    return f" ({entry.unit})" if entry.unit else ""


def _claims(found: Claims) -> Sheet:
    """Return a row for each pair of claim and configuration, in the order of the page."""
    rows = [
        (
            f"{view.text} ({view.unit})" if view.unit else view.text,
            row.unit.where,
            row.unit.verdict,
            row.value or "",
            row.interval or "",
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
    return _sheet("table-claims", "Claims", head, rows)


def _cells(run: Run, results: Results) -> Iterator[Sheet]:
    """Yield the explorer's columns for each cell of all configurations."""
    if len(run.configurations) < 2:
        return
    measures = shown_values(results)
    scales = {m: results.formats[m.metric] for m in measures}
    names = [_named(entry(results, m, results.summary(m, run.configurations[0]))) for m in measures]
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
    yield _sheet("table-cells", "Cells", head, rows)


def _endings(found: RangeSummary) -> Sheet:
    rows = [(r.what, count(r.configurations), r.repetitions, r.why) for r in found.rows]
    head = (
        ("configurations", False),
        ("how many", True),
        ("repetitions", True),
        ("why they ended", False),
    )
    return _sheet("table-endings", "When repetitions ended", head, rows)


def _phases(found: Phases) -> Sheet:
    """Return the rows of the phase check: medians and intervals, in the run and in the check."""
    rows = [
        (
            f"{row.what} ({row.unit})" if row.unit else row.what,
            row.verdict,
            *(
                part
                for s in (row.before, row.after)
                for part in (s.value or s.text, s.interval or "")
            ),
            row.text,
        )
        for row in found.rows
    ]
    head = (
        ("result", False),
        ("verdict", False),
        ("run", True),
        ("run, 95 % interval", True),
        ("phase check", True),
        ("phase check, 95 % interval", True),
        ("what the tests say", False),
    )
    return _sheet("table-phases", "Phase check", head, rows)


def _settings(found: Changes) -> Sheet:
    head = (("name", False), ("in the file", False), ("in force", False))
    return _sheet("table-settings", "Replaced by --set", head, found.settings)


def _lock(entries: Iterable[tuple[str, str]]) -> Sheet:
    head = (("what", False), ("version or hash", False))
    return _sheet("table-lock", "Versions and hashes", head, entries)


def _deviations(texts: tuple[str, ...]) -> Iterator[Sheet]:
    rows = [(count(place), text) for place, text in enumerate(texts, 1)]
    head = (("No.", True), ("what differs", False))
    yield _sheet("table-deviations", "Deviations from the original study", head, rows)


def _validity(values: Mapping[str, Any]) -> Iterator[Sheet]:
    meanings = values["verdicts"]
    rows = [(verdict, count(n), meanings[verdict]) for verdict, n in values["counts"].items()]
    head = (("verdict", False), ("cells", True), ("meaning", False))
    yield _sheet("table-validity", "Cells by verdict", head, rows)
    remarks = [
        (r.verdict, r.reason, count(len(r.cells)), "; ".join(r.cells)) for r in values["remarks"]
    ]
    names = (("verdict", False), ("reason", False), ("number", True), ("cells", False))
    yield _sheet("table-reasons", "Reasons of verdicts", names, remarks)
    if found := values["differences"]:
        columns = (("condition", False), *((name, False) for name in found.transports))
        lines = [(f"{row.condition}: {row.meaning}", *row.values) for row in found.rows]
        yield _sheet("table-transports", "Differences between the transports", columns, lines)


def _comparisons(compared: Any) -> Iterator[Sheet]:
    head = (
        ("metric", False),
        ("where", False),
        ("first", False),
        ("second", False),
        ("second - first", True),
        ("95 % interval", True),
        ("tests", False),
    )
    rows = [
        (
            f"{p.what} ({p.difference.unit})" if p.difference and p.difference.unit else p.what,
            p.where,
            p.first,
            p.second,
            *_of_difference(p.difference),
            p.text,
        )
        for p in compared.pairs
    ]
    yield _sheet("table-comparisons", "Comparisons", head, rows)
    series = [(s.configuration, s.what, count(s.n), s.r, s.p) for s in compared.series]
    names = (
        ("configuration", False),
        ("metric", False),
        ("n", True),
        ("autocorrelation at lag 1 (95 % band)", True),
        ("p after Holm", True),
    )
    yield _sheet("table-autocorrelation", "Autocorrelation of repetitions", names, series)


def _of_difference(found: Difference | None) -> tuple[Cell, Cell]:
    """Return a difference, and its interval; empty without one."""
    if found is None:
        return "", ""
    return found.value, found.interval or ""


def _metrics(values: Mapping[str, Any]) -> Sheet:
    rows = [
        (
            *(row.configuration, _named(row.entry), *_of(row.entry)),
            *(count(row.entry.n), row.kind, row.entry.remark),
        )
        for row in values["rows"]
    ]
    head = (
        *(("configuration", False), ("metric", False), *_NUMBERS),
        *(("kind", False), ("remark", False)),
    )
    return _sheet("table-metrics", "All other metrics", head, rows)

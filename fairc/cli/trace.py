"""`fairc trace`: show what fairc reads from a recording: duration, statistics, course."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fairc.dsl import model
from fairc.dsl.core.entries import Entry, Use, bind
from fairc.dsl.core.source import Source
from fairc.dsl.core.units import RATE, SHARE, TIME, Dimension
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.text.parser import parse_expression
from fairc.runtime.formatting import counted, quantity
from fairc.words.trace import (
    COLUMN,
    FRAME_BITS,
    RATES,
    UNIT,
    load_rate,
    load_recording,
    table,
)

from . import console

KINDS: tuple[tuple[str, Dimension, str, float], ...] = (
    ("rate", RATE, "bit/s", 1.0),
    ("delay", TIME, "s", 1e-9),
    ("loss", SHARE, "1", 1.0),
)
"""An attribute that follows a recording: its dimension, and the unit and factor that are shown."""

SHARES = (5, 50, 95)
WIDTH = 72
LEVELS = " ▁▂▃▄▅▆▇█"

Course = Sequence[tuple[int, int, float]]
"""From, to, ns; the value."""


def trace(file: Path, arguments: str, form: str) -> None:
    """Show what fairc reads from a recording: duration, statistics, course."""
    use = used(file, arguments)
    found = [described(use, what) for what in followed(use)]
    columns = columns_of(use)
    if form == "json":
        console.result(console.as_json({"columns": columns, "followed": found}))
        return
    if columns:
        console.result(f"{file}: columns {', '.join(str(c['is']) for c in columns)}")
    else:
        console.result(f"{file}: a rate in Mahimahi's format")
    for one in found:
        console.result("\n".join(("", *lines(one))))


def used(file: Path, arguments: str) -> Use[Entry]:
    """Return `trace("FILE", ARGUMENTS)`. Raises CompileError."""
    name = file.name.replace("\\", "\\\\").replace('"', '\\"')
    text = f'trace("{name}"{", " * bool(arguments.strip())}{arguments})'
    source = Source(str(file.parent / "<trace>"), text)
    return bind(RATES, evaluate(parse_expression(source), Scope({})), "a recording")


def columns_of(use: Use[Entry]) -> list[dict[str, object]]:
    """Return the columns of a table as it is read; none of a list of times. Raises CompileError."""
    read = table(use)
    if read is None:
        return []
    return [
        {
            "number": column.place + 1,
            "name": column.name,
            "unit": column.unit,
            "is": f"{column.place + 1} `{column.name}`"
            + (f" in {column.unit}" if column.unit else ""),
        }
        for column in read.columns
    ]


def followed(use: Use[Entry]) -> list[str]:
    """Return what of a link the recording can be: by the unit of its column, or by the names of its
    columns. Raises CompileError.
    """
    read = table(use)
    if read is None:
        return ["rate"]
    column, unit = use.given(COLUMN), use.given(UNIT)
    if unit is not None:
        return [what for what, dimension, _, _ in KINDS if dimension == unit.dimension]
    if column is not None:
        found = read.find(column)
        known = None if found is None else read.dimension(found)
        return [what for what, dimension, _, _ in KINDS if dimension == known] or ["rate"]
    names = {column.stem.casefold() for column in read.columns}
    return [what for what, *_ in KINDS if what in names] or ["rate"]


def described(use: Use[Entry], what: str) -> dict[str, object]:
    """Return what of a link a recording is, as numbers. Raises CompileError."""
    _, dimension, unit, factor = next(kind for kind in KINDS if kind[0] == what)
    read = load_rate(use)[0] if what == "rate" else load_recording(use, what, dimension)
    course = [(begin, end, value * factor) for begin, end, value in _course(read)]
    values = [value for _, _, value in course]
    length_ns = course[-1][1]
    return {
        "what": what,
        "unit": unit,
        "duration_s": length_ns / 1e9,
        "repeats": not isinstance(read, model.Recording) or read.period_ns is not None,
        "steps": len(course),
        "mean": sum((end - begin) * value for begin, end, value in course) / length_ns,
        "least": min(values),
        **{f"p{share}": _percentile(course, share) for share in SHARES},
        "largest": max(values),
        "zero_s": sum(b - a for a, b, value in course if not value) / 1e9,
        "course": _binned(course, length_ns),
    }


def lines(one: dict[str, object]) -> Iterator[str]:
    """Yield what `described` returns as text, with a drawing of its course."""
    unit = str(one["unit"])

    def shown(name: str) -> str:
        value = one[name]
        assert isinstance(value, float)
        return f"{100 * value:.3g} %" if unit == "1" else quantity(value, unit)

    duration = one["duration_s"]
    assert isinstance(duration, float)
    ending = "then from the start again" if one["repeats"] else "then as it is"
    steps = one["steps"]
    assert isinstance(steps, int)
    yield f"{one['what']}: {quantity(duration, 's', 6)}, {counted(steps, 'step')}, {ending}"
    yield f"  mean {shown('mean')}, from {shown('least')} to {shown('largest')}"
    percentiles = (f"{shown(f'p{share}')} ({share} %)" for share in SHARES)
    yield f"  percentiles of the time: {', '.join(percentiles)}"
    if one["zero_s"]:
        yield f"  zero for {quantity(float(str(one['zero_s'])), 's')}"
    course, top = one["course"], one["largest"]
    assert isinstance(course, list) and isinstance(top, float)
    scale = (len(LEVELS) - 1) / top if top else 0.0
    drawn = "".join(LEVELS[max(round(value * scale), 1 if value else 0)] for value in course)
    yield f"  |{drawn}| 0 to {shown('largest')}"


def _course(read: model.Trace | model.Recording) -> Course:
    """Return the steps of a recording, or the bins of a trace, in bit/s."""
    if isinstance(read, model.Recording):
        ends = [*(at for at, _ in read.steps[1:]), read.length_ns]
        return [(at, end, value) for (at, value), end in zip(read.steps, ends, strict=True)]
    begins = range(0, read.period_ns, read.every_ns)
    found = []
    for begin, count in zip(begins, read.chances, strict=True):
        end = min(begin + read.every_ns, read.period_ns)
        found.append((begin, end, count * FRAME_BITS * 1e9 / (end - begin)))
    return found


def _percentile(course: Course, share: int) -> float:
    """Return the least value that a recording does not exceed in a share of its time."""
    ordered = sorted((value, end - begin) for begin, end, value in course)
    wanted, so_far = sum(length for _, length in ordered) * share / 100, 0
    for value, length in ordered:
        so_far += length
        if so_far >= wanted:
            return value
    return ordered[-1][0]


def _binned(course: Course, length_ns: int) -> list[float]:
    """Return the mean in each of some parts of equal length."""
    bins = [0.0] * WIDTH
    for begin, end, value in course:
        first, last = begin * WIDTH // length_ns, -(-end * WIDTH // length_ns)
        for number in range(first, min(last, WIDTH)):
            left = max(begin, number * length_ns / WIDTH)
            right = min(end, (number + 1) * length_ns / WIDTH)
            bins[number] += value * max(0.0, right - left) * WIDTH / length_ns
    return bins

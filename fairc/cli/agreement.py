"""`fairc compare` between engines, or with --margin: do two runs agree?"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairc.runtime.compare.agreement import AgreementRow, Margin, agree
from fairc.runtime.compare.comparison import Cells, ComparisonRow
from fairc.runtime.formatting import count_head, number, scale_for
from fairc.runtime.statistics.agreement import AGREE
from fairc.runtime.store.folder import Store

from . import console
from .failures import UsageError
from .results import Compared, Side, aligned, fresh_tables, plain

DEFAULT_MARGIN = "5%"


def engine_of(run: Path) -> str:
    """Return the engine of a run. Raises StoreError."""
    return str(Store(run).lock.get("engine", {}).get("name"))


def read_margins(texts: Sequence[str]) -> tuple[Margin, dict[str, Margin]]:
    """Read `5%`, `METRIC=5%`, `METRIC=0.02` (SI base unit). Raises UsageError."""
    general: Margin | None = None
    special: dict[str, Margin] = {}
    for text in (*texts, DEFAULT_MARGIN):
        name, _, amount = text.rpartition("=")
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?(?:e-?\d+)?)\s*(%?)\s*", amount)
        if found is None or not (found[2] or name):
            raise UsageError(
                f"{text!r} is not a margin",
                "--margin 5%, or for one metric: --margin fairness.F=0.02",
            )
        value = float(found[1]) / (100 if found[2] else 1)
        margin = Margin(value, relative=bool(found[2]))
        if name:
            special[name.strip()] = margin
        else:
            general = general or margin
    assert general is not None
    return general, special


def answer(
    first: Side,
    second: Side,
    cells: Cells,
    rows: Sequence[ComparisonRow],
    margins: Sequence[str],
) -> Compared:
    """Return whether two runs agree.

    Raises UsageError, TableError, StoreError.
    """
    general, special = read_margins(margins)
    found = agree(fresh_tables(first.run), fresh_tables(second.run), general, special)
    if unknown := sorted(set(special) - {row["metric"] for row in found}):
        raise UsageError(f"--margin: neither run measured `{unknown[0]}`")
    engines = engine_of(first.run), engine_of(second.run)
    if not cells.both:
        console.complain("warning: the runs have no cell in common: they come from different plans")
    document: dict[str, Any] = {
        "first": str(first.name),
        "second": str(second.name),
        "engines": list(engines),
        "cells": asdict(cells),
        "metrics": plain(rows),
        "agreement": found,
    }
    agreed = bool(found) and all(row["verdict"] == AGREE for row in found)
    return Compared(agreed, document, [*as_text(first.name, second.name, engines, found)])


def as_text(
    first: Path, second: Path, engines: Sequence[str], rows: Sequence[AgreementRow]
) -> Iterator[str]:
    """Yield lines for people: a table of all values, and how many agree."""
    yield f"first: {first}, engine {engines[0]}; second: {second}, engine {engines[1]}"
    if not rows:
        yield "neither run has measurements"
        return
    yield ""
    keys = list(dict.fromkeys(k for row in rows for k, v in row["by"].items() if v is not None))
    head = [
        "metric",
        *keys,
        "first",
        "second",
        "shift, 95 % CI",
        "margin",
        count_head(keys),
        "verdict",
    ]
    body = [_line(row, keys) for row in rows]
    yield from aligned([head, *body], left=1 + len(keys))
    yield ""
    counts = Counter(row["verdict"] for row in rows)
    yield f"of {len(rows)}: " + ", ".join(f"{count} {word}" for word, count in counts.most_common())
    for word in dict.fromkeys(row["words"] for row in rows if row["verdict"] == "cannot tell"):
        yield f"cannot tell: {word}"
    left_out = max(row["left_out_first"] for row in rows), max(r["left_out_second"] for r in rows)
    if any(left_out):
        yield f"excluded as not valid: up to {left_out[0]} and {left_out[1]} cells each"


def _line(row: AgreementRow, keys: Sequence[str]) -> list[str]:
    values = [row["median_first"], row["median_second"]]
    scale = scale_for(row["unit"], [v for v in values if v is not None])
    known = [v / scale.factor for v in values if v is not None]
    write = _writer(known + ([row["margin"] / scale.factor] if row["margin"] else []))

    def shown(value: float | None) -> str:
        return "-" if value is None else write(value / scale.factor)

    interval = shown(row["shift"])
    if row["shift_low"] is not None:
        interval += f" [{shown(row['shift_low'])}, {shown(row['shift_high'])}]"
    name = row["metric"] + (f" ({scale.unit})" if scale.unit else "")
    return [
        *(name, *(row["by"].get(key) or "" for key in keys)),
        *(shown(row["median_first"]), shown(row["median_second"]), interval, shown(row["margin"])),
        *(f"{row['n_first']}/{row['n_second']}", row["verdict"]),
    ]


def _writer(values: Sequence[float]) -> Callable[[float], str]:
    """Return a function that writes numbers so that the smallest of these has two digits."""
    smallest = min((abs(v) for v in values if v), default=1.0)
    decimals = min(6, max(0, 1 - math.floor(math.log10(smallest))))
    return lambda value: number(value, decimals)

"""Writes docs/tables.md, metrics.md, measurement.md and engines.md from the declarations that the code itself uses.

python -m fairc.runtime.documents docs
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from fairc.compiler.engine_choice import LIMITS, VIRTUAL_TIME
from fairc.compiler.targets import TARGETS

from .engines import ENGINES
from .metrics import METRICS
from .metrics.rules import SECTIONS
from .store.columns import TABLES

_NOTICE = (
    "<!-- Written by `python -m fairc.runtime.documents docs`; edit the code, not this file. -->"
)


def tables() -> str:
    """Return docs/tables.md."""
    return "\n".join(_tables())


def _tables() -> Iterator[str]:
    yield from ("# The tables of a run", "", _NOTICE, "")
    yield "`tables/*.parquet` in a run directory (Parquet, zstd). Times are seconds after the epoch"
    yield "of the cell; rows are in the order of the plan. For example, with DuckDB:"
    yield ""
    yield "    SELECT flow, median(goodput_bps) FROM 'tables/flows.parquet' GROUP BY flow"
    yield from ("", "## Swept values", "")
    yield "Every table has three columns for each swept name, the last ones (in `cells` before `repetition`):"
    yield ""
    yield from ("| column | type | meaning |", "|---|---|---|")
    yield "| `NAME` | VARCHAR | the value as the plan writes it: `0.25bdp`, `10Mbit/s`, `cubic` |"
    yield "| `NAME_value` | DOUBLE | as a number in base units: 0.25, 10000000; null for a word |"
    yield "| `NAME_unit` | VARCHAR | of that number: `bdp`, `bit/s`, `B`, `s`, `pkt`, `1` for numbers and shares; null for a word |"
    yield ""
    yield "Values that depend on a path (`bdp`, `pkt`) keep their own unit; a sweep may mix units, so use both columns."
    yield "A name that a table already has (ignoring case) gets a trailing `_`. For example:"
    yield ""
    yield "    SELECT depth_value, depth_unit, median(value) FROM 'tables/metrics.parquet'"
    yield "    WHERE metric = 'fairness.F' GROUP BY ALL ORDER BY depth_unit, depth_value"
    for table in TABLES.values():
        yield from ("", f"## {table.name}", "", f"One row: {table.row}.", "")
        yield from ("| column | type | unit | meaning |", "|---|---|---|---|")
        for column in table.columns:
            unit = column.unit or "-"
            yield f"| `{column.name}` | {column.type} | {unit} | {column.meaning} |"
    yield ""


def metrics() -> str:
    """Return docs/metrics.md."""
    return "\n".join(_metrics())


def _metrics() -> Iterator[str]:
    yield from ("# Metrics", "", _NOTICE, "")
    yield "Every metric is computed from the stored raw artefacts of a cell, so a new one needs no new"
    yield "run. The bare name of a metric with several values stands for the first of them."
    for metric in METRICS:
        title, _, rest = metric.definition.partition("\n")
        yield from ("", f"## {metric.name}", "", title, rest.rstrip(), "")
        yield from ("| value | unit | meaning |", "|---|---|---|")
        for value in metric.values:
            yield f"| `{value.name}` | {value.unit} | {value.meaning} |"
    yield ""


def measurement() -> str:
    """Return docs/measurement.md."""
    return "\n".join(_measurement())


def _measurement() -> Iterator[str]:
    yield from ("# Rules of measurement", "", _NOTICE, "")
    yield "What decides whether a number may go into a paper. Metrics, verdicts and the code cite the rules by their"
    yield "numbers; the report carries those that its metrics cite."
    number = 0
    for title, text in SECTIONS.items():
        yield from ("", f"## {title}", "")
        for rule in text.strip().splitlines():
            number += 1
            yield f"{number}. {rule}"
    yield ""


def engines() -> str:
    """Return docs/engines.md."""
    return "\n".join(_engines())


def _engines() -> Iterator[str]:
    yield from ("# Targets and engines", "", _NOTICE, "")
    yield "`fairc compile --target NAME` writes for a target; `fairc run --engine NAME` runs cells on an engine."
    yield from ("", "| target | what it writes |", "|---|---|")
    for target in TARGETS:
        yield f"| `{target.name}` | {target.about} |"
    yield from ("", "| engine | what it is | what it cannot run |", "|---|---|---|")
    for engine in ENGINES:
        if not engine.hidden:
            yield f"| `{engine.name}` | {engine.summary} | {_cannot(engine.name)} |"
    yield from ("", "## Which engine runs an experiment", "")
    order = ", ".join(f"`{name}`" for name in VIRTUAL_TIME)
    yield f"An experiment has one engine: the first of {order} that can run every cell of its plan. The"
    yield "plan alone decides, not the machine and not `--where`. If a flow uses a third-party image,"
    yield "the engine is `docker` (which still runs nothing without `--allow-image`). `plan`, `compile` and"
    yield "`run` take another engine with `--engine NAME`, and refuse one that cannot run every cell."
    yield ""
    yield "`plan.json` records the engine (`engine`) and what in the file rules out faster ones"
    yield "(`engine_reasons`); `fairc plan`, `run` and the report show it. A plan of an earlier version has"
    yield "neither, and means `vm`. `fairc cell` uses the engine of its plan. A run directory keeps its engine:"
    yield "another one is refused and needs another directory (`-o`). Without `--engine`, a run continues on its"
    yield "engine, except for `mininet`: what runs as root must be named each time, because a plan or a run"
    yield "directory may come from a stranger. If the machine lacks what the engine needs, `fairc` exits with"
    yield "status 3 and names another engine that can run the experiment, if there is one."
    yield ""


def _cannot(engine: str) -> str:
    return ", ".join(limit.what for limit in LIMITS[engine]) or "-"


DOCUMENTS: dict[str, Callable[[], str]] = {
    "tables.md": tables,
    "metrics.md": metrics,
    "engines.md": engines,
    "measurement.md": measurement,
}


def main(folder: Path) -> None:
    """Write every document into a folder."""
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

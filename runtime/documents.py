"""The generated blocks of docs/: tables that follow from the declarations that the code itself
uses.

A page has a block between `<!-- generated: NAME -->` and `<!-- end -->`; all other text is written
by hand. `python -m fairc.runtime.documents docs` brings the blocks of all pages up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import fill

from fairc.compiler.engines import profile
from fairc.compiler.queue_table import queue_table
from fairc.compiler.targets import TARGETS
from fairc.words.reference import reference

from .engines import ENGINES
from .metrics import METRICS, rules
from .store.columns import TABLES

BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def current(page: str) -> str:
    """Return a page with its blocks up to date.

    Raises KeyError for a block that nothing generates.
    """
    return BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]]().strip()}\n\n{found[3]}", page)


def _tables() -> Iterator[str]:
    for table in TABLES.values():
        yield from (f"## {table.name}", "", fill(f"One row: {table.row}.", 100), "")
        yield from ("| column | type | unit | meaning |", "|---|---|---|---|")
        for column in table.columns:
            unit = column.unit or "-"
            yield f"| `{column.name}` | {column.type} | {unit} | {column.meaning} |"
        yield ""


def _metrics() -> Iterator[str]:
    for metric in METRICS:
        title, _, rest = metric.definition.partition("\n")
        yield from (f"## {metric.name}", "", title, rest.rstrip(), "")
        yield from ("| value | unit | meaning |", "|---|---|---|")
        for value in metric.values:
            yield f"| `{value.name}` | {value.unit} | {value.meaning} |"
        yield ""


def _targets() -> Iterator[str]:
    yield from ("| target | what it writes |", "|---|---|")
    for target in TARGETS:
        yield f"| `{target.name}` | {target.about} |"


def _engines() -> Iterator[str]:
    yield from ("| engine | what it is | what it cannot run |", "|---|---|---|")
    for engine in ENGINES:
        if not engine.hidden:
            cannot = ", ".join(feature.what for feature in profile(engine.name).lacks) or "-"
            yield f"| `{engine.name}` | {engine.summary} | {cannot} |"


def _text(lines: Callable[[], Iterator[str]]) -> Callable[[], str]:
    return lambda: "\n".join(lines()).strip()


BLOCKS: dict[str, Callable[[], str]] = {
    "reference": reference,
    "queues": queue_table,
    "targets": _text(_targets),
    "engines": _text(_engines),
    "metrics": _text(_metrics),
    "rules": lambda: rules.TEXT,
    "tables": _text(_tables),
}


def main(folder: Path) -> None:
    """Bring the blocks of every page below a folder up to date."""
    for page in sorted(folder.rglob("*.md")):
        page.write_text(current(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

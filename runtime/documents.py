"""The generated blocks of docs/: tables that follow from the declarations that the code itself
uses.

A page has a block between `<!-- generated: NAME -->` and `<!-- end -->`; all other text is written
by hand. `python -m fairc.runtime.documents docs` brings the blocks of all pages up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from textwrap import fill

from fairc.cell.frames import FRAME_BYTES
from fairc.compiler.engines import profile
from fairc.compiler.targets import TARGETS
from fairc.dsl.core import units
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.values import Quantity, Size
from fairc.dsl.model import Queue
from fairc.mechanisms.queues.discipline import Limit, LinkQueue
from fairc.mechanisms.queues.registry import QUEUES
from fairc.words.reference import reference

from .engines import ENGINES
from .metrics import METRICS, rules
from .store.columns import TABLES

BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
RATE_BPS = 10_000_000
PACKETS = 100


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
            meaning = value.meaning.replace("|", r"\|")
            yield f"| `{value.name}` | {value.unit} | {meaning} |"
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


def _queues() -> str:
    """Return Markdown: a row for each queue of 100 packets at 10 Mbit/s, nothing else written."""
    nowhere = Span(Source("", ""), 0, 0)
    rows = ["| queue | holds | what `tc` gets |", "| --- | --- | --- |"]
    for entry in filter(lambda queue: queue.is_sized, QUEUES):
        written = Queue(entry.name, Quantity(Fraction(PACKETS), units.PACKETS, nowhere), nowhere)
        queues = [
            entry.lower(LinkQueue(written, limit, RATE_BPS, _bytes))
            for limit in (Limit(limit_packets=PACKETS), Limit(limit_bytes=PACKETS))
        ]
        queue = queues[0]
        counted = {"packets" if made.limit_bytes is None else "bytes" for made in queues}
        holds = " or ".join(sorted(counted))
        command = f"{queue.tc_name} {queue.words(RATE_BPS)}"
        rows.append(f"| `{entry.name}({PACKETS}pkt)` | {holds} | `{command}` |")
    return "\n".join(rows)


def _bytes(size: Size) -> int:
    return int(size.bits({units.PACKETS: Fraction(8 * FRAME_BYTES), units.DATA: Fraction(1)}) / 8)


def _text(lines: Callable[[], Iterator[str]]) -> Callable[[], str]:
    return lambda: "\n".join(lines()).strip()


BLOCKS: dict[str, Callable[[], str]] = {
    "reference": reference,
    "queues": _queues,
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

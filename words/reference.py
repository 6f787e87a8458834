"""docs/reference/words.md, written from the registries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from fairc.dsl.core.entries import Entry, Parameter
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import PHRASES, UNITS
from fairc.mechanisms.devices.registry import DEVICES, PROXIES
from fairc.mechanisms.queues.registry import QUEUES
from fairc.mechanisms.workloads.registry import WORKLOADS

from .blocks.change import CHANGE
from .blocks.claim import CLAIM
from .blocks.experiment import EXPERIMENT
from .blocks.flow import FLOW
from .blocks.hosts import HOSTS
from .blocks.link import LINK
from .blocks.tunnel import TUNNEL
from .blocks.users import USERS
from .ccas import QUIC_CCAS, TCP_CCAS
from .claims import STATISTICS, TRENDS
from .distributions import DISTRIBUTIONS
from .enters import ENTERINGS
from .figures import FIGURES
from .jitter import JITTERS
from .losses import LOSSES
from .metrics import METRICS
from .pages.page import PAGES
from .presets import TOPOLOGIES
from .trace import RATES
from .transports import TRANSPORTS


def _title(registry: Registry[Any]) -> str:
    return f"{registry.word[0].upper()}{registry.word[1:]}s"


BLOCKS: tuple[tuple[str, Registry[Parameter[Any]]], ...] = (
    ("Keys of `experiment`", EXPERIMENT),
    ("Keys of `flow`", FLOW),
    ("Attributes of `link`", LINK),
    ("Keys of `at` and `every`", CHANGE),
    ("Keys of `users`", USERS),
    *((f"Keys of `{device.noun}`", device.block) for device in (*PROXIES, *DEVICES)),
    ("Keys of `tunnel`", TUNNEL),
    ("Keys of `hosts`", HOSTS),
    ("Keys of `claim`", CLAIM),
)

WORDS_OF: tuple[tuple[str, Registry[Any]], ...] = (
    ("Topologies", TOPOLOGIES),
    ("Queues", QUEUES),
    ("Rate models", RATES),
    ("Loss models", LOSSES),
    ("Times of `at`", ENTERINGS),
    ("Jitter models", JITTERS),
    *((_title(device.modes), device.modes) for device in (*DEVICES, *PROXIES)),
    ("CCAs over TCP", TCP_CCAS),
    ("CCAs over QUIC", QUIC_CCAS),
    ("Transports", TRANSPORTS),
    ("Workloads", WORKLOADS),
    ("Pages", PAGES),
    ("Distributions", DISTRIBUTIONS),
    ("Metrics", METRICS),
    ("Figures", FIGURES),
    ("Statistics of claims", STATISTICS),
    ("Trends of claims", TRENDS),
)


def reference() -> str:
    """Return Markdown: units, keys of every block, words of every registry."""
    parts = [_units()]
    parts += [_table(title, _keys(block)) for title, block in BLOCKS]
    parts += [_entries(title, registry) for title, registry in WORDS_OF]
    return "\n".join(parts)


def _units() -> str:
    rows = []
    for dimension, phrase in PHRASES.items():
        names = [f"`{name}`" for name, unit in UNITS.items() if unit.dimension == dimension]
        shown = ", ".join(name for name in names if name != "``") or "none"
        rows.append((phrase, shown))
    return _table("Units", [("quantity", "units"), *rows])


def _keys(block: Registry[Parameter[Any]]) -> list[tuple[str, ...]]:
    return [
        ("key", "value", "default", "meaning", "runs"),
        *(
            (f"`{p.name}`", p.kind.phrase, _default(p), p.summary, "yes" if p.runs else "not yet")
            for p in block
        ),
    ]


def _entries(title: str, entries: Registry[Any]) -> str:
    rows = [("word", "meaning", "arguments", "runs")]
    rows += [
        (
            f"`{entry.name}`",
            _meaning(entry),
            "; ".join(_arguments(entry.parameters)) or "none",
            "yes" if entry.runs else "not yet",
        )
        for entry in entries
    ]
    return _table(title, rows)


def _meaning(entry: Entry) -> str:
    values = ", ".join(f"`{entry.name}.{value}`" for value in entry.values)
    return f"{entry.summary}{f' ({values})' if values else ''}"


def _arguments(parameters: Iterable[Parameter[Any]]) -> Iterator[str]:
    """Yield what each takes; those in a row that take the same together."""
    for notes, alike in groupby(parameters, _takes):
        names = (f"`{each.name}`{'...' if each.repeated else ''}" for each in alike)
        yield f"{', '.join(names)}: {notes}"


def _takes(parameter: Parameter[Any]) -> str:
    notes = [parameter.kind.phrase]
    if parameter.unless_given:
        notes.append(f"default `{parameter.unless_given}`")
    if not parameter.runs:
        notes.append("not yet")
    return ", ".join(notes)


def _default(parameter: Parameter[Any]) -> str:
    return "required" if parameter.required else parameter.unless_given or "none"


def _table(title: str, rows: Iterable[tuple[str, ...]]) -> str:
    head, *body = rows
    lines = [f"### {title}", "", _row(head), _row(("---",) * len(head)), *map(_row, body)]
    return "\n".join(lines) + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

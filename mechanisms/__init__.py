"""Mechanisms: a folder each, and the one list of them.

    FAMILY/NAME/declaration.py  `DECLARATION`: parameters, defaults, help, lowering to the plan
    FAMILY/NAME/metric_entry.py `ENTRY`: the metric that exists only because of it
    FAMILY/NAME/lowering.py     how that becomes a part of the plan, where the network decides it
    FAMILY/NAME/cell.py         the part of the plan that a cell runs, and what `tc` takes for it;
                                it imports the standard library and `fairc.cell` alone
    FAMILY/NAME/agent.py        what runs beside its programs, inside guests; imports the same
    FAMILY/NAME/record.py       what it left behind, read from the raw artefacts of a cell
    FAMILY/NAME/check.py        whether it did what was planned, besides what is checked of all
    FAMILY/NAME/table.py        the table of what it did over time
    FAMILY/NAME/metric.py       how that metric is computed
    FAMILY/NAME/figure.py       its figure

The rest of the program names none of them: it goes through the registry of a family. A file is
imported when the stage that needs it is; a mechanism may lack those that it has no use for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

MECHANISMS: dict[str, tuple[str, ...]] = {
    "queues": (
        "fifo",
        "red",
        "codel",
        "fq_codel",
        "pie",
        "fq_pie",
        "fq",
        "sfq",
        "cake",
        "dualpi2",
        "prio",
        "module",
    ),
    "workloads": (
        "file",
        "bulk",
        "video",
        "requests",
        "onoff",
        "ping",
        "load",
        "iperf3",
        "program",
        "interop",
        "media",
    ),
    "devices": (
        "pep",
        "policer",
        "nat",
    ),
    "links": ("radio",),
    "effects": ("corrupt",),
}
"""Family -> its mechanisms, in the order in which pages list them."""


def register() -> None:
    """Import what the plan has of every mechanism, so that plans can hold it."""
    for family in MECHANISMS:
        for _ in load(family, "cell"):
            pass


def load(family: str, stage: str) -> Iterator[Any]:
    """Yield the modules of a family's mechanisms for a stage, such as `declaration`."""
    return (module for _, module in named(family, stage))


def named(family: str, stage: str) -> Iterator[tuple[str, Any]]:
    """Yield the same, each with the name of its mechanism."""
    for name in MECHANISMS[family]:
        if (module := find(family, name, stage)) is not None:
            yield name, module


@cache
def find(family: str, name: str, stage: str) -> Any | None:
    """Return the module of a mechanism for a stage; None where it has none."""
    module = f"{__name__}.{family}.{name}.{stage}"
    return import_module(module) if find_spec(module) else None

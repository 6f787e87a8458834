"""The metrics of a run explained: formula, unit and source, from the docstrings of the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .summary import Measure


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric. text: its definition as it is written where it is computed.

    values: (full name, unit, meaning) of each number that it gives.
    """

    name: str
    text: str
    values: tuple[tuple[str, str, str], ...]


def glossary(measures: Sequence[Measure]) -> tuple[Definition, ...]:
    """Return the definitions of the metrics that occur, in the order of the registry.

    A metric of a plug-in that is not installed here has no definition, and is left out.
    """
    from fairc.runtime.metrics.registry import METRICS

    present = {m.metric.partition(".")[0] for m in measures}
    return tuple(
        Definition(
            metric.name,
            metric.definition,
            tuple((value.name, value.unit, value.meaning) for value in metric.values),
        )
        for metric in METRICS
        if metric.name in present
    )

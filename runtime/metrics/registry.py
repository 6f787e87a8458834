"""Every metric that can be computed, in the order of the language's list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fairc.dsl.core import plugins
from fairc.dsl.core.registry import Registry
from fairc.dsl.model.metric_names import metric_of, unmarked
from fairc.words import metrics as words

from .base import Metric, Presentation, Value

METRICS: Registry[Metric] = Registry(
    "metric",
    "metric",
    plugins.members(words.METRICS, words.GROUP, __name__.rpartition(".")[0], "METRIC"),
)


VALUES: Mapping[str, Value] = {value.name: value for metric in METRICS for value in metric.values}
"""Every value by its full name."""


def presentation(value: str) -> Presentation:
    """Return how a value is presented, by its full name; of a plug-in that is not installed here:
    the defaults.
    """
    if value in VALUES:
        return VALUES[value].shown
    base = unmarked(value)
    if base not in VALUES:
        return Presentation()
    shown = VALUES[base].shown
    mark = value.removeprefix(base) if shown.stand_in else ""
    return Presentation(
        rank=shown.rank, stand_in=f"{shown.stand_in}{mark}", is_percent=shown.is_percent
    )


def full_name(name: str) -> str:
    """Return the full name of the value that a name means; the name itself if nobody here knows
    it.
    """
    base = unmarked(name)
    if base not in METRICS:
        return name
    return f"{METRICS[base].values[0].name}{name.removeprefix(base)}"


def title(value: str) -> str:
    """Return what a page calls a value, by its full name."""
    return presentation(value).title or value


def figure_of(value: str) -> str:
    """Return the default figure that shows the course of a value's metric; empty for none.

    value: its full name.
    """
    metric = metric_of(value)
    return METRICS[metric].figure if metric in METRICS else ""


def value_named(name: str) -> Value:
    """Return the value that a name means: `fairness.F`, or its metric's first one for `fairness`.

    A metric of a file's own is none of these. Raises KeyError.
    """
    full = full_name(name)
    value = VALUES[unmarked(full)]
    return value if full == value.name else replace(value, name=full, shown=presentation(full))

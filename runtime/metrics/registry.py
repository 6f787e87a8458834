"""Every metric that can be computed, in the order of the language's list."""

from __future__ import annotations

from collections.abc import Mapping

from fairc.dsl.core import plugins
from fairc.dsl.core.registry import Registry
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
    return VALUES[value].shown if value in VALUES else Presentation()


def full_name(name: str) -> str:
    """Return the full name of the value that a name means; the name itself if nobody here knows
    it.
    """
    return METRICS[name].values[0].name if name in METRICS else name


def title(value: str) -> str:
    """Return what a page calls a value, by its full name."""
    return presentation(value).title or value


def figure_of(value: str) -> str:
    """Return the default figure that shows the course of a value's metric; empty for none.

    value: its full name.
    """
    metric = value.partition(".")[0]
    return METRICS[metric].figure if metric in METRICS else ""


def value_named(name: str) -> Value:
    """Return the value that a name means: `fairness.F`, or its metric's first one for `fairness`.

    Raises KeyError.
    """
    return VALUES[full_name(name)]

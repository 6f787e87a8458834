"""Every metric that can be computed, in the order of the language's list."""

from __future__ import annotations

from fairc.dsl.core import plugins
from fairc.dsl.core.registry import Registry
from fairc.words import metrics as words

from .base import Metric, Value

METRICS: Registry[Metric] = Registry(
    "metric",
    "metric",
    plugins.members(words.METRICS, words.GROUP, __name__.rpartition(".")[0], "METRIC"),
)


def value_named(name: str) -> Value:
    """Return the value that a name means: `fairness.F`, or its metric's first one for `fairness`.

    Raises KeyError.
    """
    values: dict[str, Value] = {}
    for metric in METRICS:
        values[metric.name] = metric.values[0]
        values.update((value.name, value) for value in metric.values)
    return values[name]

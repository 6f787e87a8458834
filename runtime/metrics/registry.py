"""Every metric that can be computed, in the order of the language's list."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module

from fairc.dsl.core import plugins
from fairc.dsl.core.registry import Registry
from fairc.words import metrics as words

from .base import Metric, Value


def _metric(entry: words.MetricEntry) -> Metric:
    """Return the metric of an entry: the METRIC of the module of its name, or of the one that it names."""
    found: Metric = import_module(entry.module or f"{__package__}.{entry.name}").METRIC
    return found


def _metrics() -> Iterator[Metric]:
    for entry in words.METRICS:
        if not entry.module:
            yield _metric(entry)
        elif metric := plugins.attempt(words.GROUP, entry.name, partial(_metric, entry)):
            yield metric


METRICS: Registry[Metric] = Registry("metric", "metric", _metrics())


def value_named(name: str) -> Value:
    """Return the value that a name means: `fairness.F`, or its metric's first one for `fairness`.

    Raises KeyError.
    """
    values: dict[str, Value] = {}
    for metric in METRICS:
        values[metric.name] = metric.values[0]
        values.update((value.name, value) for value in metric.values)
    return values[name]

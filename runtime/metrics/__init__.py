"""Metrics of a measured cell: one module per metric, named as the metric is in the language.

`base` defines what a metric is; each metric's module ends with its METRIC, and METRICS lists them.
"""

from .base import Metric, Value
from .registry import METRICS, value_named

__all__ = ["METRICS", "Metric", "Value", "value_named"]

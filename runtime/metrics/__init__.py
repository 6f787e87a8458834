"""What is computed of a measured cell: one module a metric, its stem is its name in the language.

`base` says what a metric is; each other module ends with its METRIC, and METRICS lists them.
"""

from .base import Metric, Value
from .registry import METRICS, value_named

__all__ = ["METRICS", "Metric", "Value", "value_named"]

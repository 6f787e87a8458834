"""Metrics of a measured cell: one module per metric, named as the metric is in the language.

`base` defines what a metric is; each metric's module ends with its METRIC, and METRICS (`registry`)
lists them. Shared by several: `distribution`, `groups`, `media`, `page_loads`, `sharing`, `videos`.
`rules` are those of measurement that they cite.
"""

from typing import TYPE_CHECKING

from fairc.dsl.core.on_demand import on_demand

if TYPE_CHECKING:
    from .base import Metric as Metric
    from .registry import METRICS as METRICS
    from .registry import value_named as value_named

__getattr__ = on_demand(__name__, {".base": "Metric", ".registry": "METRICS value_named"})
"""A metric does without the list, which imports all of them."""

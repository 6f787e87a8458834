"""Largest contentful paint: from the start of the connection until the largest text or image is
painted.

    lcp = startTime of the last largest-contentful-paint - connectStart

One value for each load of a cell; none for a load that failed, whose largest paint is not known,
nor without a browser. Counted from connectStart, as `fcp` is.

Unit: s. Source: W3C Largest Contentful Paint, section 2.
"""

from __future__ import annotations

from .base import declared
from .page_loads import load_metric

METRIC = load_metric(
    declared("lcp", "largest contentful paint of a load"),
    lambda _, __, load: load.since_connect_s(load.lcp_s),
    lacking="nothing was painted",
)

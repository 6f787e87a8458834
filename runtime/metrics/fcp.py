"""First contentful paint: from the start of the connection until text or an image is first painted.

    fcp = first-contentful-paint - connectStart

One value for each load of a cell, none without a browser; a load that failed before it painted is
larger than any (`plt`). Browsers count from the start of the navigation; here all times of a load
count from connectStart, and the table `loads` has both instants.

Unit: s. Source: W3C Paint Timing, section 4.
"""

from __future__ import annotations

from .base import declared
from .page_loads import load_metric

METRIC = load_metric(
    declared("fcp", "first contentful paint of a load"),
    lambda _, __, load: load.since_connect_s(load.fcp_s),
    lacking="nothing was painted",
    failed="painted",
)

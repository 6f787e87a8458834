"""Time to connect for a page: from the start of the connection until it can be used.

    connect = connectEnd - connectStart

One value for each load of a cell, of a load that failed (`plt`) if it was connected: else it is
larger than any. The TLS handshake is included.

Unit: s. Source: W3C Navigation Timing Level 2, section 3.
"""

from __future__ import annotations

from .base import declared
from .page_loads import load_metric

METRIC = load_metric(
    declared("connect", "time to connect of a load"),
    lambda _, __, load: load.since_connect_s(load.connect_end_s),
    failed="reached",
)

"""Time to response: from the start of the connection until the first byte of the document.

    ttr = responseStart - connectStart

One value for each load of a cell, of a load that failed (`plt`) if its first byte had come: else it
is larger than any. It includes the handshakes (one
round trip for TCP and one for TLS 1.3; over QUIC one in all) and one round trip for the request.

Unit: s. Source: W3C Navigation Timing Level 2, section 3; Thomas et al., QUIC and SATCOM, 2018.
"""

from __future__ import annotations

from .base import Presentation, declared
from .page_loads import load_metric

METRIC = load_metric(
    declared(
        "ttr",
        "time to response of a load",
        shown=Presentation(title="Time to response", rank=3, always=True),
    ),
    lambda _, __, load: load.since_connect_s(load.response_start_s),
    failed="reached",
)

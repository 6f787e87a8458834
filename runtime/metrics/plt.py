"""Page load time: from the start of the connection until the page and all its objects are loaded.

    plt = loadEventEnd - connectStart

One value for each load of a cell. Without a browser (`plain`), loadEventEnd is the end of the last
object's body. A load that failed has no value: it used a protocol other than the one requested, its
status is not 200, an object is missing or has the wrong size, or it timed out. Its user waits for
ever: over repetitions it counts as larger than any value in medians and percentiles, as does a load
under way when its flow is stopped.

The report and the table `loads` also give the theoretical duration of an end-to-end slow start:

    t = log2(BDP / IW) * RTT,  at least 0

BDP: the bottleneck's rate times the base RTT; IW: the initial window in full frames of 1514 bytes.
t is the time in which the congestion window grows from IW to the BDP: a page larger than IW but
smaller than the BDP arrives earlier, and a page of many BDPs also needs its transmission time. Not
given for connections that a PEP splits: they have no slow start over the whole RTT.

Unit: s. Source: W3C Navigation Timing Level 2, section 3 (the times); Thomas et al., QUIC and
SATCOM, 2018 (PLT from connectStart, and the estimate).
"""

from __future__ import annotations

from .base import Presentation, declared
from .page_loads import load_metric

METRIC = load_metric(
    declared(
        "plt",
        "page load time of a load",
        shown=Presentation(title="Page load time", rank=2, always=True, typical=2),
    ),
    lambda _, __, load: load.since_connect_s(load.load_event_end_s),
    failed="endless",
)

"""Sequence evolution: bytes that the connections of a page load have received over time.

    sequence = bytes received by the load's largest connection, from connectStart to the load's end

as captured at the client's interface: over TCP distinct bytes of the stream (a segment that arrives
twice counts once), over QUIC bytes of IP packets, because their content is encrypted.
The table `sequences` has the cumulative bytes of each connection against the time since
connectStart. One value for each load of a cell; none for a load that failed.

The figure `sequence` scales QUIC so that it can be compared with TCP. A test unit is the same
repetition of the configurations that differ only in what the figure's `by` names, such as h2 and
h3. All QUIC curves of a unit are multiplied by one factor,

    largest total of a TCP connection of the unit / largest total of a QUIC connection of the unit

over all loads that did not fail, so that the largest QUIC connection ends at the same value as the
largest TCP connection. With `http: h3` the first load is over TCP, so a unit whose other
configuration is missing (failed, invalid) still has a TCP connection; a unit without any has no
factor: its curves show unscaled bytes of IP packets, and the caption says so.

Unit: B. Source: Thomas et al., QUIC and SATCOM, 2018 (sequence evolution and its scaling).
"""

from __future__ import annotations

from .base import declared
from .page_loads import load_metric

METRIC = load_metric(
    declared("sequence", "bytes received by the largest connection of a load"),
    lambda _, flow, load: max((curve.total for curve in flow.received_in(load)), default=None),
    lacking="no packet of the load was captured at the client",
)

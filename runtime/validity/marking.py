"""Links change the bits of ECN as planned, and leave DSCP alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fairc.cell.links import Rewriting
from fairc.runtime.measurement import Measurement

from .finding import Finding, see

ECN = 3
"""The two lower bits of the byte; both set: CE, none: not ECN-capable (RFC 3168, section 5)."""


def rewritten(tos: NDArray[np.int64], how: Rewriting | None) -> NDArray[np.int64]:
    """Return the byte of DSCP and ECN of packets behind a link, from that in front of it."""
    if how == "bleach":
        return tos & ~ECN
    if how == "mark":
        return np.where(tos & ECN, tos | ECN, tos)
    return tos


def marking(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: behind each bottleneck, DSCP and ECN of every packet are as the link leaves them."""
    for queue in measurement.seen_queues:
        sent = np.flatnonzero((queue.behind.found >= 0) & (queue.left.ip_bytes > 0))
        before, after = queue.left.tos[sent], queue.delivered.tos[queue.behind.found[sent]]
        wrong = int((rewritten(before, measurement.paths.rewriting(queue.place)) != after).sum())
        if wrong:
            yield Finding(
                "invalid",
                f"{wrong} of {len(sent)} packets have another DSCP or ECN behind {queue.name} than"
                f" its link gives them: its filter was not in force; {see('cell.json')}",
            )

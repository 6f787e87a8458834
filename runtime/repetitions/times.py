"""Rates of flows over different times: next to each other they need not add up to a link's rate.

A goodput is over the flow's own time: from its start (or the end of the warm-up) to its last byte
or its stop. Where one of two downloads ends first, the other one has the link for itself from then
on, and the two goodputs may add up to more than the link carries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import median

NEAR = 0.05
"""Times that begin and end this close to each other count as one, as a share of the longest."""
MOST = 3
"""Flows whose times a sentence gives."""

Time = tuple[float, float]
"""From when to when, s after the epoch."""
Times = Mapping[str, Mapping[str, Time]]
"""Configuration -> flow -> the time of its rates: medians over the cells that count."""


def times(rows: Iterable[tuple[str, str, float | None, float | None]]) -> Times:
    """Return the times of flows. rows: configuration, flow, from when to when (None: not known)."""
    found: dict[str, dict[str, list[Time]]] = {}
    for configuration, flow, begin_s, end_s in rows:
        if begin_s is not None and end_s is not None and begin_s < end_s:
            found.setdefault(configuration, {}).setdefault(flow, []).append((begin_s, end_s))
    return {
        configuration: {
            flow: (median(begin for begin, _ in each), median(end for _, end in each))
            for flow, each in flows.items()
        }
        for configuration, flows in found.items()
    }


def different(own: Mapping[str, Time]) -> bool:
    """Return whether flows are measured over different times. own: flow -> its time."""
    longest = max((end - begin for begin, end in own.values()), default=0.0)
    begins, ends = [begin for begin, _ in own.values()], [end for _, end in own.values()]
    return longest > 0 and max(map(_spread, (begins, ends))) > NEAR * longest


def sentence(own: Mapping[str, Time], *, alone: bool = True) -> str:
    """Say that the rates of flows are over different times.

    own: at least one, flow -> its time. alone: whether these are all times, which it then gives.
    """
    if not alone:
        return "each flow's rate is over its own time: they do not add up"
    longest = max(end for _, end in own.values())
    parts = [f"{flow} {between_times(time, longest)}" for flow, time in [*own.items()][:MOST]]
    more = f", {len(own) - MOST} more" if len(own) > MOST else ""
    return f"over different times ({', '.join(parts)}{more}): they do not add up"


def between_times(time: Time, longest: float) -> str:
    """Write a time: `0 to 168 s`. longest: the last end of all that are compared, s."""
    decimals = max(0, 1 - math.floor(math.log10(longest)))
    return f"{time[0]:.{decimals}f} to {time[1]:.{decimals}f} s"


def _spread(values: list[float]) -> float:
    return max(values) - min(values)

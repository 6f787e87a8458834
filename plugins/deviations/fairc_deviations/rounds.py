"""A connection by its own clock: t(i+1) = t(i) + srtt(t(i)), its window in each round, and its
losses.

The window of round i is the last sample at or before t(i). A loss is an entry into CWR, Recovery or
Loss (the kernel's congestion states, include/uapi/linux/tcp.h): a sample in one of these states
after one in another state; or in the same one with another slow-start threshold, which the kernel
sets only at an entry, so that a state left and entered again between two samples is seen. An entry
counts for the round in which it was first sampled, t(i) < t <= t(i+1), at most once per round.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

REDUCING = (2, 3, 4)  # TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss


@dataclass(frozen=True, slots=True)
class Rounds:
    """Round trips of one connection, each of shape (N,).

    t_s: starts, s after the epoch. window: packets. lost: whether an entry fell into the round;
    None where the samples do not say.
    """

    t_s: Floats
    window: NDArray[np.int64]
    lost: Bools | None


def entries(state: Floats, threshold: Floats) -> Bools:
    """Return which samples are the first of an entry. state, threshold: shape (samples,)."""
    reducing = np.isin(state, REDUCING)
    changed = np.ones(len(state), np.bool_)
    changed[1:] = (np.diff(state) != 0) | (np.diff(threshold) != 0)
    found = reducing & changed
    found[:1] = False  # the state before is unknown
    return found


def rounds(
    t_s: Floats,
    window: Floats,
    srtt_s: Floats,
    entered: Bools | None,
    begin_s: float,
    end_s: float,
) -> Rounds | str:
    """Return the whole rounds between two times, or why there are none.

    t_s, window (packets), srtt_s: samples of one connection in order of time; entered: which of
    them are the first of an entry, None if unknown.
    """
    first = int(np.searchsorted(t_s, begin_s, side="left"))
    if first >= len(t_s):
        return "the sender has no sample of its window after the warm-up"
    # Before its first RTT measurement a connection has no clock.
    while first < len(t_s) and not srtt_s[first] > 0:
        first += 1
    if first >= len(t_s):
        return "the sender has no round-trip time"
    # In whole nanoseconds, as they were written, so that long sums are exact.
    times, clock = _ns(t_s).tolist(), _ns(srtt_s).tolist()
    end = min(round(end_s * 1e9), times[-1])
    now, begins, at = times[first], [], []
    while True:
        place = bisect_right(times, now) - 1
        after = now + clock[place]
        if after > end:
            break
        begins.append(now)
        at.append(place)
        now = after
    if not begins:
        return "the flow is shorter than one round trip after the warm-up"
    start = np.array(begins, np.int64)
    which = np.array(at)
    lost: Bools | None = None
    if entered is not None:
        when = _ns(t_s)[entered]
        when = when[(when > start[0]) & (when <= now)]
        lost = np.zeros(len(start), np.bool_)
        lost[np.searchsorted(start, when, side="left") - 1] = True
    windows = np.maximum(1, np.rint(window[which])).astype(np.int64)
    return Rounds(start.astype(np.float64) * 1e-9, windows, lost)


def _ns(seconds: Floats) -> NDArray[np.int64]:
    return np.rint(seconds * 1e9).astype(np.int64)

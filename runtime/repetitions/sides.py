"""Which of two sessions dominates, by a value with sides (F): below 0 the first, above 0 the
second.

A value near 0 names neither, however certain its sign is: with steady shares s and 1 - s of the
link, |F| = 1 - 1 / (2 (s^2 + (1 - s)^2)), which is 0.01 at 55 % and 45 %.
"""

from __future__ import annotations

from fairc.runtime.statistics.estimates import Estimate

LEAST = 0.01
"""The least distance from 0 at which a session dominates."""


def side(value: float) -> int:
    """Return -1 or 1 where the first or the second session dominates by a single value, else 0."""
    return (value >= LEAST) - (value <= -LEAST)


def decided(found: Estimate) -> int | None:
    """Return the same by a median and its interval; None: undecided, also without an interval.

    A session dominates where the interval excludes 0 and the median is not near it. There is no
    difference where the whole interval is near 0.
    """
    if found.value is None or found.low is None or found.high is None:
        return None
    if (found.high < 0 or found.low > 0) and (of := side(found.value)):
        return of
    return 0 if found.low > -LEAST and found.high < LEAST else None

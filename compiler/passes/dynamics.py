"""Links that change: rates over time for a shaper, and the extremes of a link.

Linux's shaper has no rate of zero. A stop is lowered to the rate at which one full frame takes as
long as the rest of the stop, anew in each of its parts: one frame (or as many bytes in small ones)
begins in a stop and arrives as the stop ends, late by one part at most if it came within the stop.
A medium that sends aggregates goes on with what is still to be sent at each new rate: there a stop
is the lowest rate that there is, at which hardly a byte passes.
In a trace, whose parts are its bins, the following bins are reduced by that frame, so that the
total number of bytes does not change. The delivery opportunities of a trace are packets of 1500
bytes (1514 in their frame) by definition, whatever the MTU of the link.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import groupby, zip_longest

from fairc.cell.frames import FRAME_BYTES
from fairc.compiler import plan
from fairc.dsl.model import Direction, Trace

NS = 10**9
# A shaper forgets what a frame still has to pay for after a minute (Linux's sch_htb.c).
LONGEST_FRAME_NS = 50 * NS
STOP_PARTS = 32
LEAST_BPS = 8


def rate_changes(way: Direction) -> tuple[tuple[plan.Change, ...], int | None]:
    """Return the changes of a link's rate, and the period with which they repeat, ns."""
    medium = way.medium is not None
    if way.trace is not None:
        return _of_trace(way.trace, medium), way.trace.period_ns
    if medium:
        changed = (replace(each, rate_bps=each.rate_bps or LEAST_BPS) for each in way.rates)
        return tuple(changed), None
    found: list[plan.Change] = []
    for change, following in zip_longest(way.rates, way.rates[1:]):
        if change.rate_bps:
            found.append(change)
        elif following is None:
            rate_bps = stop_bps(LONGEST_FRAME_NS, way.frame_bytes)
            found.append(replace(change, rate_bps=rate_bps))
        else:
            length_ns = following.at_ns - change.at_ns
            parts = range(0, length_ns, max(1, -(-length_ns // STOP_PARTS)))
            found += [
                plan.Change(
                    at_ns=change.at_ns + part_ns,
                    rate_bps=stop_bps(length_ns - part_ns, way.frame_bytes),
                    is_rest=part_ns > 0,
                )
                for part_ns in parts
            ]
    return tuple(found), None


def most_bps(way: Direction) -> int:
    """Return the highest rate that a link ever has, bit/s; 0 when it is not shaped."""
    changes, _ = rate_changes(way)
    return max([way.rate_bps or 0, *(change.rate_bps or 0 for change in changes)])


def least_bps(way: Direction) -> int:
    """Return the lowest rate that a link ever has, bit/s; 0 when it is not shaped."""
    changes, _ = rate_changes(way)
    return min([way.rate_bps or 0, *(change.rate_bps for change in changes if change.rate_bps)])


def most_delay_ns(way: Direction) -> int:
    """Return the longest delay that a link ever has, ns, without jitter."""
    return max([state.delay_ns for state in way.impairments])


def most_loss(way: Direction) -> float:
    """Return the highest probability of a random loss that a link ever has; 1 where it goes
    down.
    """
    return max([state.loss for state in way.impairments])


def is_steady(way: Direction) -> bool:
    """Whether a link is always the same, for every packet, but for its losses."""
    state = way.impairment
    varies = state.jitter_ns or state.reorder or state.duplicate
    return not (varies or way.rates or way.changes or way.trace)


def stop_bps(length_ns: int, frame: int = FRAME_BYTES) -> int:
    """Return the rate at which one full frame lasts as long as a stop, in whole bytes per
    second.
    """
    length_ns = min(max(length_ns, 1), LONGEST_FRAME_NS)
    return 8 * max(1, frame * NS // length_ns)


@lru_cache(256)
def _of_trace(trace: Trace, medium: bool) -> tuple[plan.Change, ...]:
    """Return the rates of a trace's bins, with equal neighbours merged.

    A bin of n opportunities has the rate n frames per bin. A stop lets one frame pass, by which the
    bins after it, including those of the next round, are reduced; not so of a medium.
    """
    chances = trace.chances if medium else _repaid(trace.chances)
    bins = []
    for number, count in enumerate(chances):
        begin_ns = number * trace.every_ns
        length_ns = min(begin_ns + trace.every_ns, trace.period_ns) - begin_ns
        bins.append((begin_ns, length_ns, count))
    changes: list[plan.Change] = []
    for is_stop, group in groupby(bins, key=lambda one: one[2] == 0):
        parts = list(group)
        if is_stop and medium:
            changes.append(plan.Change(at_ns=parts[0][0], rate_bps=LEAST_BPS))
            continue
        if is_stop:
            end_ns = parts[-1][0] + parts[-1][1]
            changes += [
                plan.Change(at_ns=begin_ns, rate_bps=stop_bps(end_ns - begin_ns), is_rest=part > 0)
                for part, (begin_ns, _, _) in enumerate(parts)
            ]
            continue
        for begin_ns, length_ns, count in parts:
            rate_bps = 8 * max(1, round(count * FRAME_BYTES * NS / length_ns))
            if not changes or changes[-1].rate_bps != rate_bps:
                changes.append(plan.Change(at_ns=begin_ns, rate_bps=rate_bps))
    return tuple(changes)


def _repaid(chances: tuple[int, ...]) -> list[int]:
    """Return the opportunities of each bin, less the frames that stops before it let pass."""
    left = list(chances)
    if not any(left):
        return left
    first = next(number for number, count in enumerate(left) if count)
    owed, stopped = 0, False
    for step in range(len(left)):
        number = (first + step) % len(left)
        if chances[number] == 0:
            owed += not stopped
            stopped = True
            continue
        stopped = False
        paid = min(owed, left[number] - 1)  # one opportunity stays: a bin that sends is not a stop
        left[number] -= paid
        owed -= paid
    left[first] -= min(owed, left[first] - 1)
    return left

"""A replay of drop-tail queues with packets that are alike: which of them it can have dropped.

A drop-tail queue drops a packet if, and only if, it does not fit. So for each instant it is known
how many of the packets that are alike can have been queued by then: not so many that the queue
holds more than its limit, and not so few that it drops a packet that has room. All numbers that are
possible so far are followed at once; there are few, as each drop says how full the queue is. Where
a queue did what no drop-tail queue can do, the explanation with the fewest faults is taken.

Packets of one instant may have come in any order, and others may have left before or after them:
every packet is judged by the order that is most favourable to the queue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from fairc.runtime.arrays import Int64s

from .pcap import Packets


@dataclass(frozen=True, slots=True)
class Candidates:
    """Packets that went in and packets that came out, of kinds within which all are alike.

    inputs, outputs: indices in their captures, in order of time. input_kinds, output_kinds: numbers
    of their kinds. time_ns: when each input came. low_ns, high_ns: between which times each output
    can have come in.
    """

    inputs: Int64s
    input_kinds: Int64s
    time_ns: Int64s
    outputs: Int64s
    output_kinds: Int64s
    low_ns: Int64s
    high_ns: Int64s


@dataclass(frozen=True, slots=True)
class DropTail:
    """A queue that drops exactly what does not fit.

    limit: in packets, or in bytes of frames if `in_bytes`. slack: how much more, or less, may seem
    to wait, as packets are captured before they are queued and after they have been sent.
    """

    limit: int
    in_bytes: bool
    slack: int

    def sizes(self, packets: Packets) -> Int64s:
        """Return what each packet takes of the limit, shape (packets,)."""
        return packets.frame_bytes if self.in_bytes else np.ones(len(packets), np.int64)


@dataclass(frozen=True, slots=True)
class _Instant:
    """Packets that came at one time, and what is known without those that are alike.

    here: the alike ones by kind. dropped: sizes of others that the queue dropped. after: what waits
    after the instant, if no alike packet is counted as queued. before: the same without what left
    at it.
    """

    time_ns: int
    here: Mapping[int, Sequence[int]]
    dropped: Sequence[int]
    after: int
    before: int


Faults = tuple[int, int]
"""How often a queue did what it cannot do; the first beyond its slack, the second at all."""


def replay(
    alike: Candidates, upstream: Packets, downstream: Packets, found: Int64s, queue: DropTail
) -> Int64s | None:
    """Return the input of each output, shape (outputs,); None if the packets do not pass in order.

    found: of the packets that are not alike, as in `Matching`.
    """
    if not len(alike.inputs):
        return None
    instants = _instants(alike, upstream, downstream, found, queue)
    latest = _latest(alike, instants)
    if latest is None:
        return None
    count = len(alike.outputs)
    kinds, low, high = (x.tolist() for x in (alike.output_kinds, alike.low_ns, alike.high_ns))
    sizes = queue.sizes(downstream)[alike.outputs].tolist()
    taken = [0, *accumulate(sizes)]
    size_of = dict(zip(kinds, sizes, strict=True))
    # Number of outputs whose inputs have come -> the fewest faults; for each instant, which number
    # led to it.
    ways: dict[int, Faults] = {0: (0, 0)}
    steps: list[dict[int, int]] = []
    for number, instant in enumerate(instants):
        following: dict[int, Faults] = {}
        origin: dict[int, int] = {}
        for begin, faults in ways.items():
            left = Counter({kind: len(rows) for kind, rows in instant.here.items()})
            at = begin
            while True:
                if at == count or latest[at] > number:  # the next one can still come later
                    drops = list(instant.dropped)
                    drops += [size_of[kind] for kind in left.elements()]
                    more = _faults(instant, taken[at], drops, queue)
                    total = faults[0] + more[0], faults[1] + more[1]
                    if at not in following or total < following[at]:
                        following[at], origin[at] = total, begin
                if at == count or not left[kinds[at]]:
                    break
                if not low[at] <= instant.time_ns <= high[at]:
                    break
                left[kinds[at]] -= 1
                at += 1
        least = min(gross for gross, _ in following.values())
        ways = {at: faults for at, faults in following.items() if faults[0] == least}
        steps.append(origin)
    pairs = np.full(count, -1, np.int64)
    end = count
    for instant, origin in zip(reversed(instants), reversed(steps), strict=True):
        begin = origin[end]
        rows = {kind: iter(inputs) for kind, inputs in instant.here.items()}
        for at in range(begin, end):
            pairs[at] = next(rows[kinds[at]])
        end = begin
    return pairs


def _faults(instant: _Instant, taken: int, drops: Sequence[int], queue: DropTail) -> Faults:
    """Count what the queue cannot do: hold more than its limit, drop what has room."""
    over = instant.after + taken - queue.limit
    rooms = [queue.limit - instant.before - taken - size for size in drops]
    gross = (over > queue.slack) + sum(room >= queue.slack for room in rooms)
    return gross, (over > 0) + sum(room >= 0 for room in rooms)


def _instants(
    alike: Candidates, upstream: Packets, downstream: Packets, found: Int64s, queue: DropTail
) -> list[_Instant]:
    """Return the instants at which packets came, from the first of the alike ones to the last."""
    known = found >= 0
    size, left_size = queue.sizes(upstream), queue.sizes(downstream)
    queued = np.concatenate(([0], np.cumsum(np.where(known, size, 0))))
    ours = np.zeros(len(downstream), np.bool_)
    ours[found[known]] = True
    ours[alike.outputs] = True
    gone = np.concatenate(([0], np.cumsum(np.where(ours, left_size, 0))))
    first, last = (int(alike.inputs[at]) for at in (0, -1))
    came_ns = upstream.time_ns
    times = np.unique(came_ns[first : last + 1])
    begins, ends = (np.searchsorted(came_ns, times, side) for side in ("left", "right"))
    leave, left = (np.searchsorted(downstream.time_ns, times, side) for side in ("left", "right"))
    after, before = queued[ends] - gone[left], queued[ends] - gone[leave]
    kind_of = dict(zip(alike.inputs.tolist(), alike.input_kinds.tolist(), strict=True))
    dropped = ~known
    dropped[alike.inputs] = False
    instants = []
    columns = (times, begins, ends, after, before)
    for time_ns, begin, end, waits, met in zip(*(c.tolist() for c in columns), strict=True):
        here: dict[int, list[int]] = {}
        for at in range(begin, end):
            if at in kind_of:
                here.setdefault(kind_of[at], []).append(at)
        gone_here = size[begin:end][dropped[begin:end]].tolist()
        instants.append(_Instant(time_ns, here, gone_here, waits, met))
    return instants


def _latest(alike: Candidates, instants: Sequence[_Instant]) -> list[int] | None:
    """Return the last instant at which each output can have come in; None if some cannot."""
    kinds, low, high = (x.tolist() for x in (alike.output_kinds, alike.low_ns, alike.high_ns))
    latest = [0] * len(kinds)
    at = len(kinds) - 1
    for number in range(len(instants) - 1, -1, -1):
        instant = instants[number]
        left = Counter({kind: len(rows) for kind, rows in instant.here.items()})
        while at >= 0 and left[kinds[at]] and low[at] <= instant.time_ns <= high[at]:
            left[kinds[at]] -= 1
            latest[at] = number
            at -= 1
    return latest if at < 0 else None

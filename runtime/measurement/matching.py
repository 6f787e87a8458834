"""Find each packet of one capture point again at the next one.

Most packets differ from all others and are found by their contents. Some are alike: the resets with
which a kernel answers late segments, or datagrams of one content. Where as many of them come out as
went in, the nth is the nth. Where some are missing, the others do not say which, but the order
does: each of them entered between its neighbours that are known. What is left to choose from in a
drop-tail queue is `replay`'s to decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairc.runtime.arrays import Bools, Int64s

from .pcap import Packets, absorb
from .replay import Candidates, DropTail, replay

# Fields that no router changes (it does change TTL, checksums and ECN bits). Together they identify
# a packet: a TCP retransmission has another IP id, and where ids repeat, sequence number or
# timestamps differ. Linux gives UDP datagrams that must not be fragmented the id 0, so their
# payload identifies them: QUIC encrypts every packet under its own packet number (RFC 9001, section
# 5.3).
_IDENTITY = (
    "source",
    "destination",
    "protocol",
    "ip_id",
    "fragment",
    "ip_bytes",
    "source_port",
    "destination_port",
    "sequence",
    "acknowledgement",
    "flags",
    "ts_value",
    "ts_echo",
    "payload_digest",
)
# What the packets of one flow in one direction have in common.
_FLOW = ("source", "destination", "protocol", "source_port", "destination_port")
_LINE = (*_FLOW, "translated")
"""What packets of one queue of a fair queue have in common: it sees the ports behind a NAT."""

ORDER_NS = 20_000
"""Packets captured this close together may be queued in a different order, where computing takes
time.

Seen on `vm`: of three packets within 5 us the first was dropped, after the two captured behind it.
"""
_ALWAYS, _NEVER = -(2**62), 2**62

Order = Literal["all", "flows", "mixed"]
"""What leaves in the order in which it came: all packets; those of each flow; not even these."""


@dataclass(frozen=True, slots=True)
class Matching:
    """Packets of one capture that were found again in another.

    found: shape (upstream,), index of the same packet downstream, or -1. pending: those not
    found that were still in transit when the capture ended. lost: the others that were not
    found. strangers: shape (downstream,), packets that were never seen upstream. certain: shape
    (downstream,), False where a packet may as well be another one that is like it.
    """

    found: Int64s
    pending: Bools
    lost: Bools
    strangers: Bools
    certain: Bools


def match(
    upstream: Packets,
    downstream: Packets,
    waiting: int,
    order: Order = "mixed",
    drop_tail: DropTail | None = None,
) -> Matching:
    """Match packets of two captures, each in order of time.

    waiting: how many packets were in transit between the two points when the capture ended. That
    many of the missing packets are pending and not lost. By `order`, those may be that came after
    the last one found, after the last one found of their flow, or any. Of these it is those for
    which a drop-tail queue had room, else the latest.
    order: in which they pass. drop_tail: the queue between the points, if it drops exactly what
    does not fit.
    """
    split = len(upstream)
    keys = _numbered(_IDENTITY, upstream, downstream)
    up, down = keys[:split], keys[split:]
    kinds = int(keys.max(initial=-1)) + 1
    went, came = np.bincount(up, minlength=kinds), np.bincount(down, minlength=kinds)
    source, target = _in_turn(up, down, (went > 1) | (came > 1))
    open_kinds = (went != came) & (went > 0) & (came > 0)
    # A packet cannot arrive before it left.
    open_kinds[up[source[downstream.time_ns[target] < upstream.time_ns[source]]]] = True
    known = ~open_kinds[up[source]]
    found = np.full(split, -1, np.int64)
    found[source[known]] = target[known]
    certain = np.ones(len(downstream), np.bool_)
    if open_kinds.any():
        inputs = np.flatnonzero(open_kinds[up])
        waits = _still_waiting(up[inputs], np.maximum(went - came, 0), waiting)
        if order == "all" and known.any():  # what came before one that has left waits no more
            left_ns = upstream.time_ns[np.flatnonzero(found >= 0).max(initial=0)]
            waits &= upstream.time_ns[inputs] > left_ns - ORDER_NS
        inputs = inputs[~waits]
        outputs = np.flatnonzero(open_kinds[down])
        low_ns, high_ns = _windows(upstream, downstream, found, outputs, order)
        alike = Candidates(
            inputs, up[inputs], upstream.time_ns[inputs], outputs, down[outputs], low_ns, high_ns
        )
        pairs = None
        if drop_tail is not None and order == "all":
            pairs = replay(alike, upstream, downstream, found, drop_tail)
        certain[outputs] = pairs is not None
        if pairs is None:
            pairs, certain[outputs] = _by_kind(alike)
        found[pairs[pairs >= 0]] = outputs[pairs >= 0]
        # What contradicts the order is still the same packet.
        inputs, outputs = inputs[found[inputs] < 0], outputs[pairs < 0]
        every = np.full(len(outputs), _ALWAYS), downstream.time_ns[outputs]
        alike = Candidates(
            inputs, up[inputs], upstream.time_ns[inputs], outputs, down[outputs], *every
        )
        pairs, _ = _by_kind(alike)
        found[pairs[pairs >= 0]] = outputs[pairs >= 0]
    strangers = np.ones(len(downstream), np.bool_)
    strangers[found[found >= 0]] = False
    missing = found < 0
    after = np.flatnonzero(missing & _behind_all_found(upstream, found, order))
    pending = np.zeros(split, np.bool_)
    pending[after[_pending(after, upstream, downstream, found, waiting, drop_tail)]] = True
    return Matching(found, pending, missing & ~pending, strangers, certain)


def _behind_all_found(upstream: Packets, found: Int64s, order: Order) -> Bools:
    """Return which packets came after the last one found, of all or of their own flow, shape
    (upstream,). Where nothing keeps its order: all, as any may have been overtaken.
    """
    if order == "mixed":
        return np.ones(len(upstream), np.bool_)
    line = np.zeros(len(upstream), np.int64)
    if order == "flows":
        line = _numbered(_LINE, upstream)
    seen = np.flatnonzero(found >= 0)
    last = np.full(int(line.max(initial=-1)) + 1, -1, np.int64)
    np.maximum.at(last, line[seen], seen)
    return np.asarray(np.arange(len(upstream)) > last[line], np.bool_)


def _pending(
    after: Int64s,
    upstream: Packets,
    downstream: Packets,
    found: Int64s,
    waiting: int,
    drop_tail: DropTail | None,
) -> Bools:
    """Return which of the missing packets that may wait are pending, shape (after,)."""
    latest = np.arange(len(after)) >= len(after) - waiting
    if drop_tail is None or len(after) <= waiting:
        return latest
    ours = np.sort(found[found >= 0])
    sent = np.concatenate(([0], np.cumsum(drop_tail.sizes(downstream)[ours])))
    gone = np.searchsorted(downstream.time_ns[ours], upstream.time_ns[after])
    backlog = sent[-1] - sent[gone]  # all that left had come before the first of these
    sizes = drop_tail.sizes(upstream)[after].tolist()
    for spare in (0, drop_tail.slack, -drop_tail.slack):
        taken, fits = 0, np.zeros(len(after), np.bool_)
        for number, (ahead, size) in enumerate(zip(backlog.tolist(), sizes, strict=True)):
            fits[number] = ahead + taken + size <= drop_tail.limit + spare
            taken += size * bool(fits[number])
        if fits.sum() == waiting:
            return fits
    return latest


def _still_waiting(kinds: Int64s, surplus: Int64s, waiting: int) -> Bools:
    """Return which packets may be waiting at the end: the last of each kind that did not come
    out.
    """
    order, rank = _ranked(kinds[::-1])
    from_last = np.empty(len(kinds), np.int64)
    from_last[order] = rank
    return np.asarray(from_last[::-1] < np.minimum(surplus[kinds], waiting), np.bool_)


def _windows(
    upstream: Packets, downstream: Packets, found: Int64s, outputs: Int64s, order: Order
) -> tuple[Int64s, Int64s]:
    """Return between which times each output may have come in, by its neighbours that are known,
    ns.
    """
    low, high = np.full(len(outputs), _ALWAYS), downstream.time_ns[outputs]
    if order == "mixed":
        return low, high
    seen = np.flatnonzero(found >= 0)
    line = np.zeros(len(downstream), np.int64)
    if order == "flows":
        line = _numbered(_LINE, downstream)
    came = np.full(len(downstream), -1, np.int64)
    came[found[seen]] = seen
    ranked, rank = _ranked(line)  # one line behind the other
    place = np.empty(len(line), np.int64)
    place[ranked] = np.arange(len(line))
    begins = np.arange(len(line)) - rank
    nearest = np.where(came[ranked] >= 0, np.arange(len(line)), -1)
    ahead = np.maximum.accumulate(nearest)
    ahead = np.where(ahead >= begins, ahead, -1)[place[outputs]]
    behind = np.where(nearest < 0, len(line), nearest)
    behind = np.append(np.minimum.accumulate(behind[::-1])[::-1], len(line))[place[outputs]]
    padded = np.append(begins, -1)
    behind = np.where(padded[behind] == begins[place[outputs]], behind, -1)
    times = np.append(upstream.time_ns, 0)[came[ranked]]
    before = np.where(ahead >= 0, times[ahead], _ALWAYS)
    after = np.where(behind >= 0, times[behind], _NEVER)
    crossed = (ahead >= 0) & (behind >= 0) & (after < before)
    before, after = np.where(crossed, after, before), np.where(crossed, before, after)
    low = np.where(ahead >= 0, before - ORDER_NS, low)
    return low, np.where(behind >= 0, np.minimum(after + ORDER_NS, high), high)


def _by_kind(alike: Candidates) -> tuple[Int64s, Bools]:
    """Choose an input for each output, one kind of packets at a time.

    Of those that went in, the latest that are possible came out: then no packet has waited longer
    than it must have. Of more that come out than went in, the first are the originals. Returns the
    inputs, shape (outputs,), -1 for none, and for which of them there is no other choice.
    """
    pairs, certain = (
        np.full(len(alike.outputs), -1, np.int64),
        np.zeros(len(alike.outputs), np.bool_),
    )
    for kind in np.intersect1d(alike.input_kinds, alike.output_kinds):
        ours = np.flatnonzero(alike.input_kinds == kind)
        theirs = np.flatnonzero(alike.output_kinds == kind)
        times, low, high = alike.time_ns[ours], alike.low_ns[theirs], alike.high_ns[theirs]
        earliest = _first_fits(times, low, high)
        latest = _first_fits(-times[::-1], -high[::-1], -low[::-1])[::-1]
        latest = np.where(latest >= 0, len(ours) - 1 - latest, -1)
        chosen = latest if len(ours) > len(theirs) else earliest
        pairs[theirs] = np.where(chosen >= 0, alike.inputs[ours[chosen]], -1)
        certain[theirs] = earliest == latest
    return pairs, certain


def _first_fits(times: Int64s, low: Int64s, high: Int64s) -> Int64s:
    """Return for each window the first of the times that is left for it, -1 if there is none."""
    found = np.full(len(low), -1, np.int64)
    rows, at = times.tolist(), 0
    for number, (begin, end) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        while at < len(rows) and rows[at] < begin:
            at += 1
        if at < len(rows) and rows[at] <= end:
            found[number] = at
            at += 1
    return found


def _numbered(fields: tuple[str, ...], *captures: Packets) -> Int64s:
    """Number the distinct values of some fields in captures, shape (packets of all captures,)."""
    digest = np.zeros(sum(map(len, captures)), np.uint64)
    for name in fields:  # one at a time: a long cell has millions of packets
        row = np.concatenate([getattr(packets, name) for packets in captures])
        digest = absorb(digest, row.astype(np.uint64))
    numbers: Int64s = np.unique(digest, return_inverse=True)[1].astype(np.int64)
    return numbers


def lines(packets: Packets, order: Order) -> Iterator[Int64s]:
    """Yield the indices of the packets of each line, in order; none if nothing stays in order."""
    if order == "all":
        yield np.arange(len(packets))
    elif order == "flows":
        number = _numbered(_LINE, packets)
        ranked, _ = _ranked(number)
        yield from np.split(ranked, np.flatnonzero(np.diff(number[ranked])) + 1)


def _in_turn(up: Int64s, down: Int64s, repeated: Bools) -> tuple[Int64s, Int64s]:
    """Return pairs of equal keys: the nth of one kind upstream and the nth downstream.

    repeated: shape (kinds,), whether several packets at one of the two points are of a kind.
    """
    place = np.full(len(repeated), -1, np.int64)
    place[down] = np.arange(len(down))
    ours = np.flatnonzero(~repeated[up] & (place[up] >= 0))
    theirs = place[up[ours]]
    if not repeated.any():
        return ours, theirs
    went, came = np.flatnonzero(repeated[up]), np.flatnonzero(repeated[down])
    order, rank = _ranked(up[went])
    other_order, other_rank = _ranked(down[came])
    went, came = went[order], came[other_order]
    _, i, j = np.intersect1d(
        _pair(up[went], rank),
        _pair(down[came], other_rank),
        assume_unique=True,
        return_indices=True,
    )
    return np.concatenate((ours, went[i])), np.concatenate((theirs, came[j]))


def _ranked(keys: Int64s) -> tuple[Int64s, Int64s]:
    """Return an order that groups equal keys, and the rank of each key within its group."""
    order = np.argsort(keys, kind="stable").astype(np.int64)
    ordered = keys[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    sizes = np.diff(starts, append=len(ordered))
    rank = np.arange(len(ordered)) - np.repeat(starts, sizes)
    return order, rank.astype(np.int64)


def _pair(keys: Int64s, rank: Int64s) -> Int64s:
    return keys << 32 | rank

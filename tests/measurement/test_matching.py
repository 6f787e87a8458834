"""Packets that are alike, through every queue: which came out, and what the verdict on the queue
is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
from frames import pcap
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from madeartefacts import Made
from madecell import EPOCH_NS, FULL, MS
from referencequeues import (
    Arrival,
    CoDel,
    DualPi2,
    Fair,
    Kind,
    Leaky,
    Narrow,
    Pie,
    Queue,
    Red,
    Roomy,
    Sfq,
    Shuffled,
    through,
)

from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.matching import Order, match
from fairc.runtime.measurement.paths import Paths
from fairc.runtime.measurement.pcap import Packets, parse
from fairc.runtime.measurement.queues import assemble
from fairc.runtime.measurement.replay import DropTail
from fairc.runtime.validity.buffers import buffer
from fairc.runtime.validity.captures import captures
from fairc.runtime.validity.finding import Check
from fairc.runtime.validity.loss import other_drops, random_loss
from fairc.runtime.validity.order import copies, queue_order

CHECKS: tuple[Check, ...] = (buffer, queue_order, captures, copies, random_loss, other_drops)
"""The checks of a queue, but for that of its service."""

KINDS: tuple[Kind, ...] = ("data", "ack", "reset", "datagram")
# Often one instant for several packets, often the instant at which a full frame has been sent.
GAPS_NS = (0, 0, 0, 1_000, 432_000, 1_000_000, FULL * 8_000, 30 * MS)


@st.composite
def mixes(draw: st.DrawFn, kinds: Sequence[Kind] = KINDS) -> list[Arrival]:
    """Data, ACKs, resets and datagrams of two servers, in order of time."""
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from(GAPS_NS),
                st.integers(0, 1),
                st.sampled_from(kinds),
                st.integers(1, 12),
            ),
            min_size=10,
            max_size=40,
        )
    )
    found, t_ns = [], 50 * MS
    for gap_ns, side, kind, count in rows:
        t_ns += gap_ns
        spaced = draw(st.sampled_from((0, 0, 500_000, 3_000_000)))
        for _ in range(count):
            found.append(Arrival(t_ns, side, kind))
            t_ns += spaced
    return found


@cache
def _empty() -> Measurement:
    with tempfile.TemporaryDirectory() as folder:
        made = through(Queue(8), [])
        return load(made.cell, made.write(Path(folder)))


def measured(made: Made) -> Measurement:
    """Measure a cell without writing its files, which takes most of the time."""
    empty, cell = _empty(), made.cell
    parsed = {c.name: parse(pcap(made.frames(c))) for c in cell.captures}
    place = cell.flows[0].bottleneck
    drops = sum(p.left_ns is None for p in made.packets)
    after = dict(empty.qdiscs_after)
    after[place] = tuple(replace(counters, drops=drops) for counters in after[place])
    (queue,) = assemble(parsed, Paths(cell), EPOCH_NS, after, empty.histories)
    queue = replace(queue, interface=Paths(cell).interfaces[place])
    flows = tuple(
        replace(flow, passages=(replace(flow.passages[0], queue=queue),)) for flow in empty.flows
    )
    return replace(empty, cell=cell, queues=(queue,), flows=flows, qdiscs_after=after)


def reasons(measurement: Measurement) -> list[str]:
    """Return what the checks of a queue find."""
    return [f.reason for check in CHECKS for f in check(measurement)]


MANY = settings(
    max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def queues(random: Random) -> dict[str, Queue]:
    return {
        "packets": Queue(8),
        "bytes": Queue(8_000, in_bytes=True),
        "red": Red(8_000, in_bytes=True, dice=random),
        "pie": Pie(8, dice=random),
        "codel": CoDel(8, dice=random),
        "fair": Fair(8, dice=random),
        "sfq": Sfq(8, dice=random),
        "dualpi2": DualPi2(8, dice=random),
    }


@pytest.mark.parametrize("name", list(queues(Random(1))))
@MANY
@given(arrivals=mixes(), seed=st.integers(0, 2**32))
def test_a_correct_queue_is_valid(name: str, arrivals: list[Arrival], seed: int) -> None:
    """Whatever comes, and in whatever order packets of one instant are queued and sent."""
    random = Random(seed)
    made = through(queues(random)[name], arrivals, lambda: random.random() < 0.5)
    measurement = measured(made)
    assert reasons(measurement) == []
    (queue,) = measurement.queues
    assert not queue.through.strangers.any()
    assert queue.through.lost.sum() == sum(p.left_ns is None for p in made.packets)


@pytest.mark.parametrize("name", ["packets", "bytes"])
@MANY
@given(arrivals=mixes(("data", "ack")), share=st.floats(0.1, 0.9))
def test_what_waits_in_a_full_queue_when_the_capture_ends_is_not_lost(
    name: str, arrivals: list[Arrival], share: float
) -> None:
    """Some of the last packets were dropped, before and between those that still wait."""
    # The order in which packets of several interfaces came at one instant is not known.
    arrivals = [replace(arrival, side=0) for arrival in arrivals]
    (queue,) = measured(through(queues(Random(1))[name], arrivals)).queues
    came_ns, went_ns = queue.entered.time_ns, queue.left.time_ns
    end_ns = came_ns[int(share * len(came_ns))]
    entered = queue.entered.select(came_ns <= end_ns)
    left = queue.left.select(went_ns <= end_ns)
    found = queue.through.found[: len(entered)]
    waiting = found >= len(left)
    assume(not np.isin(entered.time_ns[waiting | (found < 0)], went_ns).any())
    limit = DropTail(8_000, True, FULL) if name == "bytes" else DropTail(8, False, 1)
    cut = match(entered, left, int(waiting.sum()), "all", limit)
    assert cut.pending.tolist() == waiting.tolist()
    assert cut.lost.tolist() == (found < 0).tolist()


@pytest.mark.parametrize(("name", "order"), [("fair", "flows"), ("dualpi2", "mixed")])
@MANY
@given(arrivals=mixes(("data", "ack")), share=st.floats(0.1, 0.9), seed=st.integers(0, 2**32))
def test_what_others_overtake_in_a_queue_that_keeps_no_order_is_not_lost(
    name: str, order: Order, arrivals: list[Arrival], share: float, seed: int
) -> None:
    """Packets still wait when the capture ends, and others that came later have left."""
    queue = queues(Random(seed))[name]
    queue.limit = 10_000
    (record,) = measured(through(queue, arrivals)).queues
    assert not record.through.lost.any()
    came_ns, went_ns = record.entered.time_ns, record.left.time_ns
    end_ns = came_ns[int(share * len(came_ns))]
    entered = record.entered.select(came_ns <= end_ns)
    left = record.left.select(went_ns <= end_ns)
    waiting = record.through.found[: len(entered)] >= len(left)
    cut = match(entered, left, int(waiting.sum()), order)
    assert cut.pending.tolist() == waiting.tolist()
    assert not cut.lost.any()


def test_a_copy_that_others_have_passed_is_lost_and_does_not_wait() -> None:
    """A server sends two equal SYN-ACKs long before the end. The first was dropped, as the second
    one's place in the order shows, although as many packets wait at the end.
    """

    def packets(*numbers: tuple[int, int]) -> Packets:
        columns = {each.name: np.zeros(len(numbers), np.int64) for each in fields(Packets)}
        times_ms, columns["ip_id"] = np.array(numbers, np.int64).T
        columns |= {"time_ns": times_ms * MS, "frame_bytes": columns["ip_id"] * 0 + 74}
        return Packets(**columns)

    entered = packets((0, 1), (1, 7), (2, 2), (3, 7), (4, 3), (5, 4), (6, 5))
    left = packets((10, 1), (11, 2), (12, 7), (13, 3))
    found = match(entered, left, 2, "all")
    assert found.found.tolist() == [0, -1, 1, 2, 3, -1, -1]
    assert np.flatnonzero(found.lost).tolist() == [1]
    assert np.flatnonzero(found.pending).tolist() == [5, 6]


@pytest.mark.parametrize("name", list(queues(Random(1))))
@MANY
@given(arrivals=mixes(), seed=st.integers(0, 2**32))
def test_what_is_certain_is_so(name: str, arrivals: list[Arrival], seed: int) -> None:
    """No delay is reported that may be another packet's; a drop-tail queue leaves nothing open."""
    spread = [Arrival(a.t_ns + 30_001 * n, a.side, a.kind) for n, a in enumerate(arrivals)]
    made = through(queues(Random(seed))[name], spread)
    (queue,) = measured(made).queues
    left = sorted((p for p in made.packets if p.left_ns is not None), key=lambda p: p.left_ns or 0)
    true_s = np.array([((p.left_ns or 0) - p.sent.entered_ns) * 1e-9 for p in left])
    certain = np.isfinite(queue.delay_s)
    assert queue.delay_s[certain] == pytest.approx(true_s[certain], abs=1e-8)
    if name in ("packets", "bytes"):
        assert certain.all()
        dropped_s = [p.sent.entered_ns * 1e-9 for p in made.packets if p.left_ns is None]
        assert queue.drops_s == pytest.approx(dropped_s, abs=1e-8)
    else:
        # The best guess never lets a packet wait for longer than it did.
        waited_s = queue.left_s - queue.arrival_s
        assert waited_s.sum() <= true_s.sum() + 1e-6


def drops_with_room(made: Made, limit: int) -> int:
    """Count the data that a queue dropped with room for two more, whatever came before it at that
    time.
    """
    count = 0
    for packet in made.packets:
        t_ns = packet.sent.entered_ns
        if packet.left_ns is None:
            kept = [p for p in made.packets if p.left_ns is not None]
            came = sum(p.sent.entered_ns <= t_ns + 20_000 for p in kept)
            gone = sum((p.left_ns or 0) < t_ns for p in kept)
            count += came - gone + 2 <= limit
    return count


def most_waiting(made: Made) -> int:
    """Return the most packets that wait after an instant."""
    kept = [p for p in made.packets if p.left_ns is not None]
    return max(
        (
            sum(p.sent.entered_ns <= t and (p.left_ns or 0) > t for p in kept)
            for t in {p.sent.entered_ns for p in kept}
        ),
        default=0,
    )


ALL_DIFFER: tuple[Kind, ...] = ("data", "ack")


@MANY
@given(arrivals=mixes(ALL_DIFFER), seed=st.integers(0, 2**32))
def test_a_queue_that_drops_what_has_room_is_invalid(arrivals: list[Arrival], seed: int) -> None:
    made = through(Leaky(8, dice=Random(seed)), arrivals)
    wrong = drops_with_room(made, 8)
    assume(wrong)
    (reason,) = reasons(measured(made))
    assert f"dropped {wrong} packets that had room" in reason


@MANY
@given(arrivals=mixes(ALL_DIFFER))
def test_a_queue_that_holds_more_than_its_limit_is_invalid(arrivals: list[Arrival]) -> None:
    made = through(Roomy(8), arrivals)
    most = most_waiting(made)
    assume(most > 9)
    assert f"{most} packets waited at" in "\n".join(reasons(measured(made)))


@MANY
@given(arrivals=mixes(ALL_DIFFER))
def test_a_queue_that_holds_less_than_its_limit_is_invalid(arrivals: list[Arrival]) -> None:
    made = through(Narrow(16), arrivals)
    wrong = drops_with_room(made, 16)
    assume(wrong)
    (reason,) = reasons(measured(made))
    assert f"dropped {wrong} packets that had room" in reason


@pytest.mark.parametrize("kind", [Shuffled, DualPi2])
@MANY
@given(arrivals=mixes(ALL_DIFFER), seed=st.integers(0, 2**32))
def test_a_fifo_that_reorders_is_invalid(
    kind: type[Queue], arrivals: list[Arrival], seed: int
) -> None:
    made = through(kind(8, dice=Random(seed)), arrivals)
    made.cell = through(Queue(8), []).cell
    sent = sorted((p for p in made.packets if p.left_ns is not None), key=lambda p: p.left_ns or 0)
    came_ns = [p.sent.entered_ns for p in sent]
    wrong = sum(max(came_ns[:n]) - t_ns > 20_000 for n, t_ns in enumerate(came_ns) if n)
    assume(wrong)
    assert f"{wrong} of {len(sent)} frames left r1/r1-eth2 after frames" in "\n".join(
        reasons(measured(made))
    )


@pytest.mark.parametrize("faulty", [Leaky, Roomy, Narrow, Shuffled])
def test_a_faulty_queue_is_invalid_amid_packets_that_are_alike(faulty: type[Queue]) -> None:
    """No choice among the alike packets explains what a queue does wrong all the time."""
    dice = Random(3)
    arrivals = [
        Arrival(50 * MS + n * 3_000_003, n % 2, dice.choice(KINDS)) for n in range(400)
    ]  # 1.25 times what the link carries
    made = through(faulty(16, dice=dice), arrivals)
    assert reasons(measured(made))
    assert reasons(measured(through(Queue(16), arrivals))) == []

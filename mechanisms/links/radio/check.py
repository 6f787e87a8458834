"""Radio links: aggregates, slots and repairs are those of the reference models, and in force as
planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairc.cell.links import Impairment
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.changes import NS, History
from fairc.runtime.measurement.qdisc import Counters
from fairc.runtime.measurement.queues import QueueRecord
from fairc.runtime.validity.expected_losses import LossCount, unexplained
from fairc.runtime.validity.finding import Finding, invalid, or_busy, see

from .cell import Arq, RadioMedium
from .record import NEAR_NS

MOST_DIFFERENT = 1e-3
"""Share of packets that may leave otherwise than the model says before the cell is invalid: those
that come in the very nanosecond in which an aggregate closes.
"""
NEAR_S = NEAR_NS * NS
CALLS_IN_A_ROW = 3
"""How many system calls may hold up a packet, one after the other: up to two were seen."""


def check(measurement: Measurement) -> Iterator[Finding]:
    """Yield what media and repairs did otherwise than planned."""
    yield from media(measurement)
    yield from repairs(measurement)


def media(measurement: Measurement) -> Iterator[Finding]:
    """Rules 3, 20: packets leave a medium when the reference model has them leave, given when they
    came; where their coming is not captured, slots are those of the plan.
    """
    for queue in measurement.queues:
        shaper = queue.interface.shaper
        if shaper is None or not isinstance(shaper.medium, RadioMedium):
            continue
        yield from _in_force(measurement, queue)
        sent = queue.aggregates
        # A system call that takes time holds up what the kernel does meanwhile.
        near_ns = NEAR_NS + (measurement.cell.syscall_cost_ns or 0)
        off = _off_slots(queue, near_ns) if sent is None else _off(queue, near_ns)
        wrong = int(off.sum())
        late_s = 0.0 if sent is None else _typical_s(queue)
        grave = wrong > MOST_DIFFERENT * len(off)
        if not grave and late_s > NEAR_S:
            yield invalid(
                f"half of all aggregates left {queue.name} {late_s * 1e6:.3g} us or more from when"
                f" they should have been sent: another medium was in force"
                f" ({see('qdisc-after.json')}){or_busy(measurement)}"
            )
        elif wrong:
            yield Finding(
                "invalid" if grave else "flagged",
                f"{wrong} of {len(off)} packets left {queue.name} at other times than their"
                f" aggregates should have been sent: another medium was in force"
                f" ({see('qdisc-after.json')}){or_busy(measurement)}",
            )


def _typical_s(queue: QueueRecord) -> float:
    """Return the median distance of aggregates from their times, s, where the rate does not
    change.
    """
    sent = queue.aggregates
    assert sent is not None
    if any(change.rate_bps is not None for _, change in queue.history.done) or not len(queue.left):
        return 0.0
    first = np.flatnonzero(np.diff(sent.number, prepend=-1))
    off_ns = queue.left.time_ns[first] - queue.epoch_ns - sent.end_ns[first]
    return float(np.median(np.abs(off_ns))) * NS


def _off(queue: QueueRecord, near_ns: int) -> NDArray[np.bool_]:
    """Return which packets did not leave when they should, within near_ns.

    Where the rate changed meanwhile, the change may have come at any time from its begin to its
    end, and bits that were sent in between at the one rate take longer at the other. How an
    aggregate was made that began so close to a change is not known.
    """
    sent, history = queue.aggregates, queue.history
    assert sent is not None
    left_ns = queue.left.time_ns - queue.epoch_ns
    allowed_ns = np.zeros(len(left_ns))
    taken_s = sent.taken_ns.astype(np.float64) * NS
    for done, change in history.done:
        if change.rate_bps is None:
            continue
        end_s = sent.end_ns * NS
        during = (taken_s <= done.end_s + NEAR_S) & (end_s >= done.begin_s - NEAR_S)
        before, after = history.rate_bps(np.array([done.begin_s - NEAR_S, done.end_s]))
        span_ns = (done.end_s - done.begin_s) / NS
        allowed_ns[during] += span_ns * max(1.0, float(before / after))
    off_ns = left_ns - sent.end_ns
    wrong = np.abs(off_ns) > allowed_ns + near_ns
    return np.asarray(wrong & history.settled(taken_s), np.bool_)


def _off_slots(queue: QueueRecord, near_ns: int) -> NDArray[np.bool_]:
    """Return which packets left otherwise than at the end of an aggregate that began with a
    slot, within near_ns, of those whose coming was not seen.
    """
    shaper, history = queue.interface.shaper, queue.history
    assert shaper is not None and isinstance(shaper.medium, RadioMedium)
    every = shaper.medium.every
    if every is None or history.done or shaper.medium.random or not len(queue.left):
        return np.zeros(0, np.bool_)
    left_ns = queue.left.time_ns - queue.epoch_ns
    first = np.flatnonzero(np.diff(left_ns, prepend=left_ns[0] - 10 * NEAR_NS) > NEAR_NS)
    size = np.add.reduceat(queue.left.frame_bytes, first)
    begin_ns = left_ns[first] - size * 10**9 // (shaper.rate_bps // 8)
    period_ns = shaper.medium.drawn_ns(every, 0)
    off_ns = (begin_ns + period_ns // 2) % period_ns - period_ns // 2
    return np.asarray(np.abs(off_ns) > near_ns, np.bool_)


def _in_force(measurement: Measurement, queue: QueueRecord) -> Iterator[Finding]:
    """Compare what the kernel has with the plan, and what it kept out with the model."""
    shaper, place = queue.interface.shaper, queue.place
    assert shaper is not None and isinstance(shaper.medium, RadioMedium)
    before = measurement.qdiscs_before.get(place, ())
    after = measurement.qdiscs_after.get(place, ())
    wanted = shaper.medium.in_force(
        shaper.rate_bps, queue.interface.frame_bytes, measurement.ending.epoch_ns
    )
    there = dict(before[0].entry.get("options", {})) if before else {}
    if there != wanted:
        yield invalid(
            f"the medium of {queue.name} has {_differing(there, wanted)}: the kernel does not take"
            f" it as given; {see('qdisc-before.json')}"
        )
    counted = _thinned(after[:1]) - _thinned(before[:1])
    thinned = 0 if queue.kept_out is None else len(queue.kept_out)
    if not queue.blind and counted != thinned:
        yield invalid(
            f"{queue.name} kept {counted} acknowledgements out, and by their contents"
            f" {thinned}: they came in another order than was captured, or a capture is"
            f" incomplete; {see('qdisc-after.json')}"
        )


def _thinned(counters: Sequence[Counters]) -> int:
    return sum(each.entry.get("thinned", 0) for each in counters)


def _differing(there: Mapping[str, Any], wanted: Mapping[str, object]) -> str:
    names = [name for name in {**wanted, **there} if there.get(name) != wanted.get(name)]
    return "; ".join(f"{name} {there.get(name)}, not {wanted.get(name)}" for name in names)


@dataclass(frozen=True, slots=True)
class RepairTest:
    """Packets behind a link that repairs losses: transmissions that are known to have been tried
    and to have failed, and packets at times that no number of tries explains.

    tried, failed: each transmission fails independently; left out are those of packets that may
    have waited for another one instead. wrong: of `packets`.
    """

    tried: int
    failed: int
    wrong: int
    packets: int


def tries(
    repair: Arq,
    sent_s: Floats,
    repaired_s: Floats,
    late_s: float = 0.0,
    from_s: float = -np.inf,
) -> RepairTest:
    """Return what packets show of the transmissions behind them, in the order of sending.

    repaired_s: when each got through, its delay taken off; NaN: it was lost. late_s: how much later
    than it was seen a packet may have been sent: its host's processing. from_s: those that were
    sent until then may have waited for others that are not among them: they do not count, and hold
    back those behind.

    A packet gets through k waits after it was sent, k being the number of its lost transmissions,
    or with the one ahead of it, if that is later. One that is given up counts as one that gets
    through with its last try. Whether a packet may be hidden behind the one ahead depends on the
    past alone, so the other transmissions still fail independently of each other.
    """
    wait_s = repair.wait_ns * NS
    lost = np.isnan(repaired_s)
    ends_s = np.where(lost, sent_s + repair.tries * wait_s, repaired_s)
    ahead_s = np.full(len(sent_s), -np.inf)
    if repair.in_order and len(sent_s):
        ahead_s[1:] = np.maximum.accumulate(ends_s)[:-1]
    behind_s = np.maximum(ahead_s - sent_s, -1.0)
    number = np.floor((ends_s - sent_s + NEAR_S) / wait_s).astype(np.int64)
    exact = ends_s - sent_s - number * wait_s <= NEAR_S + late_s
    after_s = ends_s - ahead_s  # one that was given up has no time of its own
    held = ~lost & (after_s >= -NEAR_S) & (after_s <= NEAR_S + late_s) & (behind_s > NEAR_S)
    fits = (
        exact
        & (number >= 0)
        & (number <= repair.tries)
        & (behind_s <= number * wait_s + NEAR_S + late_s)
    )
    counted = sent_s > from_s
    wrong = counted & ~lost & ~held & ~fits
    # So many failures are hidden: as many as end before the packet ahead gets through.
    until_s = behind_s + NEAR_S
    hidden = np.where(behind_s > NEAR_S, np.floor(until_s / wait_s) + 1, 0).astype(np.int64)
    failures = np.where(lost, repair.tries + 1, number)
    # Of what is seen beyond that, the last transmission got through, but for a lost packet.
    seen = counted & ~held & ~wrong & (failures >= hidden)
    failed = np.where(seen, failures - hidden, 0)
    tried = np.where(seen, failed + ~lost, 0)
    return RepairTest(*(int(each.sum()) for each in (tried, failed, wrong, counted)))


def repairs(measurement: Measurement) -> Iterator[Finding]:
    """Rules 12, 20: behind a link that repairs losses packets come a whole number of waits later,
    or with the one ahead, and as many transmissions fail as the plan's probability explains.
    """
    stages = [stage for queue in measurement.queues for stage in _stages(measurement, queue)]
    tests = sum(0 < planned.loss < 1 for _, planned, _ in stages)
    for queue in measurement.queues:
        place = measurement.paths.delivery(queue.place)
        planned = measurement.paths.interfaces[place].impairment if place else None
        if place is not None and planned is not None and isinstance(planned.repair, Arq):
            yield from _arq_in_force(measurement, place, planned)
    for queue, planned, found in stages:
        if found.wrong > MOST_DIFFERENT * found.packets:
            yield invalid(
                f"behind {queue.name} {found.wrong} of {found.packets} packets came at times"
                f" that no number of repetitions explains: the hop has another delay, or"
                f" another wait between them; {see('qdisc-after.json')}"
            )
        if not LossCount(planned.loss, found.tried, found.failed).plausible_among(tests):
            yield invalid(
                f"behind {queue.name} {found.failed} of {found.tried} transmissions were lost;"
                f" {unexplained(planned.loss)}: the hop has another"
                f" one; {see('qdisc-after.json')}"
            )


def _stages(
    measurement: Measurement, queue: QueueRecord
) -> Iterator[tuple[QueueRecord, Impairment, RepairTest]]:
    """Yield what packets show behind a queue of each impairment that repairs losses."""
    place = measurement.paths.delivery(queue.place)
    history = measurement.histories[place] if place else None
    if history is None:
        return
    for number, planned in history.impairments():
        if planned is not None and isinstance(planned.repair, Arq):
            # System calls that take time hold up a packet here, and behind the hop.
            late_s = queue.late_s + CALLS_IN_A_ROW * (measurement.cell.syscall_cost_ns or 0) * NS
            found = _stage(queue, history, number, planned, planned.repair, late_s)
            if found is not None:
                yield queue, planned, found


def _stage(
    queue: QueueRecord,
    history: History,
    number: int,
    planned: Impairment,
    repair: Arq,
    late_s: float,
) -> RepairTest | None:
    """Return what packets show that were sent while one impairment was in force; those do not count
    that came before what had been sent earlier can have arrived, or had been given up.

    late_s: how much later than they are seen to leave packets may be sent, or come.
    """
    latest_s = -np.inf
    counted = ~queue.behind.pending & (history.stage(queue.sent_s) == number)
    counted &= queue.known_at(history)
    if number:
        before = history.stage(queue.sent_s) < number
        arrived = before & (queue.behind.found >= 0)
        latest_s = queue.seconds(queue.delivered)[queue.behind.found[arrived]].max(initial=-np.inf)
        if repair.in_order:
            given_up_s = queue.sent_s[before & queue.behind.lost].max(initial=-np.inf)
            latest_s = max(latest_s, given_up_s + repair.tries * repair.wait_ns * NS)
    which = np.flatnonzero(counted)
    if not (queue.sent_s[which] > latest_s).any():
        return None
    found = queue.behind.found[which]
    delivered_s = queue.seconds(queue.delivered)
    repaired_s = np.where(found >= 0, delivered_s[found], np.nan) - planned.delay_ns * NS
    return tries(repair, queue.sent_s[which], repaired_s, late_s, latest_s)


def _arq_in_force(
    measurement: Measurement, place: tuple[str, str], planned: Impairment
) -> Iterator[Finding]:
    before, repair = measurement.qdiscs_before.get(place, ()), planned.repair
    assert isinstance(repair, Arq)
    wanted = {
        "limit": planned.limit_packets,
        "delay": planned.delay_ns,
        "tries": repair.tries,
        "wait": repair.wait_ns,
        "order": repair.in_order,
        "seed": planned.seed or 0,
    }
    there = dict(before[0].entry.get("options", {})) if before else {}
    share = there.pop("loss", -1.0)
    if there != wanted or abs(share - planned.loss) > 1e-9:
        yield invalid(
            f"the repetitions at {'/'.join(place)} have {_differing(there, wanted)}"
            f" (loss {share}, not {planned.loss}): the kernel does not take them as given;"
            f" {see('qdisc-before.json')}"
        )

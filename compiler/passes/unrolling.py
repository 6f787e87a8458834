"""Unrolling of variation until the end of a cell: recordings and events of each link as changes of
its rate, and of its delay, loss and reordering.

Five values vary, each for itself: a recording holds until something is set for good, which follows
in order of time, a ramp in steps, until the next of them. What is set for a while lies above it, of
two the one written last. Whether the link is up is a sixth. The hop's changes are those of
delay, jitter, loss, reordering and that, merged.

A step of a ramp has its mean over the step, so that a ramp carries as many bytes as it should.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import zip_longest
from typing import Generic, TypeVar

from fairc.cell.links import Change, Entering, GilbertElliott, Impairment, Jitter
from fairc.dsl.core.source import Span
from fairc.dsl.model import Direction, Distribution, Event, Link, Network, Recording
from fairc.words.distributions import draw, is_drawn, mean

from .report import Report

MOST_STEPS = 100
SHORTEST_STEP_NS = 10_000_000
MOST_CHANGES = 100_000

Loss = tuple[float, GilbertElliott | None]
"""A probability, and the chain whose stationary loss it is."""

T = TypeVar("T", bound=Hashable)


def repeating(network: Network) -> Span | None:
    """Return where something is written that comes again until the end of the cell, if anything
    is.
    """
    for way in _ways(network):
        again = [event.span for event in way.events if event.period_ns or event.pause]
        again += [one.span for one in way.recordings.all if one.period_ns]
        if again:
            return again[0]
    return None


def draws(network: Network) -> bool:
    """Whether a value of a link is drawn for each repetition."""
    return any(
        is_drawn(value) for way in _ways(network) for event in way.events for value in event.drawn
    )


def unrolled(network: Network, end_ns: int, seed: int, report: Report) -> Network:
    """Return a network with the changes of its links; one that does not vary as it is.

    end_ns: of the cell. seed: of what is drawn; what one statement sets both ways is drawn once.
    """
    if not any(map(_varies, _ways(network))):
        return network
    return replace(
        network,
        links=tuple(_link(link, end_ns, seed, report) for link in network.links),
        own=tuple(_link(link, end_ns, seed, report) for link in network.own),
    )


def _ways(network: Network) -> Iterator[Direction]:
    for link in (*network.links, *network.own):
        yield from (link.forward, link.backward)


def _varies(way: Direction) -> bool:
    return bool(way.events or way.recordings.all)


def _link(link: Link, end_ns: int, seed: int, report: Report) -> Link:
    def one_way(way: Direction, other: Direction, ends: tuple[str, str]) -> Direction:
        occurrences: list[_Occurrence] = []
        for recording in way.recordings.all:
            rounds = -(-end_ns // recording.period_ns) if recording.period_ns else 1
            if len(recording.steps) * rounds > MOST_CHANGES:
                _refuse(report, recording.span)
                return way
        for number, event in enumerate(way.events):
            both = not event.apart and event in other.events[number : number + 1]
            name = ("link", *((link.a, link.b) if both else ends), str(number))
            if _expected(event, end_ns) > MOST_CHANGES:
                _refuse(report, event.span)
                return way
            for turn, (begin_ns, length_ns) in enumerate(_turns(event, end_ns, seed, name)):
                if len(occurrences) >= MOST_CHANGES:
                    _refuse(report, event.span)
                    return way
                drawn = _Draws(seed, name, turn)
                occurrences.append(_occurrence(event, number, begin_ns, length_ns, drawn))
        changed = _changed(way, occurrences, end_ns)
        if _refuse_jitter(way, changed, report):
            return way
        entering = next((event.entering for event in way.events if event.entering), None)
        return changed if entering is None else _waiting(changed, entering)

    if not (_varies(link.forward) or _varies(link.backward)):
        return link
    return replace(
        link,
        forward=one_way(link.forward, link.backward, (link.a, link.b)),
        backward=one_way(link.backward, link.forward, (link.b, link.a)),
    )


def _refuse_jitter(way: Direction, changed: Direction, report: Report) -> bool:
    """Refuse a jitter above the delay, and a uniform one after another; return whether one is so.

    A netem that has been given the table of a distribution keeps it, also without one in a change.
    """

    def span(at_ns: int) -> Span:
        return max(way.events, key=lambda e: (e.begin_ns <= at_ns, e.begin_ns)).span

    tabled = _has_table(changed.impairment)
    for change in changed.changes:
        state, at = change.impairment, f"from {change.at_ns / 1e9:g} s on"
        if state is None:
            continue
        if state.least_delay_ns > state.delay_ns:
            report.reject(
                "jitter-above-delay",
                f"{at} the jitter is larger than the delay",
                span(change.at_ns),
                help="give the link a `delay` of at least the jitter",
            )
            return True
        if tabled and state.jitter_ns and not _has_table(state):
            report.reject(
                "sudden-jitter",
                f"{at} the jitter is uniform, and before that it is not",
                span(change.at_ns),
                "netem does not take back a distribution that it has been given",
                "give each `jitter` of the link a `distribution` other than `uniform`",
            )
            return True
        tabled = tabled or _has_table(state)
    return False


def _has_table(state: Impairment) -> bool:
    return state.jitter_ns > 0 and state.jitter_distribution != "uniform"


def _refuse(report: Report, span: Span) -> None:
    report.reject(
        "too-many",
        f"this makes more than {MOST_CHANGES} changes of a link",
        span,
        help="make the period longer, or the cell shorter",
    )


def _expected(event: Event, end_ns: int) -> float:
    """Return how often an event begins, on average where the time between two is drawn."""
    if event.pause is None:
        return (end_ns - event.begin_ns) / event.period_ns if event.period_ns else 0.0
    length_s = float(mean(event.length)) if event.length else (event.length_ns or 0) / 10**9
    return (end_ns - event.begin_ns) / 10**9 / max(1e-9, float(mean(event.pause)) + length_s)


def _turns(
    event: Event, end_ns: int, seed: int, name: tuple[str, ...]
) -> Iterator[tuple[int, int | None]]:
    """Yield when an event begins, and how long it lasts (None: until others follow), ns.

    Without a pause that is drawn, it begins once at least.
    """
    begin_ns, turn = event.begin_ns, 0
    while True:
        drawn = _Draws(seed, name, turn)
        if event.pause is not None:
            begin_ns += _ns(drawn(event.pause, "pause"))
        if begin_ns >= end_ns and (turn or event.pause is not None):
            return
        length_ns = event.length_ns
        if event.length is not None:
            length_ns = _ns(drawn(event.length, "length"))
        yield begin_ns, length_ns
        turn += 1
        if event.pause is not None:
            begin_ns += length_ns or 0
        elif event.period_ns is not None:
            begin_ns = event.begin_ns + turn * event.period_ns
        else:
            return


def _ns(time_s: Fraction) -> int:
    return max(1, round(time_s * 10**9))


@dataclass(frozen=True, slots=True)
class _Draws:
    """The streams of one occurrence of an event: one for each value."""

    seed: int
    name: tuple[str, ...]
    turn: int

    def __call__(self, value: Distribution, what: str) -> Fraction:
        if not is_drawn(value):
            return value.arguments["value"]
        return draw(value, self.seed, *self.name, what, str(self.turn))


@dataclass(frozen=True, slots=True)
class _Setting(Generic[T]):
    """A value from begin_ns on, reached after ramp_ns; until end_ns, or None: for good.

    order: of its event among those of the link.
    """

    begin_ns: int
    end_ns: int | None
    ramp_ns: int
    order: int
    value: T


@dataclass(frozen=True, slots=True)
class _Occurrence:
    """An event, once: what it sets, None: nothing."""

    rate: _Setting[int] | None
    delay: _Setting[int] | None
    loss: _Setting[Loss] | None
    reorder: _Setting[float] | None
    jitter: _Setting[Jitter] | None
    is_up: _Setting[bool] | None


def _occurrence(
    event: Event, order: int, begin_ns: int, length_ns: int | None, drawn: _Draws
) -> _Occurrence:
    end_ns = None if length_ns is None else begin_ns + length_ns

    def setting(value: T) -> _Setting[T]:
        return _Setting(begin_ns, end_ns, event.ramp_ns, order, value)

    loss: Loss | None = None
    if event.bursts is not None:
        loss = event.bursts.loss, event.bursts
    elif event.loss is not None:
        loss = min(1.0, float(drawn(event.loss, "loss"))), None
    return _Occurrence(
        rate=None if event.rate is None else setting(round(drawn(event.rate, "rate"))),
        delay=None if event.delay is None else setting(round(drawn(event.delay, "delay") * 10**9)),
        loss=None if loss is None else setting(loss),
        reorder=None
        if event.reorder is None
        else setting(min(1.0, float(drawn(event.reorder, "reorder")))),
        jitter=None if event.jitter is None else setting(event.jitter),
        is_up=None if event.is_up is None else setting(event.is_up),
    )


def _changed(way: Direction, found: Sequence[_Occurrence], end_ns: int) -> Direction:
    """Return a direction with the changes that follow from what happens to it.

    Where its delay changes, packets stay in order, unless its jitter lets them overtake.
    """
    first, followed = way.impairment, way.recordings
    rates = _course(
        way.rate_bps or 0,
        {at_ns: round(value) for at_ns, value in _steps(followed.rate, end_ns)},
        (one.rate for one in found),
        _number_between,
    )
    delays = _course(
        first.delay_ns,
        {at_ns: round(value) for at_ns, value in _steps(followed.delay, end_ns) if at_ns},
        (one.delay for one in found),
        _number_between,
    )
    lost: dict[int, Loss] = {
        at_ns: (value, None) for at_ns, value in _steps(followed.loss, end_ns) if at_ns
    }
    losses = _course(
        (first.loss, first.bursts),
        lost,
        (one.loss for one in found),
        _loss_between,
    )
    reorders = _course(first.reorder, {}, (one.reorder for one in found), _probability_between)
    jitters = _course(first.jitter, {}, (one.jitter for one in found), _never)
    ups = _course(True, {}, (one.is_up for one in found), _never)
    if not first.jitter_ns and (delays or jitters):
        first = replace(first, in_order=True)
    return replace(
        way,
        impairment=first,
        rates=tuple(Change(at_ns, rate_bps) for at_ns, rate_bps in rates.items()),
        changes=_states(first, delays, losses, reorders, jitters, ups),
        ups=tuple(ups.items()),
    )


def _waiting(way: Direction, entering: Entering) -> Direction:
    """Return a direction whose changes wait for a state."""

    def after(changes: Sequence[Change]) -> tuple[Change, ...]:
        return tuple(replace(change, entering=entering) for change in changes)

    return replace(way, rates=after(way.rates), changes=after(way.changes))


def _steps(recording: Recording | None, end_ns: int) -> Iterator[tuple[int, float]]:
    """Yield the steps of a recording until the end of the cell; all of one that comes once."""
    if recording is None:
        return
    begin_ns = 0
    while True:
        for at_ns, value in recording.steps:
            yield begin_ns + at_ns, value
        if recording.period_ns is None:
            return
        begin_ns += recording.period_ns
        if begin_ns >= end_ns:
            return


def _states(
    first: Impairment,
    delays: dict[int, int],
    losses: dict[int, Loss],
    reorders: dict[int, float],
    jitters: dict[int, Jitter],
    ups: dict[int, bool],
) -> tuple[Change, ...]:
    """Return the states of a hop at all times at which anything of it changes."""
    states, now, is_up = list[Change](), first, True
    for at_ns in sorted({*delays, *losses, *reorders, *jitters, *ups}):
        if at_ns in delays:
            now = replace(now, delay_ns=delays[at_ns])
        if at_ns in losses:
            loss, bursts = losses[at_ns]
            now = replace(now, loss=loss, bursts=bursts)
        now = replace(now, reorder=reorders.get(at_ns, now.reorder))
        if at_ns in jitters:
            now = now.varied(jitters[at_ns])
        is_up = ups.get(at_ns, is_up)
        shown = now if is_up else replace(now, loss=1.0, bursts=None)
        states.append(Change(at_ns, impairment=shown))
    return tuple(states)


Between = Callable[[T, T, Fraction], T]
"""Returns the value at a share of the way from one to another."""


def _number_between(a: int, b: int, share: Fraction) -> int:
    return round(a + (b - a) * share)


def _probability_between(a: float, b: float, share: Fraction) -> float:
    return a + (b - a) * float(share)


def _loss_between(a: Loss, b: Loss, share: Fraction) -> Loss:
    return a[0] + (b[0] - a[0]) * float(share), None


def _never(a: T, b: T, share: Fraction) -> T:
    raise AssertionError("a link is up or down, or has a jitter, and nothing in between")


def _course(
    first: T,
    recorded: dict[int, T],
    settings: Iterable[_Setting[T] | None],
    between: Between[T],
) -> dict[int, T]:
    """Return the values that follow from a recording and settings: time, ns -> value from then on,
    in order.
    """
    found = [one for one in settings if one is not None]
    base = dict(_base(first, recorded, [one for one in found if one.end_ns is None], between))
    windows = [one for one in found if one.end_ns is not None]
    if not windows:
        return base
    windows.sort(key=lambda one: (one.begin_ns, one.order))
    borders = {time for one in windows for time in (one.begin_ns, one.end_ns or 0)}
    course, below, waiting = dict[int, T](), first, 0
    open_: list[_Setting[T]] = []
    for at_ns in sorted(borders | base.keys()):
        below = base.get(at_ns, below)
        open_ = [one for one in open_ if (one.end_ns or 0) > at_ns]
        while waiting < len(windows) and windows[waiting].begin_ns <= at_ns:
            open_.append(windows[waiting])
            waiting += 1
        top = max(open_, key=lambda one: one.order, default=None)
        course[at_ns] = below if top is None else top.value
    return course


def _base(
    first: T, recorded: dict[int, T], settings: Sequence[_Setting[T]], between: Between[T]
) -> Iterator[tuple[int, T]]:
    """Yield the times and values of what is recorded, until the first of what is set for good; then
    of that, with the steps of ramps.

    A ramp begins at what holds then, and ends where another setting begins.
    """
    ordered = sorted(settings, key=lambda one: (one.begin_ns, one.order))
    now = first
    for at_ns, value in recorded.items():
        if ordered and at_ns >= ordered[0].begin_ns:
            break
        yield at_ns, value
        now = value
    for one, following in zip_longest(ordered, ordered[1:]):
        until_ns = one.begin_ns + one.ramp_ns
        if following is not None:
            until_ns = min(until_ns, following.begin_ns)
        steps = max(1, min(MOST_STEPS, one.ramp_ns // SHORTEST_STEP_NS)) if one.ramp_ns else 0
        for step in range(steps):
            at_ns = one.begin_ns + one.ramp_ns * step // steps
            if at_ns >= until_ns:
                break
            yield at_ns, between(now, one.value, Fraction(2 * step + 1, 2 * steps))
        if following is not None and following.begin_ns < one.begin_ns + one.ramp_ns:
            share = Fraction(following.begin_ns - one.begin_ns, one.ramp_ns)
            now = between(now, one.value, share)
        else:
            yield until_ns, one.value
            now = one.value

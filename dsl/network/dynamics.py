"""`at`, `every` and `down` of a link: its events, as they are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from fairc.cell.links import Entering, Impairment, Jitter
from fairc.dsl import model
from fairc.dsl.blocks import Block, Settings
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entry, Use
from fairc.dsl.core.kinds import A_POSITIVE_TIME, A_TIME, Kind
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import SHARE, TIME
from fairc.dsl.core.values import Quantity
from fairc.dsl.expressions.evaluate import Scope, evaluate_with
from fairc.dsl.model.names import on_machine
from fairc.dsl.text import syntax
from fairc.words.blocks import change as keys
from fairc.words.distributions import (
    DistributionEntry,
    Random,
    distribution,
    is_distribution,
    lowest,
)
from fairc.words.enters import A_TIME_OR_ENTERING, FLOW, FROM, STATE
from fairc.words.jitter import varying
from fairc.words.losses import Loss, loss_of

from .impairments import refuse_beside

CHANGE_LIMIT = 10_000
"""More changes than this belong in a trace."""

Statement = syntax.Change | syntax.Cycle | syntax.Outage | syntax.Outages

Dynamics = tuple[tuple[Statement, Scope], ...]
"""The changes of a link as written, each with where its names are looked up."""


def events(
    statements: Dynamics,
    rate: Quantity | None,
    trace: model.Trace | None,
    impairment: Impairment,
    recorded: model.Recordings,
) -> tuple[model.Event, ...]:
    """Return the events of a link in the order in which they are written.

    rate, trace, impairment: what holds before. recorded: what follows recordings.
    Raises CompileError.
    """
    gather = Gather()
    found: list[model.Event] = []
    changes: list[model.Event] = []
    outages: list[model.Event] = []
    for statement, scope in statements[: CHANGE_LIMIT + 1]:
        with gather.attempt():
            event = _event(statement, scope, rate, trace, impairment)
            found.append(event)
            if isinstance(statement, syntax.Change):
                changes.append(event)
            elif isinstance(statement, syntax.Outage):
                outages.append(event)
    gather.finish()
    if len(statements) > CHANGE_LIMIT:
        fail("too-many", f"a link has at most {CHANGE_LIMIT} changes", statements[-1][0].span)
    _refuse_beside(found, trace, recorded)
    _refuse_equal(changes)
    _refuse_overlap(outages)
    _refuse_restarts(found, impairment, recorded.delay)
    return tuple(found)


def _event(
    statement: Statement,
    scope: Scope,
    rate: Quantity | None,
    trace: model.Trace | None,
    impairment: Impairment,
) -> model.Event:
    """Return one statement as an event. Raises CompileError."""
    if isinstance(statement, syntax.Outage):
        return _outage(statement, scope)
    if isinstance(statement, syntax.Outages):
        return _outages(statement, scope)
    word = "`at`" if isinstance(statement, syntax.Change) else "`every`"
    block = Block(statement.span, statement.settings.items, keys.CHANGE, word)
    gather = Gather()
    with gather.attempt():
        block.checked()
    event = model.Event(0, statement.span)
    with gather.attempt():
        times = _Times(word, scope)
        if isinstance(statement, syntax.Change):
            event = replace(
                times.event(statement.time, statement.span),
                ramp_ns=0
                if statement.over is None
                else times.take(statement.over, A_POSITIVE_TIME, "the time after `over`"),
            )
        else:
            begin_ns, period_ns, length_ns = times.of(statement)
            event = replace(event, begin_ns=begin_ns, period_ns=period_ns, length_ns=length_ns)
    settings = block.read(scope, gather)
    gather.finish()
    if not settings.typed:
        known = ", ".join(keys.CHANGE.names())
        fail("missing-key", "this changes nothing", statement.span, help=f"known: {known}")
    return _with_values(event, settings, rate, trace, impairment)


class _Times:
    """Reads the times of a statement, which begins with `word`."""

    def __init__(self, word: str, scope: Scope) -> None:
        self._word, self._scope = word, scope

    def take(self, node: syntax.Expr, kind: Kind[Quantity], use: str) -> int:
        """Return a time, ns. Raises CompileError."""
        return evaluate_with(node, self._scope, lambda value: kind.take(value, use, node.span)).ns

    def event(self, node: syntax.Expr, span: Span) -> model.Event:
        """Return an event that begins at a time, or upon a state. Raises CompileError."""
        use = f"the time of {self._word}"
        when = evaluate_with(
            node, self._scope, lambda value: A_TIME_OR_ENTERING.take(value, use, node.span)
        )
        if isinstance(when, Quantity):
            return model.Event(when.ns, span)
        entering = Entering(on_machine(when[FLOW].name), when[STATE].name)
        return model.Event(when[FROM].ns, span, entering=entering)

    def random(self, node: syntax.Expr, use: str) -> Quantity | Use[DistributionEntry]:
        """Return a time, or a distribution of times. Raises CompileError."""
        kind = Random(A_POSITIVE_TIME)
        return evaluate_with(node, self._scope, lambda value: kind.take(value, use, node.span))

    def of(self, statement: syntax.Cycle | syntax.Outages) -> tuple[int, int, int | None]:
        """Return first beginning, period and length of what comes again, ns.

        Without `from` it begins with the cell. Raises CompileError.
        """
        word, gather = self._word, Gather()
        begin_ns, period_ns, length_ns = 0, 0, None
        with gather.attempt():
            period_ns = self.take(statement.period, A_POSITIVE_TIME, f"the period of {word}")
        with gather.attempt():
            if statement.begin is not None:
                begin_ns = self.take(statement.begin, A_TIME, f"the first time of {word}")
        with gather.attempt():
            if statement.length is not None:
                length_ns = self.take(statement.length, A_POSITIVE_TIME, f"the length of {word}")
        gather.finish()
        if length_ns is not None and length_ns > period_ns:
            fail(
                "out-of-range",
                f"{word} comes again before it has ended",
                statement.length.span if statement.length else statement.span,
                note="longer than the period",
                labels=(Label(statement.period.span, "the period"),),
                help="make the period longer, or the time after `for` shorter",
            )
        return begin_ns, max(1, period_ns), length_ns


def _with_values(
    event: model.Event,
    settings: Settings,
    rate: Quantity | None,
    trace: model.Trace | None,
    impairment: Impairment,
) -> model.Event:
    """Return an event with what its settings change. Raises CompileError."""
    new_rate, delay = settings.given(keys.RATE), settings.given(keys.DELAY)
    _check_rate(new_rate, rate, trace)
    if delay is not None and settings.given(keys.JITTER) is None:
        _check_delay(delay, impairment.least_delay_ns)
    reorder = settings.given(keys.REORDER)
    if reorder is not None and not (impairment.delay_ns or delay is not None):
        fail(
            "reorder-without-delay",
            "reordered packets skip the delay, but this link has none",
            reorder.span,
            help="give the link a `delay`",
        )
    if impairment.repair:
        for key in (keys.REORDER, keys.JITTER):
            if key.name in settings.values:
                refuse_beside(f"`{key.name}`", settings.span(key))
    given, jitter = settings.given(keys.JITTER), None
    if given is not None:
        jitter = _jitter(given, event, impairment)
    lost = settings.given(keys.LOSS)
    loss: Loss | None = None
    random_loss: model.Distribution | None = None
    if is_distribution(lost):
        random_loss = distribution(lost)
    elif lost is not None:
        loss = loss_of(lost)
        random_loss = _loss(loss, event, impairment)
    return replace(
        event,
        rate=None if new_rate is None else distribution(new_rate),
        delay=None if delay is None else distribution(delay),
        loss=random_loss,
        reorder=None if reorder is None else distribution(reorder),
        bursts=loss.bursts if loss else None,
        jitter=jitter,
    )


def _jitter(given: Quantity | Use[Entry], event: model.Event, impairment: Impairment) -> Jitter:
    """Return the jitter of an event. Raises CompileError."""
    found = varying(given)
    if event.ramp_ns:
        fail(
            "sudden-jitter",
            "a jitter has no way to get there by and by",
            given.span,
            help="leave `over` out",
        )
    in_order = impairment.in_order or not impairment.jitter_ns
    if found.jitter_ns and found.in_order != in_order:
        fail(
            "sudden-jitter",
            "whether packets overtake each other holds from the start of the cell",
            given.span,
            help="write `overtake` the same in each `jitter` of the link",
        )
    return found.jitter


def _loss(loss: Loss, event: model.Event, impairment: Impairment) -> model.Distribution | None:
    """Return the loss of an event as a distribution. Raises CompileError."""
    if loss.both is not None:
        fail(
            "conflicting-loss",
            "`both` is not allowed in `at`: this block applies to one direction",
            loss.span,
            help="give each direction its own `at`, or write the link with `--`",
        )
    if loss.bad is not None or loss.chosen:
        what = "a loss of chosen packets" if loss.chosen else "a chain with times of its states"
        fail(
            "conflicting-loss",
            f"{what} holds from the start of the cell",
            loss.span,
            help="write it as `loss` of the link",
        )
    if impairment.repair and loss.bursts:
        refuse_beside("bursty losses", loss.span)
    if impairment.duplicate and loss.bursts:
        fail(
            "conflicting-loss",
            "one link cannot have both duplicates and bursty losses",
            loss.span,
        )
    if event.ramp_ns and loss.bursts:
        fail(
            "conflicting-loss",
            "bursty losses have no way to get there by and by",
            loss.span,
            help="leave `over` out, or give a percentage",
        )
    if loss.bursts:
        return distribution(Quantity(Fraction(loss.bursts.loss), SHARE, loss.span))
    return None if loss.own is None else distribution(Quantity(loss.own, SHARE, loss.span))


def _check_rate(
    new: Quantity | Use[DistributionEntry] | None, rate: Quantity | None, trace: model.Trace | None
) -> None:
    if new is None:
        return
    if trace is not None:
        fail("conflicting-rates", "the rate of this link already follows a trace", new.span)
    if rate is None:
        fail(
            "change-without-rate",
            "this link has no rate to change",
            new.span,
            help="give the link a `rate` for the time before",
        )


def _check_delay(delay: Quantity | Use[DistributionEntry], jitter_ns: int) -> None:
    least = lowest(distribution(delay))
    if least * 10**9 < jitter_ns:
        fail(
            "jitter-above-delay",
            "the jitter of this link is larger than this delay",
            delay.span,
            note=f"this is {delay.canonical}"
            if isinstance(delay, Quantity)
            else f"it can be {Quantity(least, TIME, delay.span).canonical}",
        )


def _outage(statement: syntax.Outage, scope: Scope) -> model.Event:
    times = _Times("`down`", scope)
    begin_ns = times.take(statement.begin, A_TIME, "the start of `down`")
    if statement.end is None:
        return model.Event(begin_ns, statement.span, is_up=False)
    end_ns = times.take(statement.end, A_POSITIVE_TIME, "the end of `down`")
    if end_ns <= begin_ns:
        fail("out-of-range", "`down` ends before it begins", statement.span)
    return model.Event(begin_ns, statement.span, end_ns - begin_ns, is_up=False)


def _outages(statement: syntax.Outages, scope: Scope) -> model.Event:
    """Return outages that come again. Raises CompileError.

    Where the time after `every` is drawn, it is that for which the link is up.
    """
    word = "`down every`"
    times, gather = _Times(word, scope), Gather()
    period: Quantity | Use[DistributionEntry] | None = None
    length: Quantity | Use[DistributionEntry] | None = None
    with gather.attempt():
        period = times.random(statement.period, f"the period of {word}")
    with gather.attempt():
        length = times.random(statement.length, f"the length of {word}")
    if isinstance(period, Quantity) and isinstance(length, Quantity):
        begin_ns, period_ns, length_ns = times.of(statement)
        return model.Event(begin_ns, statement.span, length_ns, period_ns, is_up=False)
    begin_ns = 0
    with gather.attempt():
        if statement.begin is not None:
            begin_ns = times.take(statement.begin, A_TIME, f"the first time of {word}")
    gather.finish()
    assert period is not None and length is not None
    again = isinstance(period, Quantity)
    return model.Event(
        begin_ns,
        statement.span,
        period_ns=max(1, period.ns) if isinstance(period, Quantity) else None,
        pause=None if again else distribution(period),
        length=distribution(length),
        is_up=False,
    )


def _refuse_beside(
    found: Sequence[model.Event], trace: model.Trace | None, recorded: model.Recordings
) -> None:
    """Refuse a link that changes upon a state, and in another way as well: nobody knows in which
    order.
    """
    waiting = next((event for event in found if event.entering), None)
    if waiting is None:
        return
    others = [event.span for event in found if event is not waiting]
    others += [one.span for one in recorded.all]
    if others or trace is not None or waiting.ramp_ns:
        fail(
            "conflicting-change",
            "a link that changes upon a state changes once, at one instant, and in no other way",
            waiting.span,
            labels=tuple(Label(span, "another change") for span in others[:1]),
            help="leave `over` out" if waiting.ramp_ns else "put the others on a separate link",
        )


def _refuse_equal(found: Iterable[model.Event]) -> None:
    for one, other in pairwise(sorted(found, key=lambda event: event.begin_ns)):
        if one.begin_ns == other.begin_ns:
            fail(
                "duplicate-change",
                "two changes of this link happen at the same time",
                other.span,
                labels=(Label(one.span, "the first one"),),
                help="merge them into one `at`",
            )


def _refuse_overlap(outages: Iterable[model.Event]) -> None:
    for one, other in pairwise(sorted(outages, key=lambda outage: outage.begin_ns)):
        if one.length_ns is None or other.begin_ns <= one.begin_ns + one.length_ns:
            fail(
                "duplicate-change",
                "this link is already down, or comes up at that time",
                other.span,
                labels=(Label(one.span, "the first one"),),
                help="merge them",
            )


def _refuse_restarts(
    found: Sequence[model.Event], impairment: Impairment, recorded: model.Recording | None
) -> None:
    """Refuse bursty losses where the delay varies all the time: each change of a netem begins the
    chain anew, in its good state.
    """
    places = [] if recorded is None else [recorded.span]
    for event in found:
        if (event.ramp_ns and (event.delay or event.loss)) or (
            event.period_ns and (event.delay or event.jitter)
        ):
            places.append(event.span)
    if places and (impairment.bursts is not None or any(event.bursts for event in found)):
        fail(
            "conflicting-loss",
            "each of these changes would restart the bursty losses",
            places[0],
            notes=("a change restarts the chain of the losses, in its good state",),
            help="put one of them on a separate link, behind a router",
        )

"""`at` and `down` of a link: which values apply when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from fairc.cell.links import Change, GilbertElliott, Impairment
from fairc.dsl import model
from fairc.dsl.blocks import Block
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.kinds import A_POSITIVE_TIME, A_TIME, Kind
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Quantity
from fairc.dsl.expressions.evaluate import Scope, evaluate_with
from fairc.dsl.text import syntax
from fairc.words.blocks import change as keys
from fairc.words.losses import loss_of

CHANGE_LIMIT = 10_000
"""More changes than this belong in a trace."""


@dataclass(frozen=True, slots=True)
class LinkChange:
    """New values of a link from `at_ns` on, ns after the start of the cell; None: unchanged.

    rate_bps: 0: packets wait.
    is_up: whether packets get across; if not, they are lost.
    """

    at_ns: int
    rate_bps: int | None = None
    delay_ns: int | None = None
    loss: float | None = None
    bursts: GilbertElliott | None = None
    is_up: bool | None = None


class _TimedChange(NamedTuple):
    at_ns: int
    change: LinkChange
    span: Span


Dynamics = tuple[tuple[syntax.Change | syntax.Cycle | syntax.Outage | syntax.Outages, Scope], ...]
"""The changes of a link as written, each with where its names are looked up."""


def changes(
    statements: Dynamics,
    rate: Quantity | None,
    trace: model.Trace | None,
    impairment: Impairment,
) -> tuple[LinkChange, ...]:
    """Return the changes of a link in chronological order. Raises CompileError."""
    gather = Gather()
    found: list[_TimedChange] = []
    outages: list[tuple[int, int, Span]] = []
    for statement, scope in statements[: CHANGE_LIMIT + 1]:
        with gather.attempt():
            if isinstance(statement, syntax.Outage):
                outages.append(_outage(statement, scope))
            elif isinstance(statement, syntax.Change):
                found.append(_change(statement, scope, rate, trace, impairment))
    gather.finish()
    if len(statements) > CHANGE_LIMIT:
        fail("too-many", f"a link has at most {CHANGE_LIMIT} changes", statements[-1][0].span)
    _refuse_equal(found)
    _refuse_overlap(outages)
    for begin_ns, end_ns, span in outages:
        for at_ns, is_up in ((begin_ns, False), (end_ns, True)):
            found.append(_TimedChange(at_ns, LinkChange(at_ns, is_up=is_up), span))
    return _merged(found)


def rates(found: Sequence[LinkChange]) -> tuple[Change, ...]:
    """Return the rate of a link after each change of it, bit/s; 0: packets wait."""
    return tuple(Change(c.at_ns, c.rate_bps) for c in found if c.rate_bps is not None)


def with_changes(
    impairment: Impairment, found: Sequence[LinkChange]
) -> tuple[Impairment, tuple[Change, ...]]:
    """Return what a link does to packets before and after its changes of delay, loss or state.

    Where its delay changes, packets stay in order, unless its jitter lets them overtake.
    """
    if not impairment.jitter_ns and any(change.delay_ns is not None for change in found):
        impairment = replace(impairment, in_order=True)
    states, now, is_up = [], impairment, True
    for change in found:
        if change.delay_ns is None and change.loss is None and change.is_up is None:
            continue
        if change.delay_ns is not None:
            now = replace(now, delay_ns=change.delay_ns)
        if change.loss is not None:
            now = replace(now, loss=change.loss, bursts=change.bursts)
        is_up = change.is_up if change.is_up is not None else is_up
        shown = now if is_up else replace(now, loss=1.0, bursts=None)
        states.append(Change(change.at_ns, impairment=shown))
    return impairment, tuple(states)


def _time(node: syntax.Expr, scope: Scope, kind: Kind[Quantity], use: str) -> int:
    return evaluate_with(node, scope, lambda value: kind.take(value, use, node.span)).ns


def _change(
    statement: syntax.Change,
    scope: Scope,
    rate: Quantity | None,
    trace: model.Trace | None,
    impairment: Impairment,
) -> _TimedChange:
    block = Block(statement.span, statement.settings.items, keys.CHANGE, "`at`")
    gather = Gather()
    with gather.attempt():
        block.checked()
    at_ns = 0
    with gather.attempt():
        at_ns = _time(statement.time, scope, A_TIME, "the time of `at`")
    settings = block.read(scope, gather)
    gather.finish()
    if not settings.typed:
        known = ", ".join(keys.CHANGE.names())
        fail("missing-key", "this changes nothing", statement.span, help=f"known: {known}")
    new_rate, delay = settings.given(keys.RATE), settings.given(keys.DELAY)
    _check_rate(new_rate, rate, trace)
    if delay is not None:
        _check_delay(delay, impairment.jitter_ns)
    lost = settings.given(keys.LOSS)
    loss = None if lost is None else loss_of(lost)
    if loss is not None and loss.both is not None:
        fail(
            "conflicting-loss",
            "`both` is not allowed in `at`: this block applies to one direction",
            loss.span,
            help="give each direction its own `at`, or write the link with `--`",
        )
    if loss is not None and impairment.duplicate and loss.bursts:
        fail(
            "conflicting-loss",
            "one link cannot have both duplicates and bursty losses",
            loss.span,
        )
    own = None if loss is None or loss.own is None else float(loss.own)
    bursts = loss.bursts if loss else None
    change = LinkChange(
        at_ns,
        rate_bps=None if new_rate is None else round(new_rate.number),
        delay_ns=None if delay is None else delay.ns,
        loss=bursts.loss if bursts else own,
        bursts=bursts,
    )
    return _TimedChange(at_ns, change, statement.span)


def _check_rate(new: Quantity | None, rate: Quantity | None, trace: model.Trace | None) -> None:
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


def _check_delay(delay: Quantity, jitter_ns: int) -> None:
    if delay.number * 10**9 < jitter_ns:
        fail(
            "jitter-above-delay",
            "the jitter of this link is larger than this delay",
            delay.span,
            note=f"this is {delay.canonical}",
        )


def _outage(statement: syntax.Outage, scope: Scope) -> tuple[int, int, Span]:
    begin_ns = _time(statement.begin, scope, A_TIME, "the start of `down`")
    assert statement.end is not None, "refused before"
    end_ns = _time(statement.end, scope, A_POSITIVE_TIME, "the end of `down`")
    if end_ns <= begin_ns:
        fail("out-of-range", "`down` ends before it begins", statement.span)
    return begin_ns, end_ns, statement.span


def _refuse_equal(found: Iterable[_TimedChange]) -> None:
    for one, other in pairwise(sorted(found, key=lambda timed: timed.at_ns)):
        if one.at_ns == other.at_ns:
            fail(
                "duplicate-change",
                "two changes of this link happen at the same time",
                other.span,
                labels=(Label(one.span, "the first one"),),
                help="merge them into one `at`",
            )


def _refuse_overlap(outages: Iterable[tuple[int, int, Span]]) -> None:
    for one, other in pairwise(sorted(outages, key=lambda outage: outage[0])):
        if other[0] <= one[1]:
            fail(
                "duplicate-change",
                "this link is already down, or comes up at that time",
                other[2],
                labels=(Label(one[2], "the first one"),),
                help="merge them",
            )


def _merged(found: Iterable[_TimedChange]) -> tuple[LinkChange, ...]:
    """Return one change for each time: an `at` and the end of a `down` may coincide."""
    merged: dict[int, LinkChange] = {}
    for at_ns, change, _ in found:
        other = merged.get(at_ns, LinkChange(at_ns))
        merged[at_ns] = LinkChange(
            at_ns,
            _either(change.rate_bps, other.rate_bps),
            _either(change.delay_ns, other.delay_ns),
            change.loss if change.loss is not None else other.loss,
            change.bursts or other.bursts,
            change.is_up if change.is_up is not None else other.is_up,
        )
    return tuple(merged[at_ns] for at_ns in sorted(merged))


def _either(one: int | None, other: int | None) -> int | None:
    return one if one is not None else other

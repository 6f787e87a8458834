"""Impairments of a link besides losses: delay, jitter, reordering, duplicates."""

from __future__ import annotations

from dataclasses import replace

from fairc.cell.links import GilbertElliott, Impairment
from fairc.dsl.blocks import Settings
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Quantity
from fairc.mechanisms.links.registry import LINKS
from fairc.words.blocks import link as keys
from fairc.words.jitter import delayed
from fairc.words.reorder import reordering


def impairment_of(settings: Settings, delay: Quantity, bursts: GilbertElliott | None) -> Impairment:
    """Return what the settings of a link define besides rate, loss and queue.

    delay: the lowest that it has at any time.
    Raises CompileError for jitter larger than the delay, reordering without a delay to skip,
    duplicates together with bursty losses or corruption, and repair together with any of these.
    """
    gather = Gather()
    impairment = Impairment()
    with gather.attempt():
        impairment = delayed(delay, settings.given(keys.JITTER))
    reorder, gap, duplicate = settings[keys.REORDER], 1, settings[keys.DUPLICATE]
    share = reorder if isinstance(reorder, Quantity) else None
    with gather.attempt():
        share, gap = reordering(reorder)
    with gather.attempt():
        if share is not None and share.number and not delay.number:
            fail(
                "reorder-without-delay",
                "reordered packets skip the delay, but this link has none",
                reorder.span,
                help="give the link a `delay`",
            )
    with gather.attempt():
        if duplicate.number and bursts:
            fail(
                "conflicting-loss",
                "one link cannot have both duplicates and bursty losses",
                duplicate.span,
                notes=("copies would also advance the Markov chain of the losses",),
                help="put one of them on a separate link, behind a router",
            )
    corrupt = settings[keys.CORRUPT]
    with gather.attempt():
        if duplicate.number and corrupt.number:
            fail(
                "conflicting-loss",
                "one link cannot have both duplicates and corrupted packets",
                corrupt.span,
                labels=(Label(duplicate.span, "the duplicates"),),
                notes=("netem would flip bits of a packet and of its copy, each by its own coin",),
                help="put one of them on a separate link, behind a router",
            )
    gather.finish()
    assert share is not None
    found = replace(
        impairment,
        reorder=float(share.number),
        gap=gap,
        duplicate=float(duplicate.number),
        corrupt=float(corrupt.number),
    )
    repaired = next(filter(None, (each.repair(settings) for each in LINKS)), None)
    if repaired is None:
        return found
    repair, asked = repaired
    for there, other, key in (
        (found.jitter_ns, "`jitter`", keys.JITTER),
        (found.reorder, "`reorder`", keys.REORDER),
        (found.duplicate, "`duplicate`", keys.DUPLICATE),
        (found.corrupt, "`corrupt`", keys.CORRUPT),
        (bursts, "bursty losses", keys.LOSS),
    ):
        if there:
            refuse_beside(other, settings.span(key), settings.values[asked.name].span)
    return replace(found, repair=repair)


def refuse_beside(other: str, at: Span | None, repair: Span) -> None:
    """Refuse what a link with repair cannot have as well, given at `at`. Raises CompileError."""
    fail(
        "conflicting-repair",
        f"one link cannot have both `repair` and {other}",
        at,
        labels=(Label(repair, "the repair"),),
        notes=("what a packet's delay is made of could then not be checked",),
        help="put one of them on a separate link, behind a router",
    )

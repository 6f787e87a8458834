"""Impairments of a link besides losses: delay, jitter, reordering, duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairc.cell.links import GilbertElliott, Impairment
from fairc.cell.medium import Repair
from fairc.dsl.blocks import Settings
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Quantity
from fairc.mechanisms.effects.effect import EffectEntry
from fairc.mechanisms.effects.registry import EFFECTS
from fairc.mechanisms.links.registry import LINKS
from fairc.words.blocks import link as keys
from fairc.words.jitter import delayed
from fairc.words.reorder import reordering


def impairment_of(settings: Settings, delay: Quantity, bursts: GilbertElliott | None) -> Impairment:
    """Return what the settings of a link define besides rate, loss and queue.

    delay: the lowest that it has at any time.
    Raises CompileError for jitter larger than the delay, reordering without a delay to skip,
    duplicates together with bursty losses or other effects, and repair together with any of these.
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
    effects = [
        (entry, effect)
        for entry in EFFECTS.values()
        if (effect := entry.read(settings[entry.key])) is not None
    ]
    if duplicate.number:
        _check_copies(settings, bursts, [entry for entry, _ in effects], gather)
    gather.finish()
    assert share is not None
    found = replace(
        impairment,
        reorder=float(share.number),
        gap=gap,
        duplicate=float(duplicate.number),
        effects=tuple(effect for _, effect in effects),
    )
    beside: list[tuple[object, Parameter[Any], str]] = [
        (found.jitter_ns, keys.JITTER, ""),
        (found.reorder, keys.REORDER, ""),
        (found.duplicate, keys.DUPLICATE, ""),
        *((effect, entry.key, "") for entry, effect in effects),
        (bursts, keys.LOSS, "bursty losses"),
    ]
    return replace(found, repair=_repair(settings, beside))


def _check_copies(
    settings: Settings,
    bursts: GilbertElliott | None,
    effects: Sequence[EffectEntry],
    gather: Gather,
) -> None:
    """Refuse what does not go with duplicates."""
    duplicate = settings[keys.DUPLICATE]
    with gather.attempt():
        if bursts:
            fail(
                "conflicting-loss",
                "one link cannot have both duplicates and bursty losses",
                duplicate.span,
                notes=("copies would also advance the Markov chain of the losses",),
                help="put one of them on a separate link, behind a router",
            )
    for entry in effects:
        with gather.attempt():
            fail(
                "conflicting-loss",
                f"one link cannot have both `duplicate` and `{entry.key.name}`",
                settings.span(entry.key),
                labels=(Label(duplicate.span, "the duplicates"),),
                notes=(entry.beside_copies,),
                help="put one of them on a separate link, behind a router",
            )


def _repair(
    settings: Settings, beside: Sequence[tuple[object, Parameter[Any], str]]
) -> Repair | None:
    """Return how a link sends lost packets again; None: it does not.

    beside: what it cannot have as well: whether it has it, its key, and what it is called if that
    is not the key. Raises CompileError.
    """
    repairs = [asked for each in LINKS if (asked := each.repair(settings)) is not None]
    if not repairs:
        return None
    (repair, asked_by), *others = repairs
    at = settings.values[asked_by.name].span
    for there, key, name in (*((True, key, "") for _, key in others), *beside):
        if there:
            refuse_beside(name or f"`{key.name}`", settings.span(key), at)
    return repair


def refuse_beside(other: str, at: Span | None, repair: Span | None = None) -> None:
    """Refuse what a link with repair cannot have as well, given at `at`. Raises CompileError.

    repair: where the repair is given, if that is known.
    """
    fail(
        "conflicting-repair",
        f"one link cannot have both `repair` and {other}",
        at,
        labels=() if repair is None else (Label(repair, "the repair"),),
        notes=("fairc could then not tell the parts of a packet's delay apart",),
        help="put one of them on a separate link, behind a router",
    )

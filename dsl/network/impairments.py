"""Impairments of a link besides delay and losses: jitter, reordering, duplicates."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from fairc.cell.links import GilbertElliott
from fairc.dsl import model
from fairc.dsl.blocks import Settings
from fairc.dsl.core.problems import Gather, fail
from fairc.words.blocks import link as keys
from fairc.words.jitter import jitter_of


class Impairments(NamedTuple):
    """Jitter, reordering and duplicates, in the order of `model.Direction`."""

    jitter: model.Jitter | None
    reorder: float
    duplicate: float


def impairments_of(settings: Settings, bursts: GilbertElliott | None) -> Impairments:
    """Return what the settings of a link define besides rate, delay, loss and queue.

    Raises CompileError for jitter larger than the delay, reordering without a delay to skip, and
    duplicates together with bursty losses.
    """
    gather = Gather()
    jitter = None
    delay, varied = settings[keys.DELAY], settings.given(keys.JITTER)
    with gather.attempt():
        jitter = None if varied is None else jitter_of(varied, Fraction(delay.number))
    reorder, duplicate = settings[keys.REORDER], settings[keys.DUPLICATE]
    with gather.attempt():
        if reorder.number and not delay.number:
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
    gather.finish()
    return Impairments(jitter, float(reorder.number), float(duplicate.number))

"""Loss models: the declaration of one, and the losses of a link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fairc.cell.links import ChosenLoss, GilbertElliott
from fairc.dsl.core.entries import Entry, Use
from fairc.dsl.core.source import Span
from fairc.dsl.model import Event


@dataclass(frozen=True, slots=True)
class Loss:
    """The random losses of a link, each None if it is not given; written at `span`.

    own, both: loss probabilities, of this direction and of each direction.
    bursts: a Markov chain that packets step. bad: one in time, as the event of its bad state; `own`
    is the loss in its good one. chosen: packets that are lost all.
    """

    span: Span
    own: Fraction | None = None
    both: Fraction | None = None
    bursts: GilbertElliott | None = None
    bad: Event | None = None
    chosen: tuple[ChosenLoss, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LossModel(Entry):
    """A loss model, built from its checked arguments. `build` raises CompileError."""

    build: Callable[[Use[LossModel]], Loss]
    runs: bool = True

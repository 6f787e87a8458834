"""The states of congestion controllers over time, as lanes of colour above the lines of a `line`
over time: one lane for each line, with a legend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fairc.runtime.measurement.samples import STATES

from .layout import Key
from .marks import Mark
from .query import Names
from .style import SERIES, Dash

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LANES = 4
"""More lines than this in a panel leave no room for lanes."""

_HEIGHT, _GAP = 0.045, 0.03  # of a panel
_ALPHAS = (0.9, 0.4)


class Phase(NamedTuple):
    """A state from a time to another, s."""

    begin_s: float
    end_s: float
    state: str


Phases = Mapping[Names, Sequence[Phase]]
"""The phases of each group, in order of time."""


def merged(bins: Iterable[tuple[int, str]], width_s: float) -> list[Phase]:
    """Return phases from bins with a state, in order of time; neighbours with the same are one."""
    phases: list[Phase] = []
    for place, state in bins:
        begin_s, end_s = place * width_s, (place + 1) * width_s
        last = phases[-1] if phases else None
        if last and last.state == state and abs(last.end_s - begin_s) < width_s / 2:
            phases[-1] = last._replace(end_s=end_s)
        else:
            phases.append(Phase(begin_s, end_s, state))
    return phases


@dataclass(frozen=True, slots=True)
class Paints:
    """The colours of states: those that a figure shows, in the order in which `STATES` has them."""

    states: tuple[str, ...]

    @classmethod
    def of(cls, phases: Iterable[Sequence[Phase]]) -> Paints:
        """Return the colours of a figure with these phases."""
        shown = {phase.state for every in phases for phase in every}
        return cls(tuple(state for state in STATES if state in shown))

    def of_state(self, state: str) -> tuple[str, float]:
        """Return the colour of a state, and how much of it there is."""
        number = self.states.index(state)
        return SERIES[number % len(SERIES)], _ALPHAS[number // len(SERIES) % len(_ALPHAS)]

    @property
    def keys(self) -> list[Key]:
        """The legend."""
        keys = []
        for state in self.states:
            colour, alpha = self.of_state(state)
            keys.append(Key(state.replace("_", " "), colour, marker="s", alpha=alpha))
        return keys


@dataclass(frozen=True, slots=True)
class Lane(Mark):
    """The states of a line, at the top of its panel; below it runs the line's own stroke.

    row: from the top, from 0. colour, dash: of the line.
    """

    phases: Sequence[Phase]
    paints: Paints
    row: int
    colour: str
    dash: Dash

    def draw(self, axes: Axes) -> None:
        """Draw it."""
        at = axes.get_xaxis_transform()  # x in data, y in parts of the panel
        low = 1 - self.row * (_HEIGHT + _GAP) - _HEIGHT
        for phase in self.phases:
            colour, alpha = self.paints.of_state(phase.state)
            width = phase.end_s - phase.begin_s
            axes.broken_barh(
                [(phase.begin_s, width)],
                (low, _HEIGHT),
                transform=at,
                facecolor=colour,
                alpha=alpha,
                linewidth=0,
            )
        begin_s, end_s = self.phases[0].begin_s, self.phases[-1].end_s
        stroke = low - 0.012
        axes.plot(
            [begin_s, end_s],
            [stroke, stroke],
            color=self.colour,
            linestyle=self.dash,
            linewidth=0.8,
            transform=at,
        )


def height_of(lanes: int) -> float:
    """Return the part of a panel that lanes take at its top."""
    return lanes * (_HEIGHT + _GAP)


CAPTION = (
    " Above each line the state of its congestion controllers: in each bin the one that most"
    " samples of its flows were in."
)

"""One connection's rounds against the chain: all that the metric, the table and the figures
show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .chain import Chain, ChainError, Point
from .cross import Cross
from .envelope import Envelope, envelope, simulate
from .losses import Counted, bernoulli, counted, fit_bernoulli, gaussian
from .rounds import Rounds
from .windows import Grid, averages, grid
from .words import LEAST_WINDOWS

Floats = NDArray[np.float64]
MODELS = ("theory", "bernoulli", "gaussian")
"""The chain with p(w) as counted, of independent packet losses, and under Gaussian cross
traffic.
"""

# Bins of means that are too rare to be expected. Where the range ends because the chain cannot go
# farther, an open bin would not show a flow that does.
_BEYOND = 2

NO_THEORY = "the theory covers only Reno over TCP"


@dataclass(frozen=True, slots=True)
class Model:
    """A chain: its p(w) and, by scale, its observable range and its bins; verdict: on the flow."""

    p: Floats
    chain: Chain
    ranges: Mapping[int, tuple[Point, Point]]
    grids: Mapping[int, Grid]
    verdict: Envelope | None


@dataclass(frozen=True)
class Study:
    """What was found about one connection.

    scales: as requested, ascending; usable: those with at least 30 windows. means: by scale, the
    mean window of each average. losses: None where `unseen` says why. models: by name, or why there
    is none. p_packet: fitted, or why not.
    """

    rounds: Rounds
    scales: tuple[int, ...]
    means: Mapping[int, Floats]
    losses: Counted | None
    unseen: str
    p_packet: float | str
    models: Mapping[str, Model | str] = field(default_factory=dict)

    @property
    def usable(self) -> tuple[int, ...]:
        """The scales with enough windows for a spectrum."""
        return tuple(n for n in self.scales if len(self.means[n]) >= LEAST_WINDOWS)

    def few(self, scale: int) -> str:
        """Return why a scale has no value, empty where it has one."""
        count = len(self.means[scale])
        if count >= LEAST_WINDOWS:
            return ""
        return f"{count} windows of {scale} rounds: fewer than {LEAST_WINDOWS}"


def study(
    rounds: Rounds,
    scales: Sequence[int],
    *,
    no_theory: str,
    cross: Cross | str,
    round_bps: float,
    seed: tuple[int, ...],
) -> Study:
    """Compare a connection with the chain.

    scales: rounds. no_theory: why the chain is not its model, empty where it is. cross: what
    competes with it, or why that is unknown. round_bps: rate of a window of one packet, on the
    wire. seed: of the simulated chains.
    """
    ordered = tuple(sorted(set(scales)))
    means = {n: averages(rounds.window, n) for n in ordered}
    unseen = "" if rounds.lost is not None else "the samples do not include the congestion state"
    found = counted(rounds.window, rounds.lost) if rounds.lost is not None else None
    p_packet = fit_bernoulli(found) if found is not None else unseen
    compared = Study(rounds, ordered, means, found, unseen, p_packet)
    if no_theory or found is None:
        return Study(
            rounds,
            ordered,
            means,
            found,
            unseen,
            p_packet,
            dict.fromkeys(MODELS, no_theory or unseen),
        )
    largest = len(found.visits)
    modelled: dict[str, Floats | str] = {
        "theory": found.p,
        "bernoulli": p_packet if isinstance(p_packet, str) else bernoulli(p_packet, largest),
        "gaussian": gaussian(
            cross.capacity_bps, cross.mean_bps, cross.deviation_bps, round_bps, largest
        )
        if isinstance(cross, Cross)
        else cross,
    }
    models = {
        name: _model(compared, p, (*seed, at)) for at, (name, p) in enumerate(modelled.items())
    }
    return Study(rounds, ordered, means, found, unseen, p_packet, models)


def _model(study: Study, p: Floats | str, seed: tuple[int, ...]) -> Model | str:
    """Return the chain with a loss probability and its verdict on the flow, or why there is
    none.
    """
    if isinstance(p, str):
        return p
    total = len(study.rounds.window)
    try:
        chain = Chain(p)
        ranges = {n: chain.observable(total, n) for n in study.usable}
    except (ChainError, FloatingPointError) as error:
        return str(error)
    if any(not low.alpha < high.alpha for low, high in ranges.values()):
        return "the chain's mean window does not vary at these scales"
    grids = {
        n: grid(low.alpha, high.alpha, len(study.means[n]), _BEYOND)
        for n, (low, high) in ranges.items()
    }
    verdict = None
    if grids:
        simulated = simulate(chain, total, grids, seed)
        verdict = envelope(simulated, {n: grids[n].count(study.means[n]) for n in grids})
    return Model(p, chain, ranges, grids, verdict)

"""The curves of a study, as they are stored and drawn: spectra, ranges, loss probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .study import MODELS, Model, Study
from .windows import averages, grid, spectrum
from .words import LEAST_WINDOWS

Floats = NDArray[np.float64]
_POINTS = 80  # of a theoretical spectrum
_RANGES = 16  # scales between the shortest and the longest
_MOST_BINS = 200


class Drawn(NamedTuple):
    """A curve: its name, its scale (0: none), and x, y, low, high of shape (N,), NaN where
    absent.
    """

    name: str
    scale: int
    x: Floats
    y: Floats
    low: Floats
    high: Floats


def curves(study: Study) -> Iterator[Drawn]:
    """Yield all curves of a study.

    `spectrum` (x: alpha, y: f, low and high: the 95 % envelope of the chain with p(w) as counted)
    of each scale, `range` (x: n, y: the mean, low and high: alpha_min and alpha_max), `loss` (x: w,
    y: p(w), low and high: Wilson's interval); and `spectrum.NAME`, `range.NAME`, `loss.NAME` of
    each model.
    """
    models = {name: m for name in MODELS if isinstance(m := study.models[name], Model)}
    for scale in study.usable:
        yield _measured(study, scale, models.get("theory"))
    if not study.usable:
        return
    scales = _scales(study)
    yield _range(study, scales)
    for name, model in models.items():
        low, high = model.ranges[study.usable[0]]
        points = model.chain.curve(low, high, _POINTS)
        x, y = np.array([p.alpha for p in points]), np.array([p.f for p in points])
        yield Drawn(f"spectrum.{name}", 0, x, y, *_nothing(len(x)))
        total = len(study.rounds.window)
        ends = [model.chain.observable(total, n) for n in scales]
        low_alpha, high_alpha = np.array([(a.alpha, b.alpha) for a, b in ends]).T
        mean = np.full(len(scales), model.chain.mean)
        yield Drawn(f"range.{name}", 0, np.array(scales, float), mean, low_alpha, high_alpha)
    if study.losses is None:
        return
    found, w = study.losses, np.arange(1, len(study.losses.visits) + 1, dtype=np.float64)
    low_p, high_p = found.interval
    seen = found.visited
    yield Drawn("loss", 0, w[seen], found.share[seen], low_p[seen], high_p[seen])
    for name, model in models.items():
        yield Drawn(f"loss.{name}", 0, w, model.p, *_nothing(len(w)))


def _nothing(count: int) -> tuple[Floats, Floats]:
    return np.full(count, np.nan), np.full(count, np.nan)


def _measured(study: Study, scale: int, theory: Model | None) -> Drawn:
    """Return the measured spectrum of a scale, on the theory's bins where there is a theory.

    Flow and envelope are both lowered by the flow's maximum, so that a flow inside is drawn inside.
    """
    means = study.means[scale]
    bins = grid(means.min(), max(means.max(), means.min() + 1e-9), len(means))
    low = high = None
    if theory is not None and theory.verdict is not None:
        own = theory.grids[scale]
        width = own.edges[1] - own.edges[0]
        if max(means.max() - own.edges[0], own.edges[-1] - means.min()) < _MOST_BINS * width:
            bins = own.widened(means)
            first = int(np.searchsorted(bins.edges, own.edges[0] - width / 2))
            low, high = _nothing(len(bins.centres))
            within = slice(first, first + len(own.centres))
            envelope = theory.verdict
            low[within] = spectrum(envelope.low[scale][1:-1], len(means), scale)
            high[within] = spectrum(envelope.high[scale][1:-1], len(means), scale)
    y = spectrum(bins.count(means)[1:-1], len(means), scale)
    top = np.nanmax(y)
    if low is None or high is None:
        low, high = _nothing(len(y))
    return Drawn("spectrum", scale, bins.centres, y - top, low - top, high - top)


def _scales(study: Study) -> list[int]:
    """Return scales from the shortest to the longest usable one, including all usable ones."""
    first, last = study.usable[0], study.usable[-1]
    between = np.geomspace(first, last, _RANGES).round().astype(int).tolist()
    total = len(study.rounds.window)
    return sorted({n for n in (*between, *study.usable) if total // n >= LEAST_WINDOWS})


def _range(study: Study, scales: list[int]) -> Drawn:
    means = [averages(study.rounds.window, n) for n in scales]
    return Drawn(
        "range",
        0,
        np.array(scales, float),
        np.array([m.mean() for m in means]),
        np.array([m.min() for m in means]),
        np.array([m.max() for m in means]),
    )

"""The figure `rates`: the rate of each flow at the bottleneck over time, over all repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairc.dsl.model.names import label_of
from fairc.runtime.formatting import counted, listed, one_line, quantity, scale_for
from fairc.runtime.report.backdrop import NOTHING, Backdrop, backdrop, explained
from fairc.runtime.report.links import capacity, changing
from fairc.runtime.report.run import Configuration, Run, in_list

from .base import Drawing, FigureKind, NothingToDraw, Subject, panel_names
from .chart import OWN_AXES, Axis, Chart, Panel, have_own_axes
from .marks import Band, Behind, Line, Mark
from .style import LIMIT, colour, dash

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A line is drawn through at most this many means, so that a 100 ms slot's packets do not hide it.
MAX_BINS = 240
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


@dataclass(frozen=True, slots=True)
class Series:
    """Rates of one configuration's flows in bins of time.

    t_s: shape (bins,), middle of each bin, s. bin_s: width of a bin, s.
    rates: flow -> shape (repetitions, bins), bit/s of IP bytes; NaN where the flow is not active.
    capacity: shape (bins,), bit/s on the wire, where the rate of the only bottleneck changes.
    behind: what stands behind them.
    """

    t_s: NDArray[Any]
    bin_s: float
    rates: Mapping[str, NDArray[Any]]
    capacity: NDArray[Any] | None = None
    behind: Backdrop = NOTHING


def load(run: Run, configuration: Configuration, max_bins: int = MAX_BINS) -> Series | None:
    """Return the rates of the cells that count, or None where no cell has two slots.

    A rate is the mean over those slots of a bin in which the flow is active. A bin in which a flow
    was never active (by application state, measurement.md rule 15) is NaN, so that a flow that has
    ended is not a flow that starves.
    """
    cells = [o.cell for o in configuration.counted]
    where, parameters = in_list(cells)
    ((origin, last, start, end),) = run.rows(
        f"SELECT min(slot), max(slot), min(t_s), max(t_s) FROM slots WHERE cell {where}", parameters
    )
    if origin == last:  # also without any
        return None
    slot_s = (end - start) / (last - origin)
    count = last - origin + 1
    per_bin = next((s for s in _STEPS if count <= s * max_bins), -(-count // max_bins))
    bins = -(-count // per_bin)
    run.register("figure_cells", {"cell": np.array(cells, object), "row": np.arange(len(cells))})
    # A slot holds at most what the link can send, so only whole active slots are divided by.
    table = run.columns(
        f"SELECT flow, row, (slot - {origin}) // {per_bin} AS bin,"
        f" sum(ip_bytes ORDER BY slot) * 8 / (count(*) * {slot_s!r}) AS rate"
        " FROM slots JOIN figure_cells USING (cell) WHERE active"
        " GROUP BY flow, row, bin ORDER BY flow"
    )
    flows = [label_of(f) for f in run.scenes[configuration.id].flows]
    rates = {flow: np.full((len(cells), bins), np.nan) for flow in flows}
    names, first = np.unique(table["flow"], return_index=True)
    for name, part in zip(names, np.split(np.arange(len(table["flow"])), first[1:]), strict=False):
        if name in rates:
            rates[name][table["row"][part], table["bin"][part].astype(int)] = table["rate"][part]
    middle = start + (np.arange(bins) + 0.5) * per_bin * slot_s
    scene, step_s = run.scenes[configuration.id], per_bin * slot_s
    link = changing(scene)
    carried = None
    if link is not None:
        carried = capacity(link, np.maximum(0, start + np.arange(bins + 1) * step_s))
    return Series(middle, step_s, rates, carried, backdrop(run, configuration))


def together(run: Run, rates: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the rates of each line: of flows that are shown as one, shape (flows x repetitions,
    bins).
    """
    lines = run.together(rates)
    return {name: np.concatenate([rates[flow] for flow in flows]) for name, flows in lines.items()}


def by_default(subject: Subject) -> Drawing:
    """Make the figure for the configurations whose time series are shown."""
    found = [(c, load(subject.run, c)) for c in subject.shown]
    data = [(c, s) for c, s in found if s is not None]
    if not data:
        raise NothingToDraw("no cell that counts has two slots")
    n = sorted({len(next(iter(s.rates.values()))) for _, s in data})
    data = [(c, replace(s, rates=together(subject.run, s.rates))) for c, s in data]
    widths = sorted({s.bin_s for _, s in data})
    repetitions = " or ".join(map(str, n))
    # Widths that print the same are one: 0.1 s, however it was rounded.
    bins = " or ".join(dict.fromkeys(quantity(w, "s") for w in widths))
    if n == [1]:
        basis = "Lines: the one repetition that counts."
    else:
        basis = (
            f"Lines: median over the {repetitions} repetitions that count; bands: from the"
            " smallest to the largest of them."
        )
    caption = (
        f"Rate of each flow at the bottleneck's exit (IP bytes), averaged per {bins}"
        f" over the slots in which its application is active. {basis} A line is drawn while at"
        f" least half of the repetitions have the flow active."
    )
    if crowds := dict.fromkeys(subject.run.crowds.values()):
        caption += (
            f" Of all flows {listed([*map(one_line, crowds)])} together: their median, and the band"
            " from the smallest to the largest."
        )
    if any(s.capacity is not None for _, s in data):
        caption += " Dashed: the rate of the link, on the wire."
    caption += explained(s.behind for _, s in data)
    means = [
        f"{c.label}: "
        + ", ".join(
            f"{flow} {quantity(float(np.nanmean(rates)), 'bit/s')}"
            for flow, rates in series.rates.items()
            if not np.isnan(rates).all()
        )
        for c, series in data[:4]
    ]
    alt = (
        f"Line chart, {counted(len(data), 'panel')}, rate over time. Mean while active:"
        f" {'; '.join(means)}."
    )
    largest = [_largest(series) for _, series in data]
    own = have_own_axes(largest)
    if own:
        caption += OWN_AXES
    names = panel_names(subject.run, [c for c, _ in data])
    chart = _chart([s for _, s in data], names, largest, own)
    return Drawing("rates", "time", "Rates of the flows", caption, alt, chart)


def _largest(series: Series) -> float:
    """Return the largest rate that a panel shows, bit/s."""
    known = [rates for rates in (*series.rates.values(), series.capacity) if rates is not None]
    return max(float(np.nanmax(rates, initial=0.0)) for rates in known)


def _chart(data: list[Series], names: list[str], largest: list[float], own: bool) -> Chart:
    """Return a panel for each series. largest: the largest rate of each; own: whether each has a
    vertical axis of its own.
    """
    scale = scale_for("bit/s", largest)

    def upright(name: str, rate: float) -> Axis:
        return Axis(name, 0, rate / scale.factor * 1.05 or 1)

    order = {flow: i for i, flow in enumerate(dict.fromkeys(f for s in data for f in s.rates))}
    panels = []
    for series, name, most in zip(data, names, largest, strict=True):
        marks: list[Mark] = [Behind(series.behind)]
        if series.capacity is not None:
            carried, dashed = series.capacity / scale.factor, (0, (4, 2))
            marks.append(Line(series.t_s, carried, LIMIT, dashed, width=0.7, steps="steps-mid"))
        for flow, rates in series.rates.items():
            shown = np.isfinite(rates).sum(axis=0) * 2 >= len(rates)
            if not shown.any():
                continue
            kept, times, paint = (
                rates[:, shown] / scale.factor,
                series.t_s[shown],
                colour(order[flow]),
            )
            if len(rates) > 1:
                marks.append(Band(times, np.nanmin(kept, axis=0), np.nanmax(kept, axis=0), paint))
            marks.append(Line(times, np.nanmedian(kept, axis=0), paint, dash(order[flow]), flow))
        panels.append(Panel(name, marks, y=upright("", most) if own else None))
    last = max(float(s.t_s[-1]) + s.bin_s / 2 for s in data)
    return Chart(
        panels,
        Axis("time (s)", min(0.0, float(data[0].t_s[0])), last),
        upright(scale.unit, max(largest)),
        heights=(1.5, 1.05),
    )


KIND = FigureKind("rates", by_default=by_default)

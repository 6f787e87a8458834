"""The explorer on the page of a sweep: each configuration's cells, and their course over time.

The data stand on the page as JSON, bounded by `BUDGET`: every cell has its series if that fits,
else one repetition of each configuration, else one of each of as many configurations as fit. A rate
is a mean over a bin; of window, RTT and queue each bin keeps its smallest and its largest value.
The script (templates/explore.js) draws them with uPlot.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from fairc.dsl.model.names import label_of
from fairc.runtime.formatting import counted, number, one_line
from fairc.runtime.measurement import SLOT_S
from fairc.runtime.repetitions.reading import Measure, Outcome

from .answer import entry
from .lead import leading
from .links import capacity, changing, named
from .run import Configuration, Run
from .summary import Results

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Numbers in the series of a page: about 1.3 MB of text.
BUDGET = 250_000
MAX_BINS, MIN_BINS = 240, 24
# Lines of one chart; numbers of one cell in the table.
MAX_FLOWS, MAX_MEASURES = 12, 4
_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_DIGITS = 4
LIBRARY = "vendor/uplot"

Chart = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChartedCell:
    """A cell whose series the page has; step_s: width of its bins, bins: how many."""

    configuration: Configuration
    outcome: Outcome
    step_s: float
    bins: int


def explored(run: Run, results: Results) -> dict[str, Any] | None:
    """Return the data of the page's explorer: plain data, in the order of the configurations.

    None where there is one configuration only: its page shows all of it.
    """
    if len(run.configurations) < 2:
        return None
    measures = shown_values(results)
    chosen, note = _chosen(run, results)
    charts = _charts(run, chosen)
    found = [_configuration(run, results, c, measures, charts) for c in run.configurations]
    return {
        "heads": [
            entry(results, m, results.summary(m, run.configurations[0])).what for m in measures
        ],
        "units": [results.formats[m.metric][0].unit for m in measures],
        "note": note,
        "configurations": found,
    }


def as_json(data: Mapping[str, Any]) -> str:
    """Return data as JSON that stands inside a `script` element: nothing in it can end the element.

    >>> as_json({"a": "</script><!--"})
    '{"a":"\\\\u003c/script\\\\u003e\\\\u003c!--"}'
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def script() -> str:
    """Return the script of the page: uPlot under its licence, and ours."""
    licence = packaged(LIBRARY, "LICENSE")
    parts = packaged(LIBRARY, "uPlot.iife.min.js"), packaged("templates", "explore.js")
    text = "\n".join((f"/*\n{licence}*/", *parts))
    assert "</script" not in text.lower() and "<!--" not in text, "it would end its element"
    return text


def style() -> str:
    """Return the style of the script's charts."""
    return packaged(LIBRARY, "uPlot.min.css")


def packaged(*path: str) -> str:
    """Return a text that comes with this package."""
    return resources.files("fairc.runtime.report").joinpath(*path).read_text(encoding="utf-8")


def shown_values(results: Results) -> list[Measure]:
    """Return the columns of the table of a configuration's cells, for each cell."""
    first = leading(results)
    asked = [m for m in results.asked if m != first]
    return ([first] if first else [])[:1] + asked[: MAX_MEASURES - 1]


def _configuration(
    run: Run,
    results: Results,
    configuration: Configuration,
    measures: Sequence[Measure],
    charts: Mapping[str, list[Chart]],
) -> dict[str, Any]:
    representative = results.representative(configuration)
    scene = run.scenes.get(configuration.id)
    return {
        "id": configuration.id,
        "label": one_line(configuration.label),
        "warmup": scene.warmup_ns / 1e9 if scene else 0,
        "shown": representative[0].repetition if representative else None,
        "why": representative[1] if representative else "",
        "summary": _summary(results, configuration, measures[:1]),
        "cells": [
            {
                "id": o.cell,
                "repetition": o.repetition,
                "seed": o.seed,
                "verdict": o.verdict_word,
                "reasons": [one_line(reason) for reason in o.reasons],
                "values": [_printed(results, m, results.number(m, o)) for m in measures],
                **({"charts": charts[o.cell]} if o.cell in charts else {}),
            }
            for o in configuration.outcomes
        ],
    }


def _summary(results: Results, configuration: Configuration, measures: Sequence[Measure]) -> str:
    """Return the first number of a configuration as text, for screen readers."""
    for measure in measures:
        first = entry(results, measure, results.summary(measure, configuration))
        if first.median:
            unit = f" {first.unit}" if first.unit else ""
            return f"{first.what} {first.median.text}{unit} {first.interval}".rstrip()
    return ""


def _printed(results: Results, measure: Measure, value: float | None) -> str:
    if value is None:
        return "\N{EN DASH}"
    scale, decimals = results.formats[measure.metric]
    return number(value / scale.factor, decimals)


def _chosen(run: Run, results: Results) -> tuple[list[ChartedCell], str]:
    """Return the cells whose series the page contains, and the text about them."""
    lengths: dict[str, float] = dict(
        run.rows(
            "SELECT cell, max(t_s) FROM (SELECT cell, t_s FROM slots UNION ALL"
            " SELECT cell, t_s FROM samples) GROUP BY cell ORDER BY cell"
        )
    )
    every = [(c, o) for c in run.configurations for o in c.outcomes if lengths.get(o.cell)]
    one = [
        (c, r[0])
        for c in run.configurations
        if (r := results.representative(c)) is not None and lengths.get(r[0].cell)
    ]
    weight = max((_per_bin(run, c) for c, _ in every), default=1)
    note = "This page has the time series of every cell."
    kept = every
    if len(every) * weight * MAX_BINS // 2 > BUDGET:
        kept = one
        note = (
            "To keep the page small, it has the time series of one repetition of each"
            " configuration."
        )
    most = BUDGET // (weight * MIN_BINS)
    if len(kept) > most:
        kept = [kept[i * len(kept) // most] for i in range(most)]
        note = (
            "To keep the page small, it has the time series of one repetition of"
            f" {counted(most, 'configuration')} out of {len(one)}, evenly spread."
        )
    bins = max(MIN_BINS, min(MAX_BINS, BUDGET // (weight * max(1, len(kept)))))
    note += (
        f" Time is divided into at most {bins} bins: rates are means; for window, RTT and"
        f" queue each bin"
        " keeps its smallest and its largest value. The window of several connections is the"
        " sum of their means."
    )
    return [_binned(c, o, lengths[o.cell], bins) for c, o in kept], note


def _binned(
    configuration: Configuration, outcome: Outcome, last_s: float, bins: int
) -> ChartedCell:
    step_s = next((s for s in _STEPS_S if last_s < s * bins), last_s / bins)
    return ChartedCell(configuration, outcome, step_s, int(last_s / step_s + 1e-9) + 1)


def _per_bin(run: Run, configuration: Configuration) -> int:
    """Return the numbers of a bin: rate, window and RTT of each flow, its backlog of each queue."""
    scene = run.scenes[configuration.id]
    queues = sum(i.bottleneck for node in scene.nodes for i in node.interfaces)
    return 5 * min(len(scene.flows), MAX_FLOWS) + 2 * queues + 1


_RATES = """
    SELECT number, flow AS line, CAST(floor((t_s + 5e-7) / step_s) AS INTEGER) AS bin,
        sum(ip_bytes) * 8 / (count(*) * {slot_s}) / 1e6 AS low, NULL AS high
    FROM slots JOIN explored USING (cell) WHERE active GROUP BY ALL ORDER BY ALL
"""
_SAMPLES = """
    WITH own AS (
        SELECT number, flow, connection, CAST(floor((t_s + 5e-7) / step_s) AS INTEGER) AS bin,
            min({value}) AS low, max({value}) AS high, avg({value} ORDER BY t_s) AS mean
        FROM samples JOIN explored USING (cell) WHERE {value} IS NOT NULL GROUP BY ALL)
    SELECT number, flow AS line, bin, {low} AS low, {high} AS high
    FROM own GROUP BY number, flow, bin ORDER BY number, flow, bin
"""
_QUEUES = """
    SELECT number, queue AS line, CAST(floor((t_s + 5e-7) / step_s) AS INTEGER) AS bin,
        min({value}) AS low, max({value}) AS high
    FROM queues JOIN explored USING (cell) WHERE {value} IS NOT NULL GROUP BY ALL ORDER BY ALL
"""
_SUMMED = {
    "low": "CASE WHEN count(*) = 1 THEN min(low) ELSE sum(mean ORDER BY connection) END",
    "high": "CASE WHEN count(*) = 1 THEN max(high) ELSE sum(mean ORDER BY connection) END",
}
_SPANNED = {"low": "min(low)", "high": "max(high)"}


def _charts(run: Run, chosen: Sequence[ChartedCell]) -> dict[str, list[Chart]]:
    """Return the charts of each chosen cell: rates, window, RTT, a queue each."""
    if not chosen:
        return {}
    run.register(
        "explored",
        {
            "cell": np.array([c.outcome.cell for c in chosen], object),
            "number": np.arange(len(chosen), dtype=np.int64),
            "step_s": np.array([c.step_s for c in chosen], np.float64),
        },
    )
    window = {"value": "cwnd_packets", **_SUMMED}
    rtt = {"value": "CASE WHEN rtt_s > 0 THEN rtt_s * 1e3 END", **_SPANNED}
    lines = {
        "rate": _lines(run, chosen, _RATES.format(slot_s=SLOT_S)),
        "window": _lines(run, chosen, _SAMPLES.format(**window)),
        "rtt": _lines(run, chosen, _SAMPLES.format(**rtt)),
        "bytes": _lines(run, chosen, _QUEUES.format(value="bytes / 1e3")),
        "packets": _lines(run, chosen, _QUEUES.format(value="packets")),
    }
    return {
        c.outcome.cell: [chart for chart in _of_cell(run, c, i, lines) if chart["lines"]]
        for i, c in enumerate(chosen)
    }


Lines = dict[int, dict[str, list[float | None]]]


def _of_cell(run: Run, chosen: ChartedCell, place: int, lines: Mapping[str, Lines]) -> list[Chart]:
    scene = run.scenes[chosen.configuration.id]
    flows = [label_of(flow) for flow in scene.flows][:MAX_FLOWS]

    def of_flows(kind: str, title: str, unit: str) -> Chart:
        own = lines[kind].get(place, {})
        return {
            "title": title,
            "unit": unit,
            "step": chosen.step_s,
            "paired": kind != "rate",
            "lines": [
                {"name": one_line(flow), "colour": i, "values": own[flow]}
                for i, flow in enumerate(flows)
                if flow in own
            ],
        }

    rate = of_flows("rate", "Rates at the bottleneck's exit", "Mbit/s")
    if (link := changing(scene)) is not None:
        edges = np.arange(chosen.bins + 1, dtype=np.float64) * chosen.step_s
        rate["capacity"] = _rounded(capacity(link, edges) / 1e6)
    queues: list[Chart] = []
    for name in sorted(lines["bytes"].get(place, {})):
        node, _, interface = name.partition("/")
        queue = run.queue_of(chosen.configuration.id, node, interface)
        in_packets = queue is not None and queue.limit_packets is not None
        kind, unit, factor = ("packets", "packets", 1.0) if in_packets else ("bytes", "kB", 1e-3)
        limit = (queue.limit_packets or queue.limit_bytes) if queue else None
        queues.append(
            {
                "title": f"Queue {named(scene, name)}",
                "unit": unit,
                "step": chosen.step_s,
                "paired": True,
                "limit": limit * factor if limit else None,
                "lines": [
                    {"name": "backlog", "colour": 0, "values": lines[kind][place][name]},
                ],
            }
        )
    return [
        rate,
        of_flows("window", "Congestion window", "packets"),
        of_flows("rtt", "Smoothed RTT", "ms"),
        *queues,
    ]


def _lines(run: Run, chosen: Sequence[ChartedCell], sql: str) -> Lines:
    """Return the lines of each cell: a value for each bin, or its smallest and largest, None for
    none.
    """
    found: Lines = {}
    table = run.columns(sql)
    if not len(table["number"]):
        return found
    numbers, names = table["number"].astype(np.int64), table["line"].astype(object)
    changes = np.flatnonzero((np.diff(numbers) != 0) | (names[1:] != names[:-1])) + 1
    high = table["high"].astype(np.float64)
    paired = not bool(np.isnan(high).all())
    for rows in np.split(np.arange(len(numbers)), changes):
        cell = int(numbers[rows[0]])
        bins = table["bin"][rows].astype(np.int64)
        values = np.full((chosen[cell].bins, 2 if paired else 1), np.nan)
        inside = (bins >= 0) & (bins < len(values))
        values[bins[inside], 0] = table["low"][rows][inside]
        if paired:
            values[bins[inside], 1] = high[rows][inside]
        found.setdefault(cell, {})[str(names[rows[0]])] = _rounded(values.ravel())
    return found


def _rounded(values: NDArray[Any]) -> list[float | None]:
    return [_number(value) for value in values.tolist()]


def _number(value: float) -> float | None:
    """Round to `_DIGITS` digits; whole numbers without a point, so that the page is small."""
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded

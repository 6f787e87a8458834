"""Figures: what they are drawn from, and that their files are the same each time."""

from __future__ import annotations

import io
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from representatives import few
from requested_figures import subject_of

from fairc.runtime.report.build import build
from fairc.runtime.report.figures import Drawing, defaults, rates, window
from fairc.runtime.report.figures.base import decimate
from fairc.runtime.report.figures.chart import Chart
from fairc.runtime.report.figures.rates import Series, load
from fairc.runtime.report.figures.style import SERIES, VARIABLES, WIDTHS, spread
from fairc.runtime.report.figures.traces import BINS, Line, broken
from fairc.runtime.report.render import render
from fairc.runtime.report.run import Configuration, Run
from fairc.runtime.report.svg import themed, tidy
from fairc.runtime.store.columns import TABLES

F = "fairness.F"

Maker = Callable[..., Path]


def test_decimation_keeps_every_extreme() -> None:
    times = np.arange(10_000) / 10
    values = np.sin(times)
    values[1234], values[7777] = 9.0, -9.0
    t, v = decimate(times, values, 100)
    assert len(t) <= 202
    assert t == sorted(t)
    assert (max(v), min(v)) == (9.0, -9.0)
    assert t[v.index(9.0)] == times[1234]
    edges = np.linspace(times[0], times[-1], 101)
    for low, high in pairwise(edges):
        inside = values[(times >= low) & (times < high)]
        kept = [y for x, y in zip(t, v, strict=True) if low <= x < high]
        assert (min(kept), max(kept)) == (inside.min(), inside.max())


def test_short_series_are_left_alone_and_nan_is_dropped() -> None:
    assert decimate([0, 1, 2], [5, math.nan, 7], 10) == ([0, 2], [5, 7])


def test_rates_are_bytes_over_time(make_run: Maker) -> None:
    run = Run(make_run(repeat=2, duration_s=20.0))
    configuration = run.configurations[0]
    series = load(run, configuration, max_bins=20)
    assert series is not None
    assert series.bin_s == pytest.approx(1.0)
    cell = configuration.counted[1].cell
    ((total,),) = run.rows(
        (
            "SELECT sum(ip_bytes) FROM slots WHERE cell = ? AND flow = 'bbr' AND slot BETWEEN 30"
            " AND 39"
        ),
        [cell],
    )
    assert series.t_s[3] == pytest.approx(3.5)
    assert series.rates["bbr"][1, 3] == pytest.approx(total * 8 / 1.0)


def test_a_rate_is_of_active_slots_and_ends_with_the_flow(make_run: Maker) -> None:
    run = Run(make_run(repeat=1, duration_s=20.0, first_ends_early=37))
    series = load(run, run.configurations[0], max_bins=20)
    assert series is not None
    ((total,),) = run.rows(
        "SELECT sum(ip_bytes) FROM slots WHERE flow = 'cubic' AND active AND slot >= 160"
    )
    # Slots 160 to 162 are the last; their bin goes on to 169 without the flow.
    assert series.rates["cubic"][0, 16] == pytest.approx(total * 8 / 0.3)
    assert np.isnan(series.rates["cubic"][0, 17:]).all()
    assert np.isfinite(series.rates["bbr"]).all()


@pytest.mark.parametrize(("factor", "own"), [(5, False), (100, True)])
def test_rates_that_would_be_flat_on_a_common_axis_have_their_own(
    make_run: Maker, monkeypatch: pytest.MonkeyPatch, factor: int, own: bool
) -> None:
    subject = subject_of(make_run(sweep={"n": ("1", "2")}, repeat=1, duration_s=3.0))
    fast = subject.shown[-1]

    def faster(run: Run, configuration: Configuration) -> Series | None:
        found = load(run, configuration)
        if found is None or configuration != fast:
            return found
        return replace(found, rates={f: r * factor for f, r in found.rates.items()})

    monkeypatch.setattr(rates, "load", faster)
    drawing = rates.by_default(subject)
    assert isinstance(drawing.picture, Chart)
    slow_top, fast_top = (panel.y and panel.y.high for panel in drawing.picture.panels)
    assert ("axis of its own" in drawing.caption) is own
    assert (slow_top is not None) is own
    if slow_top and fast_top:
        assert fast_top > 10 * slow_top


def test_many_configurations_show_a_few_and_say_which(make_run: Maker) -> None:
    losses = tuple(f"{i}%" for i in range(14))
    subject = subject_of(make_run(sweep={"loss": losses}, repeat=2, duration_s=2.0))
    results = subject.results
    measure = results.select(F)[0]
    medians = [results.group(measure, c).median.value for c in subject.run.configurations]
    known = [m for m in medians if m is not None]
    shown = [results.group(measure, c).median.value for c in subject.shown]
    assert len(subject.shown) == 3
    assert {min(known), max(known)} <= set(shown)
    assert "those of 14 with the smallest, the middle and the largest" in subject.choice


def test_one_repetition_is_named(make_run: Maker) -> None:
    subject = subject_of(make_run(repeat=5))
    configuration = subject.shown[0]
    chosen = subject.results.representative(configuration)
    assert chosen is not None
    values = subject.results.group(subject.results.select(F)[0], configuration).by_repetition
    assert values[chosen[0].repetition] == sorted(values.values())[2]
    drawing = window.KIND.make(subject, None)
    assert f"repetition {chosen[0].repetition}, the one whose" in drawing.caption


@pytest.mark.parametrize("connections", few([1, 3], 3))
@pytest.mark.parametrize(
    "flows",
    [pytest.param(("a", "b"), marks=pytest.mark.full), tuple(f"flow{i}" for i in range(9))],
)
def test_every_figure_at_every_width(
    make_run: Maker, flows: tuple[str, ...], connections: int
) -> None:
    subject = subject_of(make_run(flows=flows, connections=connections, repeat=2, duration_s=5.0))
    for kind in defaults(subject):
        drawing = kind.make(subject, None)
        assert isinstance(drawing, Drawing)
        rendered = render(drawing)
        assert set(rendered.svg) == set(WIDTHS)
        for width, svg in rendered.svg.items():
            root = ET.fromstring(svg)
            assert root.get("width") == f"{WIDTHS[width] * 72:g}pt"
            assert "style=" not in svg
            assert root.get("aria-label") == rendered.drawing.alt
            texts = {"".join(e.itertext()).strip() for e in root.iter() if e.tag.endswith("text")}
            if kind.name in ("rates", "window"):
                assert set(flows) <= texts


def fonts_of(pdf: bytes) -> list[TTFont]:
    """Return the fonts that are embedded in a PDF."""
    streams = re.findall(rb"stream\r?\n(.*?)\nendstream", pdf, re.DOTALL)
    unpacked = [zlib.decompress(one) for one in streams if one.startswith(b"\x78")]
    return [TTFont(io.BytesIO(one)) for one in unpacked if one.startswith(b"\0\1\0\0")]


def test_files_are_the_same_each_time(make_run: Maker) -> None:
    path = make_run(repeat=2, duration_s=5.0)
    formats = ("html", "md", "svg", "pdf")
    first = {p: p.read_bytes() for p in build(path, formats)}
    second = {p: p.read_bytes() for p in build(path, formats)}
    assert first == second
    names = {p.name for p in first}
    assert {"report.html", "report.md", "all.pdf", "rates.svg", "rates-column.pdf"} <= names
    for p, data in first.items():
        if p.suffix == ".pdf":
            assert data.startswith(b"%PDF")
            assert b"CreationDate" not in data
            assert b"/Type3" not in data
            for font in fonts_of(data):
                assert {"cmap", "glyf"} <= {*font.keys()}
                assert not {"GSUB", "GPOS", "GDEF", "kern"} & {*font.keys()}
    assert len(fonts_of(first[path / "figures/all.pdf"])) == 2


def test_inlined_svg_follows_the_page() -> None:
    raw = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="9pt">'
        f'<path id="p1" d="M 1.23456 2.5" style="stroke: {SERIES[0]}; fill: none"/>'
        "<text style=\"font: bold 7px 'DejaVu Sans'; text-anchor: middle\">a</text>"
        '<g clip-path="url(#p1)"/></svg>'
    )
    svg = tidy(raw, "rates-page", 'say "hi"')
    assert 'd="M 1.23 2.5"' in svg
    assert 'font-weight="bold"' in svg
    assert 'clip-path="url(#rates-page-0)"' in svg
    assert 'id="rates-page-0"' in svg
    inline = themed(svg, "figure page")
    assert f'stroke="var(--{VARIABLES[SERIES[0]]})"' in inline
    assert re.search(r"<svg[^>]* width=", inline) is None


def test_labels_are_moved_apart_and_keep_their_order() -> None:
    moved = spread([0.5, 0.52, 0.51, 0.9], 0.1)
    assert moved[3] == 0.9
    low, high, middle = moved[:3]
    assert middle - low == pytest.approx(0.1)
    assert high - middle == pytest.approx(0.1)
    assert middle == pytest.approx(0.51)


def test_the_synthetic_tables_have_the_documented_columns(make_run: Maker) -> None:
    run = Run(make_run(sweep={"seed": ("a", "b")}, repeat=1, duration_s=1.0))
    for name, table in TABLES.items():
        found = {c: t for c, t, *_ in run.rows(f"DESCRIBE {name}")}
        assert found | {c.name: c.type for c in table.columns} == found
    assert [c.bindings for c in run.configurations] == [(("seed", "a"),), (("seed", "b"),)]


def test_a_line_is_broken_where_no_connection_was_open() -> None:
    """Between the loads of a page, say; nowhere else, however many of the values are kept."""
    t = [0.1, 0.2, 0.3, 1.2, 1.3]
    times, values = broken(Line("web", 0, t, [10.0, 20, 140, 10, 11]), 0.016)
    assert times == [0.1, 0.2, 0.3, pytest.approx(0.75), 1.2, 1.3]
    assert [math.isnan(value) for value in values] == [False] * 3 + [True] + [False] * 2
    assert broken(Line("web", 0, t, [10.0, 20, 140, 10, 11]), 1.0) == (t, [10, 20, 140, 10, 11])
    for step, count in ((0.1, 1700), (0.1, 20), (1.0, 60)):
        every = np.arange(count) * step
        kept = decimate(every, np.sin(every * 7), BINS // 2)
        line = Line("a", 0, *kept)
        assert broken(line, 4 * float(every[-1]) / BINS) == kept
    assert broken(Line("a", 0, [1.0], [2.0]), 0.0) == ([1.0], [2.0])


def test_a_home_that_cannot_be_written_adds_no_lines_of_a_library() -> None:
    drawn = "Figure().savefig(io.BytesIO())"
    code = f"import io, fairc.runtime.report.render; from matplotlib.figure import Figure; {drawn}"
    hidden = ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**env, "HOME": os.devnull},
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")

"""The figures of `deviations`, from stored curves to what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from requested_figures import subject_of

from fairc.compiler.plan import FigureRequest
from fairc.runtime.report.answer import entry
from fairc.runtime.report.figures import (
    Drawing,
    NothingToDraw,
    Subject,
    rates,
)
from fairc.runtime.report.figures.base import FigureKind
from fairc.runtime.report.figures.style import paper_style
from fairc.runtime.report.key_figures import SECTION, with_picture
from fairc_deviations import loss_window, ranges, spectrum

Maker = Callable[..., Path]
Point = tuple[str, int, float, float, float, float]

NAN = float("nan")
POINTS: tuple[Point, ...] = (
    *(
        ("spectrum", 100, a, f, f - 0.01, f + 0.01)
        for a, f in ((20, -0.05), (30, 0.0), (41, -0.03))
    ),
    ("spectrum", 200, 30.0, 0.0, NAN, NAN),
    *(("spectrum.theory", 0, a, f, NAN, NAN) for a, f in ((18, -0.07), (30, 0.0), (43, -0.07))),
    *(("range", 0, n, 30.0, low, high) for n, low, high in ((100, 18, 43), (200, 22, 39))),
    *(("range.theory", 0, n, 30.0, low, high) for n, low, high in ((100, 17, 44), (200, 21, 40))),
    *(("loss", 0, w, p, p / 2, min(1.0, p + 0.1)) for w, p in ((10, 0.1), (20, 0.3))),
    *(("loss.theory", 0, w, 0.02 * w, NAN, NAN) for w in (1, 10, 20)),
)


INSERT = "INSERT INTO rows (cell, metric, flow, value, unit, reason) VALUES"


def subject(
    make_run: Maker, inside: float | None = 1.0, points: tuple[Point, ...] = POINTS
) -> Subject:
    """Return a run of two values of a sweep, each with the curves of its flow `cubic`."""
    path = make_run(sweep={"loss": ("0%", "1%")}, repeat=2, duration_s=2.0)
    import duckdb

    for name in ("curves", "metrics"):
        file = path / "tables" / f"{name}.parquet"
        with duckdb.connect(":memory:") as connection:
            connection.execute(f"CREATE TABLE rows AS SELECT * FROM read_parquet('{file}')")
            cells = connection.execute(
                f"SELECT cell FROM read_parquet('{path / 'tables' / 'cells.parquet'}')"
            ).fetchall()
            for (cell,) in cells:
                if name == "curves":
                    connection.executemany(
                        "INSERT INTO rows VALUES (?, 'deviations', 'cubic', ?, ?, ?, ?, ?, ?)",
                        [(cell, *point) for point in points],
                    ) if points else None
                else:
                    connection.execute(
                        f"{INSERT} (?, 'deviations.inside', 'cubic', ?, '1', '')",
                        [cell, inside],
                    )
                    connection.execute(
                        f"{INSERT} (?, 'deviations.rounds', 'cubic', 9, '1', '')",
                        [cell],
                    )
            connection.execute(f"COPY rows TO '{file}' (FORMAT parquet)")
    return subject_of(path)


def made(kind: FigureKind, of: Subject, request: FigureRequest | None = None) -> Drawing:
    drawing = kind.make(of, request)
    assert isinstance(drawing, Drawing)
    return drawing


@pytest.mark.parametrize(
    "kind", [spectrum.KIND, ranges.KIND, loss_window.KIND], ids=lambda k: k.name
)
def test_theory_and_measurement_are_in_one_picture(kind: FigureKind, make_run: Maker) -> None:
    drawing = made(kind, subject(make_run))
    with paper_style():
        figure = drawing.picture.draw("page")
    assert len(figure.axes) == 2  # a panel for each value of the sweep
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["loss = 0%, inside", "loss = 1%, inside"]
    words = {text.get_text() for text in figure.texts}
    assert "theory, p(w) measured" in words
    assert "theory, Gaussian cross traffic" not in words  # there is none here
    drawn = [np.asarray(line.get_xydata()) for line in figure.axes[0].lines]
    wanted = {
        "spectrum": ([20, -0.05], [18, -0.07]),
        "ranges": ([100, 18], [100, 17]),
        "loss_window": ([10, 0.1], [10, 0.2]),
    }[kind.name]
    points = np.concatenate(drawn)
    for point in wanted:
        assert (np.abs(points - point).sum(axis=1) < 1e-9).any()


def test_spectra_are_what_a_report_of_them_begins_with(make_run: Maker) -> None:
    of = subject(make_run)
    figures = [(None, made(kind, of)) for kind in (rates.KIND, spectrum.KIND, ranges.KIND)]
    found = {figure.name: figure.section for figure in with_picture(of, figures)}
    assert [name for name, section in found.items() if section == SECTION] == ["spectrum"]


def test_whether_it_is_inside_is_said_in_words(make_run: Maker) -> None:
    of = subject(make_run, inside=0.0)
    (measure,) = of.results.select("deviations.inside")
    found = entry(of.results, measure, of.results.group(measure, of.run.configurations[0]))
    assert found.median is not None
    assert (found.median.text, float(found.median.exact)) == ("no", 0.0)


def test_a_flow_outside_the_envelope_is_named(make_run: Maker) -> None:
    drawing = made(spectrum.KIND, subject(make_run, inside=0.0))
    assert "outside" in drawing.caption and "inside" not in drawing.alt


def test_other_ccas_have_no_verdict(make_run: Maker) -> None:
    empirical = tuple(p for p in POINTS if "." not in p[0])
    drawing = made(spectrum.KIND, subject(make_run, inside=None, points=empirical))
    with paper_style():
        figure = drawing.picture.draw("column")
    assert "theory, p(w) measured" not in {text.get_text() for text in figure.texts}
    assert "No theory" in drawing.alt


def test_no_curves(make_run: Maker) -> None:
    with pytest.raises(NothingToDraw, match="has the curves of `spectrum`"):
        made(spectrum.KIND, subject(make_run, points=()))

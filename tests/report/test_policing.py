"""The figure of users' buckets: whom it shows, and that it draws levels below zero."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from requested_figures import subject_of

from fairc.mechanisms.devices.policer import figure as buckets
from fairc.mechanisms.devices.policer.figure import MOST_USERS
from fairc.runtime.formatting import MINUS
from fairc.runtime.report.build import build
from fairc.runtime.report.figures import NothingToDraw
from fairc.runtime.report.figures.style import paper_style
from fairc.runtime.report.render import render
from fairc.runtime.report.run import Run
from fairc.runtime.store.columns import TABLES

Maker = Callable[..., Path]
USERS = MOST_USERS + 2


def policed(path: Path) -> Path:
    """Give every cell of a run a policer; user n drops n packets in each slot, and goes down to
    -n.
    """
    rows: list[tuple[object, ...]] = []
    for cell in Run(path).outcomes.values():
        for number in range(USERS):
            for slot in range(1, 41):
                level = 20 - number - slot / 2
                row = (cell.cell, "left-right", f"user-{number}", slot / 10, level)
                rows.append((*row, 9, 2, 1, 3, number))
    columns = ", ".join(f"{column.name} {column.type}" for column in TABLES["buckets"].columns)
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE t ({columns})")
        marks = ", ".join("?" * len(TABLES["buckets"].columns))
        connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        connection.execute(f"COPY t TO '{path}/tables/buckets.parquet' (FORMAT parquet)")
    return path


@pytest.mark.usefixtures("page_width")
def test_the_users_with_the_most_drops_are_shown(make_run: Maker) -> None:
    subject = subject_of(policed(make_run(repeat=1, duration_s=4.0)))
    assert buckets.KIND.is_due(subject)
    drawing = buckets.by_default(subject)
    svg = render(drawing).svg["page"]
    assert all(f"user-{n}" in svg for n in range(2, USERS))
    assert "user-0" not in svg and "user-1" not in svg
    assert f"more than {MOST_USERS} users" in drawing.caption
    assert f"down to {MINUS}{USERS - 1} tokens" in drawing.alt
    assert drawing.picture is not None
    with paper_style():
        (axes,) = drawing.picture.draw("page").axes
    low, high = axes.get_ylim()
    assert low < -(USERS - 1) and high > 20 - 2 - 0.5  # of user 2, in the first slot


def test_a_run_without_policers_has_no_such_figure(make_run: Maker) -> None:
    subject = subject_of(make_run(repeat=1, duration_s=4.0))
    assert not buckets.KIND.is_due(subject)
    with pytest.raises(NothingToDraw):
        buckets.by_default(subject)


@pytest.mark.full
def test_the_figure_is_in_the_report(make_run: Maker) -> None:
    path = policed(make_run())
    (report, *_) = build(path)
    assert "Buckets of the policer" in report.read_text(encoding="utf-8")

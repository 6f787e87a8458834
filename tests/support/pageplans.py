"""A plan of page loads shaped like the satellite study, for the fake engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from fairc.compiler import plan
from fairc.compiler.plan import Cell, FigureRequest, PageObject, Selection, cell_json
from fairc.mechanisms.workloads.load.cell import LoadWorkload

from madeweb import CLIENT_ADDRESS, Protocol, web_cell  # isort: skip

S = 10**9
EXPERIMENT = "pages"
ACCESSES = ("geo(pep: split)", "4g")
TARGETS = ("page(53kB)", "page(7kB, 2kB, 2kB)")
HTTP = ("h2", "h3")
# Rate, bit/s, and one-way delay, ns.
_NETWORKS = {"geo(pep: split)": (25_000_000, 375_000_000), "4g": (5_000_000, 40_000_000)}
_PAGES = {
    "page(53kB)": (PageObject(path="/", bytes=53_000, type="image/png", parent=None),),
    "page(7kB, 2kB, 2kB)": (
        PageObject(path="/", bytes=7000, type="text/html", parent=None),
        PageObject(path="/1.png", bytes=2000, type="image/png", parent=0),
        PageObject(path="/2.png", bytes=2000, type="image/png", parent=0),
    ),
}
_PROTOCOLS: dict[str, tuple[Protocol, ...]] = {"h2": ("h2", "h2", "h2"), "h3": ("h2", "h3", "h3")}
METRICS = ("plt", "ttr", "connect", "fcp", "lcp", "sequence", "cpu")
SECOND = Selection(text="load == 2", names=("load",), rows=(("2",),))
CDF = {"by": "http"}
BOXES: dict[str, str | float | tuple[str, ...]] = {
    "by": ("load", "http"),
    "facet": ("access", "target"),
    "notch": "on",
    "test": "welch",
    "ci": 0.95,
}
FIGURES = (
    FigureRequest(kind="boxplot", metric="plt", options=BOXES),
    FigureRequest(kind="cdf", metric="plt", options={"by": "http"}, where=SECOND),
    FigureRequest(
        kind="cdf",
        metric="ttr",
        options={"by": "http", "facet": ("access", "target")},
        where=SECOND,
    ),
    FigureRequest(kind="sequence", metric="sequence", options={"by": "http"}, where=SECOND),
)


def cell(access: str, target: str, http: str, repetition: int) -> Cell:
    """A cell of the study: one test unit of one variant."""
    rate, delay = _NETWORKS[access]
    made = web_cell(
        protocols=_PROTOCOLS[http],
        client="chromium",
        split="pep" in access,
        rate_bps=rate,
        delay_ns=delay,
        limit_bytes=rate * delay // (4 * S),
        bindings={"access": access, "target": target, "http": http},
        repetition=repetition,
    )
    workload = made.flows[0].workload
    assert isinstance(workload, LoadWorkload)
    workload = replace(workload, page=_PAGES[target])
    flow = replace(
        made.flows[0],
        workload=workload,
        name="web",
        declared="web",
        client_address=CLIENT_ADDRESS,
    )
    number = ACCESSES.index(access) * 4 + TARGETS.index(target) * 2 + HTTP.index(http)
    return replace(
        made,
        id=f"{number:08x}{repetition:08x}",
        experiment=EXPERIMENT,
        configuration=f"{number:016x}",
        seed=1000 * number + repetition,
        flows=(flow,),
    )


def write_plan(
    folder: Path, repeat: int, figures: Sequence[FigureRequest] = FIGURES, title: str = "Pages"
) -> Path:
    """Write a compiled plan of all configurations; returns its folder."""
    points = list(product(ACCESSES, TARGETS, HTTP))
    cells = [cell(*point, repetition) for point in points for repetition in range(1, repeat + 1)]
    header = plan.Plan(
        experiment=EXPERIMENT,
        title=title,
        citation="",
        file="pages.fexp",
        source="fexp 1\n",
        source_sha256="cd" * 32,
        axes=tuple(
            plan.Axis(name=name, values=values)
            for name, values in (("access", ACCESSES), ("target", TARGETS), ("http", HTTP))
        ),
        repeat=repeat,
        seed=1,
        configurations=len(points),
        excluded=0,
        cells=len(cells),
        measure=tuple(plan.MetricRequest(name=name) for name in METRICS),
        figures=tuple(figures),
        varied=("the waits of each load",),
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(header.model_dump_json(indent=2), encoding="utf-8")
    with (folder / "cells.jsonl").open("w", encoding="utf-8") as lines:
        lines.writelines(cell_json(one) + "\n" for one in cells)
    return folder

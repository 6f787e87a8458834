"""Statistical tests in figures that an experiment asks for."""

from __future__ import annotations

from itertools import combinations

from requested_figures import SWEEP, Maker, planned, requested, run_of, texts_of, values_of

from fairc.runtime.repetitions.reading import Measure, Outcome, Value
from fairc.runtime.repetitions.samples import Sample
from fairc.runtime.report.figures import (
    query,
)
from fairc.runtime.report.figures.boxplot import matched
from fairc.runtime.report.render import render
from fairc.runtime.statistics.paired import signed_rank
from fairc.runtime.statistics.two_samples import welch
from fairc.runtime.statistics.verdicts import holm

F = "fairness.F"


def test_boxes_with_tests(make_run: Maker) -> None:
    path = run_of(make_run, "boxplot(fairness.F, by: [loss, n], notch: on, test: welch)")
    subject, drawing = requested(path)
    every = [
        welch(
            values_of(subject, F, n=a, loss=loss)[None], values_of(subject, F, n=b, loss=loss)[None]
        )
        for loss in SWEEP["loss"]
        for a, b in combinations(SWEEP["n"], 2)
    ]
    p = holm([found.p for found in every if not isinstance(found, str)])[4]
    told = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    texts = texts_of(render(drawing).svg["page"])
    assert any(f"1 / 5: {told}" in text for text in texts)
    assert "loss = 1%, n = 5 (n = 6)" in texts
    assert "Welch's t-test between values of n" in drawing.caption


def test_tests_are_whole_in_the_narrowest_panel(make_run: Maker) -> None:
    losses = ("0.001%", "0.125%", "1.25%")
    report = "boxplot(fairness.F, by: loss, facet: n, test: wilcoxon)"
    path = run_of(make_run, report, {"loss": losses, "n": ("1", "2")})
    _, drawing = requested(path)
    for svg in render(drawing).svg.values():
        told = [text for text in texts_of(svg) if "p = " in text or "p < " in text]
        pairs = [part.partition(":")[0] for text in told for part in text.split("; ")]
        assert pairs == [" / ".join(pair) for pair in combinations(losses, 2)] * 2
        assert not any("…" in text for text in told)


def test_values_of_one_cell_have_no_test(make_run: Maker) -> None:
    path = make_run(
        sweep=SWEEP,
        axes=planned("", SWEEP).axes,
        repeat=6,
        duration_s=3.0,
        flows=("a", "b", "c"),
        users={"a": "light", "b": "light", "c": "heavy"},
        fairness=False,
        figures=tuple(
            f.model_copy(update={"options": {**f.options, "by": "users", "facet": ("loss", "n")}})
            for f in planned("boxplot(goodput, by: flow, notch: on, test: welch)").figures
        ),
    )
    _, drawing = requested(path)
    assert "No notch: values of one cell are not independent." in drawing.caption
    assert "No test: values of one cell are not independent." in drawing.caption


def test_a_mixture_has_no_band_no_notch_and_no_test(make_run: Maker) -> None:
    path = run_of(
        make_run,
        "line(fairness.F, x: n)  boxplot(fairness.F, by: n, notch: on, test: wilcoxon)",
        duration_s=1.0,
    )
    subject, drawing = requested(path)
    request = subject.run.plan.figures[0]
    found = query.load(subject, request)
    points = [query.Summing(found)(members) for _, members in found.groups(("n",))]
    assert [(e.n, e.low, e.reason) for e in points] == [(12, None, "mixes loss")] * 3
    _, boxes = requested(path, 1)
    for caption in (drawing.caption, boxes.caption):
        assert "Groups mix configurations, so they have no interval and no test" in caption
    assert not any("p =" in text for text in texts_of(render(boxes).svg["page"]))


def test_boxes_of_common_draws_are_tested_pair_by_pair(make_run: Maker) -> None:
    path = run_of(
        make_run, "boxplot(fairness.F, by: [loss, n], test: wilcoxon)", common=("the starts",)
    )
    subject, drawing = requested(path)
    assert "Wilcoxon's signed-rank test of the differences in each repetition" in drawing.caption
    of = {
        (loss, n): values_of(subject, F, n=n, loss=loss)[None]
        for loss in SWEEP["loss"]
        for n in SWEEP["n"]
    }
    every = [
        signed_rank([y - x for x, y in zip(of[loss, a], of[loss, b], strict=True)]).p
        for loss in SWEEP["loss"]
        for a, b in combinations(SWEEP["n"], 2)
    ]
    texts = texts_of(render(drawing).svg["page"])
    assert any(f"1 / 5: p = {holm(every)[4]:.3f}" in text for text in texts)


def test_loads_pair_although_their_protocols_differ() -> None:
    """Second loads over HTTP/2 against those over HTTP/3: the protocol follows from `http`."""

    def load(http: str, protocol: str, repetition: int, value: float) -> Sample:
        keys = {"http": http, "protocol": protocol, "repetition": str(repetition), "load": "2"}
        outcome = Outcome(f"{http}{repetition}", http, repetition, "1", "ok", "valid", ())
        return Sample(keys, Value(Measure("plt", None, "s"), outcome, value))

    first = [load("h2", "h2", 1, 3.3), load("h2", "h2", 2, 3.4)]
    second = [load("h3", "h3", 2, 6.9), load("h3", "h3", 1, 6.8), load("h3", "h3", 3, 7.0)]
    assert matched(first, second, "http") == ([3.3, 3.4], [6.8, 6.9])

"""The numbers and words that a report begins with."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fairc.runtime.formatting import (
    MINUS,
    Scale,
    base_unit,
    decimals_for,
    listed,
    number,
    one_line,
    quantity,
    scale_for,
)
from fairc.runtime.report.answer import MAX_COLUMNS, answer, dominance, entries
from fairc.runtime.report.build import build
from fairc.runtime.report.key_figures import basis, leading, tiles
from fairc.runtime.report.run import Run
from fairc.runtime.report.summary import Results
from fairc.runtime.statistics import median

pytestmark = pytest.mark.usefixtures("without_drawing")
GOODPUT = "goodput"
F = "fairness.F"

Maker = Callable[..., Path]


def test_the_page_has_the_numbers_of_the_tables(make_run: Maker) -> None:
    path = make_run(sweep={"loss": ("0%", "1%")}, repeat=7)
    run = Run(path)
    expected = run.rows(
        "SELECT configuration, flow, quantile_cont(value, 0.5), count(*) FROM metrics"
        " JOIN cells USING (cell) WHERE metric = 'goodput' GROUP BY ALL ORDER BY ALL"
    )
    found = answer(run, Results(run))
    shown = sorted(
        (g.configuration.id, e.measure.flow, float(e.median.exact), e.n)
        for g in found.groups
        for e in g.entries
        if e.measure.metric == GOODPUT and e.median
    )
    assert len(shown) == 4
    assert [(c, f, n) for c, f, _, n in shown] == [(c, f, n) for c, f, _, n in expected]
    assert [v for *_, v, _ in shown] == pytest.approx([v for *_, v, _ in expected])
    page = build(path)[0].read_text(encoding="utf-8")
    printed = dict(re.findall(r'<data value="([^"]+)">([^<]+)</data>', page))
    for _, _, value, _ in shown:
        text = printed[repr(value)].replace(MINUS, "-")
        assert math.isclose(float(text), value / 1e6, abs_tol=0.0005)


def test_few_numbers_are_large_and_no_words_repeat_the_table(make_run: Maker) -> None:
    path = make_run()
    run = Run(path)
    results = Results(run)
    found = answer(run, results)
    assert found.sentences == ()
    (tile,) = tiles(results, found)
    assert [(e.measure.metric, e.measure.flow) for e in tile.numbers] == [
        (F, None),
        (GOODPUT, "cubic"),
        (GOODPUT, "bbr"),
    ]
    for content in (p.read_text(encoding="utf-8") for p in build(path, ["html", "md"])):
        assert "got 0." not in content
        assert content.count("95 % confidence intervals") == 1


def test_a_few_configurations_have_a_tile_each_and_a_sweep_has_none(make_run: Maker) -> None:
    run = Run(make_run(sweep={"loss": ("0%", "1%", "2%")}, duration_s=3.0))
    results = Results(run)
    made = tiles(results, answer(run, results))
    assert [t.heading for t in made] == ["loss = 0%", "loss = 1%", "loss = 2%"]
    assert [[e.measure.metric for e in t.numbers] for t in made] == [[F]] * 3
    many = Run(make_run(sweep={"loss": ("0%", "1%", "2%", "5%")}, duration_s=3.0))
    assert tiles(Results(many), answer(many, Results(many))) == ()


def test_fewer_than_six_repetitions_print_their_values_and_say_so_once(make_run: Maker) -> None:
    path = make_run(repeat=4)
    run = Run(path)
    found = answer(run, Results(run))
    assert basis(Results(run)) == (
        "Medians of 4 repetitions: too few for a 95 % confidence interval, which needs 6."
    )
    for entry in found.groups[0].entries:
        assert entry.low is None
        if not entry.note.startswith("all"):
            assert entry.note.startswith("values: ")
            assert len(entry.note.split(": ")[1].split(", ")) == 4
    assert build(path)[0].read_text(encoding="utf-8").count("too few for a 95 %") == 1


@pytest.mark.full
def test_single_repetitions_are_told_apart_by_signs_and_no_interval_is_claimed(
    make_run: Maker,
) -> None:
    path = make_run(repeat=1, sweep={"rtt": ("10ms", "20ms", "50ms", "100ms")})
    document = json.loads((path / "plan.json").read_text())
    (path / "plan.json").write_text(json.dumps(document | {"cells": 40}))
    (path / "cells.jsonl").write_text((path / "cells.jsonl").read_text() * 10)
    run = Run(path)
    found = answer(run, Results(run))
    (sides,) = [s for s in found.sentences if "dominate" in s]
    medians = [e.median for g in found.groups if (e := g.entry(Results(run).select(F)[0]))]
    below = sum(float(m.exact) < 0 for m in medians if m)
    assert sides.startswith(
        f"Of 4 configurations, the median of F is on the side of cubic in {below}, on that of bbr"
        f" in {4 - below} and closer than 0.01 to 0 in 0 (steady shares"
    )
    page = build(path)[0].read_text(encoding="utf-8")
    assert "40 cells in all, of which 4 cells have been run" in page
    survey = page.split('<table class="wide" data-sheet="table-answer">')[1].split("</table>")[0]
    assert "values: " not in survey, "each is its only value"
    assert basis(Results(run)) == "One repetition: single values, no intervals."


def test_zero_variance_has_no_interval(make_run: Maker) -> None:
    run = Run(make_run(constant=True))
    found = answer(run, Results(run))
    assert {e.note for e in found.groups[0].entries} == {"all 6 values are equal"}


def test_invalid_and_failed_cells_are_left_out_with_their_number(make_run: Maker) -> None:
    whole, bad = (
        Run(make_run(repeat=8)),
        Run(
            make_run(
                repeat=8,
                bad={
                    (0, 2): ("ok", "invalid", ["service rate 4 % below 1 Mbit/s"]),
                    (0, 3): ("ok", "flagged", ["CPU at 75 %"]),
                    (0, 5): ("failed", None, ["the guest hung"]),
                },
            )
        ),
    )
    group = answer(bad, Results(bad)).groups[0]
    assert group.left_out == 2
    assert {e.n for e in group.entries} == {6}
    results, everything = Results(bad), Results(whole)
    measure = results.select(F)[0]
    kept = results.group(measure, bad.configurations[0]).values
    full = everything.group(measure, whole.configurations[0]).values
    assert kept == [v for i, v in enumerate(full, 1) if i not in (2, 5)]
    invalid = results.group(measure, bad.configurations[0])
    assert (invalid.left_out, len(invalid.members), len(invalid.numbers)) == (2, 8, 7)
    page = html.unescape(build(bad.path)[0].read_text(encoding="utf-8"))
    assert "2 of 8 cells left out" in page
    for reason in ("service rate 4 % below 1 Mbit/s", "CPU at 75 %", "the guest hung"):
        assert reason in page
    assert "repetition 5 (0000000000000005)" in page


def test_a_value_that_is_not_defined_says_why(make_run: Maker) -> None:
    run = Run(make_run(repeat=7, undefined={(0, 4): "the sessions never competed"}))
    found = answer(run, Results(run))
    entry = next(e for e in found.groups[0].entries if e.measure.metric == F)
    assert entry.n == 6
    why = "not defined in 1 of 7 repetitions: the sessions never competed"
    assert entry.remark.endswith(why)
    nothing = Run(make_run(repeat=1, undefined={(0, 1): "the sessions never competed"}))
    entry = next(
        e for e in answer(nothing, Results(nothing)).groups[0].entries if e.measure.metric == F
    )
    assert (entry.n, entry.median, entry.note) == (0, None, "the sessions never competed")
    page = build(nothing.path)[0].read_text(encoding="utf-8")
    assert (
        '<td class="n">\N{EN DASH}</td>\n<td class="n"><span class="note">the sessions never'
        in page
    )


@pytest.mark.full
def test_a_dash_in_a_sweep_has_its_reason_beside_it(make_run: Maker) -> None:
    why = "the sessions never competed"
    path = make_run(repeat=1, sweep={"loss": ("0%", "1%")}, undefined={(0, 1): why})
    page, text = (p.read_text(encoding="utf-8") for p in build(path, ["html", "md"]))
    assert f'\N{EN DASH}<span class="note">{why}</span>' in page
    assert f"\N{EN DASH} ({why})" in text


def test_what_no_configuration_has_is_a_sentence_and_no_column(make_run: Maker) -> None:
    why = "it is defined for two sessions, not 4"
    undefined = {(0, 1): why, (1, 1): why}
    path = make_run(repeat=1, sweep={"loss": ("0%", "1%")}, undefined=undefined)
    run = Run(path)
    found = answer(run, Results(run))
    names = {e.measure.metric for e in found.columns}
    assert F not in names and "fairness.jain_session" in names
    assert f"No value: Session fairness F ({why})." in found.sentences
    assert f"({why})." in build(path)[0].read_text(encoding="utf-8")


def test_what_is_named_last_has_no_column_where_there_are_too_many(make_run: Maker) -> None:
    path = make_run(sweep={"loss": ("0%", "1%", "2%", "5%")}, duration_s=3.0)
    ask(path, "rtt", "srtt", "utilization", "loss_rate", "goodput", "fairness")
    found = answer(Run(path), Results(Run(path)))
    order = list(dict.fromkeys(e.measure.metric.partition(".")[0] for e in found.columns))
    asked = ["rtt", "srtt", "utilization", "loss_rate", "goodput", "fairness"]
    assert order == [name for name in asked if name in order]
    assert len(found.columns) == MAX_COLUMNS
    assert found.elsewhere == "Jain's index, session; Jain's index, mean of slots"
    page, text = (p.read_text(encoding="utf-8") for p in build(path, ["html", "md"]))
    assert "For these the table has no room: " in page and "has no room: " in text


@pytest.mark.parametrize("sweep", [{}, {"loss": ("0%", "1%")}])
def test_behind_a_token_bucket_losses_stand_for_tokens(
    make_run: Maker, sweep: dict[str, tuple[str, ...]]
) -> None:
    why = "a token bucket polices bytes, and counts no congestion"
    values = (("tokens", None, "1/s", why), ("loss", 0.02, "1", ""))
    more = tuple(
        (place, number, f"policing.{name}", "cubic", value, unit, reason)
        for place in range(len(sweep) + 1)
        for number in (1, 2)
        for name, value, unit, reason in values
    )
    path = make_run(fairness=False, repeat=2, sweep=sweep, more=more, duration_s=2.0)
    ask(path, "policing")
    run = Run(path)
    found = answer(run, Results(run))
    columns = [e.what for e in found.columns]
    assert columns[-1] == "policing.loss of cubic"
    assert len(columns) == (1 if sweep else 2)
    assert (f"No value: policing.tokens of cubic ({why})." in found.sentences) == bool(sweep)


def test_results_that_are_not_defined_are_not_called_repetitions_that_do_not_count(
    make_run: Maker,
) -> None:
    path = make_run(repeat=1, undefined={(0, 1): "the sessions never competed"})
    ask(path, "fairness")
    run = Run(path)
    assert run.configurations[0].counted
    assert answer(run, Results(run)).sentences == ()


def test_the_order_of_measure_is_that_of_tiles_and_table(make_run: Maker) -> None:
    path = make_run()
    for first, second in (("fairness", "goodput"), ("goodput", "fairness")):
        ask(path, "rtt", first, second)
        run = Run(path)
        results = Results(run)
        found = answer(run, results)
        order = list(dict.fromkeys(e.measure.metric.partition(".")[0] for e in found.columns))
        assert order == ["rtt", first, second]
        assert leading(results) == found.columns[0].measure
        (tile,) = tiles(results, found)
        assert tile.numbers[0].measure.metric == "rtt.mean"
        ask(path, first, second)
        (tile,) = tiles(Results(Run(path)), answer(Run(path), Results(Run(path))))
        order = list(dict.fromkeys(e.measure.metric.partition(".")[0] for e in tile.numbers))
        assert order == [first, second]


@pytest.mark.full
def test_what_had_not_ended_and_what_moves_is_said_beside_the_value(make_run: Maker) -> None:
    """fct.mean leaves out 3 of 10 transfers in each of 7 repetitions; plt is 1 to 5 s, and twice
    endless.
    """
    times: list[float | None] = [1.0, None, 2.0, 3.0, None, 4.0, 5.0]
    path = make_run(
        repeat=7,
        moves={(0, repetition): 0.01 for repetition in (1, 2)} | {(0, 3): 0.10},
        more=(
            *(
                (0, r, "fct.mean", "cubic", 1.0 + r, "s", "", None, None, 3, 10)
                for r in range(1, 8)
            ),
            *(
                (
                    0,
                    r,
                    "plt",
                    "bbr",
                    t,
                    "s",
                    "" if t else "the load failed",
                    1,
                    "h2",
                    int(t is None),
                    1,
                )
                for r, t in enumerate(times, 1)
            ),
        ),
    )
    run = Run(path)
    results = Results(run)
    (configuration,) = run.configurations
    entered = {e.measure.label: e for e in entries(run, results, results.measures, configuration)}
    mean = "21 of 70 transfers had not ended and are left out, so the mean is too small"
    load = "larger than any value in 2 of 7 repetitions: the load failed"
    moving = "still moving (KPSS): it depends on when it was taken"
    assert entered["fct.mean of cubic"].remark == mean
    plt = entered["plt of bbr, load 1"]
    assert plt.median is not None
    assert (plt.median.exact, plt.n, plt.ends, plt.remark) == ("4.0", 7, None, load)
    assert "\N{INFINITY}" in plt.note
    assert entered["goodput of cubic"].remark == moving
    assert entered["goodput of bbr"].remark == "", "it has no test: its rate is its own"
    assert entered["rtt.mean of bbr"].remark == f"flows are {moving}", "it depends on cubic"
    assert entered["fairness.F"].remark.endswith(f"flows are {moving}")
    assert entered["fairness.F"].aside and moving not in entered["fairness.F"].aside
    assert (entered["goodput of cubic"].aside, plt.remarks) == ("", (load,))
    for file in build(path, ("html", "md")):
        text = file.read_text(encoding="utf-8")
        assert mean in text and load in text and moving in text
    written = {file.name: file.read_text(encoding="utf-8") for file in build(path, ("csv",))}
    assert any(mean in text for text in written.values())


def test_null_numbers_and_texts(make_run: Maker) -> None:
    columns = Run(make_run(repeat=1, duration_s=1.0)).columns(
        "SELECT * FROM (VALUES (1, 'a', true, 1.5), (NULL, NULL, NULL, NULL)) AS t(i, s, b, d)"
    )
    assert columns["s"].tolist() == ["a", None]
    for name, first in (("i", 1.0), ("b", 1.0), ("d", 1.5)):
        assert columns[name][0] == first
        assert math.isnan(columns[name][1])


def test_no_cell_counts(make_run: Maker) -> None:
    reasons = ["base RTT is 70 ms"]
    path = make_run(repeat=2, bad={(0, r): ("ok", "invalid", reasons) for r in (1, 2)})
    run = Run(path)
    assert answer(run, Results(run)).sentences == ("No repetition counts, so there is no result.",)
    page = build(path)[0].read_text(encoding="utf-8")
    assert "No figure <code>rates</code>" in page


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((-0.3, -0.2, -0.2, -0.1, -0.25, -0.15), "dominant: a"),
        ((0.3, 0.2, 0.2, 0.1, 0.25, 0.15), "dominant: b"),
        ((-0.3, 0.2, 0.2, 0.1, 0.25, 0.15), "dominant: undecided, the interval contains 0"),
        ((-0.002, -0.001, -0.0014, -0.0012, -0.0018, -0.0011), "dominant: neither, within ±0.01"),
        ((-0.002, 0.001, 0.0014, 0.0012, -0.0018, 0.0011), "dominant: neither, within ±0.01"),
        ((0.03, 0.004, 0.004, 0.005, 0.006, 0.005), "dominant: undecided, the median is within"),
        ((-0.3, 0.2), "dominant: a in 1 and b in 1 of 2 repetitions"),
        ((-0.3, 0.0014), "dominant: a in 1 of 2 repetitions"),
        ((0.2,), "dominant: b"),
        ((-0.0014,), "dominant: neither, within ±0.01"),
        ((0.0, 0.0), "dominant: neither, within ±0.01"),
    ],
)
def test_dominant_side(values: tuple[float, ...], words: str) -> None:
    assert dominance(median(values), values, ("a", "b")).startswith(words)


@pytest.mark.parametrize("repeat", [6, 1])
def test_the_summary_counts_no_noise_as_dominance(make_run: Maker, repeat: int) -> None:
    """One configuration for each verdict, by F of its repetitions."""
    of_each = {
        "-0.2": (-0.2, -0.21, -0.22, -0.23, -0.24, -0.25),
        "-0.0014": (-0.0014, -0.0011, -0.0012, -0.0015, -0.0016, -0.0017),
        "0.1": (0.1, 0.11, 0.12, 0.13, 0.14, 0.15),
        "0": (-0.1, 0.11, -0.12, 0.13, 0.0, 0.15),
    }
    more = tuple(
        (place, number, F, None, value, "1", "")
        for place, values in enumerate(of_each.values())
        for number, value in enumerate(values[:repeat], 1)
    )
    path = make_run(
        sweep={"x": tuple(of_each)}, fairness=False, repeat=repeat, more=more, duration_s=2.0
    )
    run = Run(path)
    (said,) = [s for s in answer(run, Results(run)).sentences if "dominate" in s]
    counts = (
        "cubic dominates in 1, bbr in 1, 1 shows no difference and 1 is undecided. One dominates"
        if repeat == 6
        else "the median of F is on the side of cubic in 2, on that of bbr in 1 and closer than"
        " 0.01 to 0 in 1 (steady"
    )
    assert said.startswith(f"Of 4 configurations, {counts}")
    assert ("no difference" in said) is (repeat == 6), "one value shows neither"
    assert "shares of 55 % and 45 % give" in said


@pytest.mark.full
def test_a_sweep_has_a_row_for_each_configuration(make_run: Maker) -> None:
    sweep = {"loss": ("0%", "1%", "2%", "5%"), "rtt": ("10ms", "50ms", "100ms", "300ms")}
    path = make_run(sweep=sweep, repeat=6, duration_s=3.0)
    run = Run(path)
    found = answer(run, Results(run))
    assert len(found.groups) == 16
    assert all("medians from" not in sentence for sentence in found.sentences)
    # In the order of the axes' values, not of the text: 10ms, 50ms, 100ms.
    assert [g.configuration.label for g in found.groups[:3]] == [
        "loss = 0%, rtt = 10ms",
        "loss = 0%, rtt = 50ms",
        "loss = 0%, rtt = 100ms",
    ]
    page, text = (p.read_text(encoding="utf-8") for p in build(path, ["html", "md"]))
    table = page.split('<table class="wide" data-sheet="table-answer">')[1].split("</table>")[0]
    assert table.count("<tr>") == 1 + 16
    assert len(re.findall(r"(?m)^\| \d%.*", text.split("## What was run")[0])) == 16


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1e6, "bit/s", "1 Mbit/s"),
        (610_000, "bit/s", "0.61 Mbit/s"),
        (1e8, "bit/s", "100 Mbit/s"),
        (2.5e9, "bit/s", "2.5 Gbit/s"),
        (500, "bit/s", "500 bit/s"),
        (12_500, "B", "12.5 kB"),
        (0.05, "s", "50 ms"),
        (0.0, "s", "0 µs"),
        (-0.12, "1", f"{MINUS}0.12"),
    ],
)
def test_quantities(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


def test_numbers_and_lists() -> None:
    assert number(-0.0, 2) == "0.00"
    assert number(-1e-12, 2) == "0.00"
    assert number(0.009, 1) == "0.0090", "two significant digits, whatever its column"
    assert number(-0.0123, 1) == f"{MINUS}0.012"
    assert number(12.34, 1) == "12.3"
    assert decimals_for([12.3, 0.1]) == 1
    assert scale_for("pkt", [3.0]).unit == "pkt"
    assert scale_for("bit/s^2", [85_839_066.0, 6e6]) == Scale(1e6, "Mbit/s^2")
    assert base_unit("Mbit/s^2") == "bit/s^2"
    assert [base_unit(unit) for unit in ("ms", "kB", "pkt", "")] == ["s", "B", "pkt", ""]
    assert scale_for("bit", [900.0]) == Scale(1.0, "bit")
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdefghijklmno")).endswith("l and 3 more")
    assert one_line("a\n b\x07") == "a b\N{REPLACEMENT CHARACTER}"


def test_the_answer_is_what_was_asked_for(make_run: Maker) -> None:
    path = make_run(fairness=False)
    ask(path, "rtt")
    found = answer(Run(path), Results(Run(path)))
    assert {e.measure.metric for e in found.columns} == {"rtt.mean"}
    entry = found.groups[0].entries[0]
    assert entry.median is not None
    (tile,) = tiles(Results(Run(path)), found)
    assert [e.what for e in tile.numbers] == ["rtt.mean of cubic", "rtt.mean of bbr"]


@pytest.mark.parametrize(("value", "there"), [(None, False), (2.5, True)])
def test_a_page_load_time_that_nobody_asked_for_is_there_if_it_has_a_value(
    make_run: Maker, value: float | None, there: bool
) -> None:
    """`harm` asks every metric that it compares, those of page loads among them."""
    reason = "" if value else "no flow loads pages"
    more = tuple((0, n, "plt", None, value, "s", reason) for n in range(1, 7))
    path = make_run(fairness=False, more=more)
    ask(path, "rtt")
    found = answer(Run(path), Results(Run(path)))
    assert ("plt" in {e.measure.metric for e in found.columns}) == there
    ask(path, "plt")
    found = answer(Run(path), Results(Run(path)))
    assert "plt" in {e.measure.metric for e in found.columns}


@pytest.mark.parametrize(("engine", "by_default"), [("uml", True), ("vm", False)])
def test_what_an_engine_varies_by_default_is_among_what_the_seeds_varied(
    make_run: Maker, engine: str, by_default: bool
) -> None:
    path = make_run(engine=engine)
    plan = json.loads((path / "plan.json").read_text(encoding="utf-8"))
    (path / "plan.json").write_text(json.dumps(plan | {"varied": []}), encoding="utf-8")
    build(path, ("html", "md"))
    for name in ("report.html", "report.md"):
        page = (path / name).read_text(encoding="utf-8")
        assert ("(by the engine's default)" in html.unescape(page)) == by_default
        assert ("Nothing: the plan declares no difference" in page) == (not by_default)


def test_a_survey_has_what_was_asked_for_up_to_its_width(make_run: Maker) -> None:
    path = make_run(sweep={"loss": ("0%", "1%", "2%", "5%")}, duration_s=3.0)
    ask(path, "goodput", "rtt", "utilization", "fairness")
    found = answer(Run(path), Results(Run(path)))
    metrics = [e.measure.metric for e in found.columns]
    assert len(metrics) == MAX_COLUMNS and metrics.count("rtt.mean") == 2
    assert metrics[:2] == ["goodput", "goodput"] and metrics[4] == "utilization"
    assert metrics[5:] == ["fairness.F", "fairness.jain_session", "fairness.jain_slots"]


def ask(run: Path, *metrics: str) -> None:
    """Change what the plan of a run measures."""
    file = run / "plan.json"
    plan = json.loads(file.read_text(encoding="utf-8"))
    plan["measure"] = [{"name": metric} for metric in metrics]
    file.write_text(json.dumps(plan), encoding="utf-8")


def test_goodputs_over_different_times_say_so(make_run: Maker) -> None:
    page = build(make_run(ends_s={"bbr": 37.4}))[0].read_text(encoding="utf-8")
    answered = page[page.index(">The answer<") : page.index(">What was run<")]
    assert answered.count("from 0 to 60 s") == answered.count("from 0 to 37 s") == 2, "tile, row"
    sentence = "The goodput of each flow is over the flow's own time. These times differ, so"
    assert html.unescape(answered).count(sentence) == 1
    scale = f"0 where both get the same, {MINUS}0.5 where cubic gets all, 0.5 where bbr does."
    assert answered.count(f"Session fairness F: {scale}") == 1
    alike = build(make_run(ends_s={"bbr": 59.0}))[0].read_text(encoding="utf-8")
    assert "own time. These times differ" not in alike and "from 0 to" not in alike


def test_a_sweep_counts_configurations_with_different_times(make_run: Maker) -> None:
    run = Run(make_run(sweep={"loss": ("0%", "1%")}, ends_s={"cubic": 20.0}))
    sentences = answer(run, Results(run)).sentences
    assert any("These times differ in 2 of 2 configurations" in each for each in sentences)


@pytest.mark.usefixtures("without_drawing")
def test_times_that_all_configurations_have_stand_in_a_sentence(make_run: Maker) -> None:
    """Beside each value they would hide it; the CSV has them in every row."""
    losses = ("0%", "1%", "2%", "5%")
    path = make_run(sweep={"loss": losses}, ends_s={"cubic": 20.0}, repeat=2)
    page, text, *tables = (
        p.read_text(encoding="utf-8") for p in build(path, ("html", "md", "csv"))
    )
    said = "own time (cubic from 0 to 20 s and bbr from 0 to 60 s). These times differ in 4 of 4"
    for shown in (html.unescape(page), text):
        assert said in shown and shown.count("from 0 to 20 s") == 1
    (rows,) = [table for table in tables if table.startswith("loss,n,")]
    assert rows.count("goodput of cubic: from 0 to 20 s") == 4

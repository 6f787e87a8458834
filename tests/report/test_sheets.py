"""Every table of the report as CSV and LaTeX: the numbers of the page, and texts that stay
texts.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fairc.runtime.formatting import Number
from fairc.runtime.report.build import build
from fairc.runtime.report.differences import differences, settings
from fairc.runtime.report.invocation import overrides
from fairc.runtime.report.latex import as_tex
from fairc.runtime.report.run import Run
from fairc.runtime.report.sheet import Sheet, as_csv
from fairc.runtime.report.summary import Results

GOODPUT = "goodput"

Maker = Callable[..., Path]
HOSTILE = r"\input{/etc/passwd} $x_1^2$ & 50 % #1 ~ {a} [b] | <c>"


def sheet(*rows: tuple[str | Number | tuple[Number, Number], ...]) -> Sheet:
    head = (("name (ms)", False), ("value (Mbit/s)", True), ("95 % interval", True))
    return Sheet("s", "tables", "A title", "", head, rows)


TWO = Number("2.00", "2000000.0"), Number("3.50", "3500000.1")


def test_csv_has_exact_values_in_si_units_and_no_formula() -> None:
    text = as_csv(sheet(("rtt (ms)", TWO[0], TWO), ("=cmd()", TWO[1], "too few")))
    assert list(csv.reader(io.StringIO(text))) == [
        ["name (s)", "value (bit/s)", "95 % interval low", "95 % interval high"],
        ["rtt (s)", "2000000.0", "2000000.0", "3500000.1"],
        ["'=cmd()", "3500000.1", "too few", ""],
    ]


def test_latex_is_booktabs_as_printed_and_holds_no_command_of_a_text() -> None:
    text = as_tex(sheet((HOSTILE, Number("\N{MINUS SIGN}2.00", "-2.0"), TWO), ("b", TWO[1], "")))
    assert "\\toprule" in text and "} r r@{}}" in text
    assert "& $-$2.00 & {[}2.00,{} 3.50{]} \\\\" in text
    own = text.split("\\midrule\n")[1].split(" & $-$2.00")[0]
    assert "\\input" not in own and "\\textbackslash{}input\\{/etc/passwd\\}" in own
    assert not re.search(r"(?<!\\)[$&#_%]", own.replace("\\textbackslash{}", ""))


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        (
            "[x] *",
            "{[}x{]} {*}",
        ),  # at the start of a row it would be an option of the `\\` before it
        ("--set a,,b ?`", "-{}-{}set a,{},{}b ?{}\\textasciigrave{}"),  # else one character each
        ("µ × ≥ − – — σ é ğ", "\\textmu{} × $\\geq$ $-$ -- --- $\\sigma$ é ğ"),  # noqa: RUF001
        ("\N{CJK UNIFIED IDEOGRAPH-4E2D} ħ", "{[}U+4E2D{]} {[}U+0127{]}"),  # no glyph
        ("e\N{COMBINING ACUTE ACCENT}", "é"),
        ("a\nb\x00", "a b{[}U+FFFD{]}"),
    ],
)
def test_characters_that_latex_would_read_otherwise(text: str, tex: str) -> None:
    assert f"\n{tex} & 2.00 &" in as_tex(sheet((text, TWO[0], "")))


def test_the_title_cannot_leave_its_comment() -> None:
    text = as_tex(Sheet("s", "tables", "a\n\\input{b}\u2028é", "", (("c", False),), (("d",),)))
    assert text.splitlines()[0] == "% a \\input{b} ?"


def test_long_texts_wrap_and_words_without_spaces_can_be_broken() -> None:
    text = as_tex(sheet(("word " * 30, TWO[0], ""), ("0123456789" * 7, TWO[0], "")))
    assert ">{\\raggedright\\arraybackslash}p{" in text
    assert "01234567\\allowbreak{}89012345\\allowbreak{}" in text
    assert "p{" not in as_tex(sheet(("short", TWO[0], TWO)))


def test_settings_of_transports_and_of_the_command_line_are_two_files(make_run: Maker) -> None:
    run = Run(make_run(repeat=1, duration_s=1.0))
    sheets = [settings(run), differences(run), overrides(run).settings]
    assert len({sheet.name for sheet in sheets}) == len(sheets)


def test_every_table_of_the_report_is_written(make_run: Maker) -> None:
    path = make_run(
        sweep={"loss": ("0%", "1%")},
        repeat=6,
        duration_s=5.0,
        bad={(1, 2): ("ok", "invalid", ["rate, too low"])},
    )
    plan = json.loads((path / "plan.json").read_text("utf-8"))
    (path / "plan.json").write_text(json.dumps(plan | {"deviates": ["no cross traffic"]}), "utf-8")
    made = build(path, ["csv", "tex"])
    names = {
        "answer",
        "autocorrelation",
        "cells",
        "comparisons",
        "deviations",
        "lock",
        "metrics",
        "reasons",
        "validity",
    }
    assert {p.name for p in made} == {f"table-{n}.{s}" for n in names for s in ("csv", "tex")}
    assert [p.read_bytes() for p in made] == [p.read_bytes() for p in build(path, ["csv", "tex"])]
    with (path / "figures/table-answer.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    run = Run(path)
    results = Results(run)
    for row, configuration in zip(rows, run.configurations, strict=True):
        for measure in results.select(GOODPUT):
            own = results.group(measure, configuration).median
            name = f"goodput of {measure.flow}"
            assert float(row[f"{name} (bit/s)"]) == own.value
            if own.low is not None:
                assert float(row[f"{name}, 95 % interval (bit/s) low"]) == own.low
    assert rows[1]["n"] == "5"

"""Diagnostics as text and as JSON."""

from __future__ import annotations

import json

from fairc.dsl import (
    Diagnostic,
    Diagnostics,
    Label,
    Severity,
    Source,
    Span,
    render_concise,
    render_full,
    render_json,
    runnable,
)

SOURCE = Source("a.fexp", "fexp 1\n\tx = 5  # \x1b[31mred\ny = 6\n")
OTHER = Source("b.fexp", "let z = 7\n")
ONE = Diagnostic(
    "some-code",
    "something is wrong",
    Span(SOURCE, 12, 13),
    "here",
    labels=(Label(Span(OTHER, 4, 5), "defined here"),),
    notes=("because",),
    help="do something",
)


def test_full_form() -> None:
    assert render_full([ONE]).splitlines() == [
        "error[some-code]: something is wrong",
        " --> a.fexp:2:6",
        "  |",
        "2 |  x = 5  # �[31mred",
        "  |      ^ here",
        " ::: b.fexp:1:5",
        "  |",
        "1 | let z = 7",
        "  |     - defined here",
        "  = note: because",
        "help: do something",
    ]


def test_colours_change_nothing_but_colours() -> None:
    import re

    coloured = render_full([ONE], colour=True)
    assert "\x1b[1;31m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render_full([ONE])


def test_concise_form() -> None:
    assert render_concise([ONE]) == "a.fexp:2:6: error[some-code]: something is wrong (here)\n"


def test_json_form() -> None:
    (found,) = json.loads(render_json([ONE]))
    assert found["code"] == "some-code"
    assert found["severity"] == "error"
    assert found["place"] == {
        "file": "a.fexp",
        "line": 2,
        "column": 6,
        "end_line": 2,
        "end_column": 7,
        "start": 12,
        "end": 13,
    }
    assert found["labels"][0]["place"]["file"] == "b.fexp"
    assert json.loads(render_json([])) == []


def test_many_are_cut() -> None:
    many = [Diagnostic("c", f"number {i}") for i in range(60)]
    assert render_full(many).endswith("... and 10 more\n")
    assert render_concise(many).count("\n") == 60


def test_long_lines_are_cut_around_the_caret() -> None:
    source = Source("long.fexp", "x" * 5000 + "!" + "y" * 5000)
    text = render_full([Diagnostic("c", "m", Span(source, 5000, 5001))])
    assert max(len(line) for line in text.splitlines()) < 200
    line, caret = text.splitlines()[3:5]
    assert line[caret.index("^")] == "!"


def test_what_cannot_run_becomes_an_error() -> None:
    warning = Diagnostic("not-yet", "x cannot run yet", severity=Severity.WARNING)
    other = Diagnostic("small-queue", "small", severity=Severity.WARNING)
    strict = runnable(Diagnostics([warning, other]))
    assert [(d.code, d.severity) for d in strict] == [
        ("not-yet", Severity.ERROR),
        ("small-queue", Severity.WARNING),
    ]

"""A syntax error hides no other error, and brings none that is only its consequence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairc.dsl import Source, load
from fairc.dsl.text.borders import Borders
from fairc.dsl.text.recovery import read
from fairc.dsl.text.syntax_errors import SyntaxErrors

RIGHT = """fexp 1

experiment e {
  sweep { depth = [1bdp, 2bdp] }
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(depth))
  flow a { cca = cubic  workload = file(1MB) }
  flow b {
    cca      = bbr
    workload = file(1MB)
  }
  repeat  = 6
  measure = [
    goodput,
    fairness,
  ]
}
"""


def found(*changes: tuple[str, str]) -> list[tuple[str, int]]:
    """Return code and line of everything that is found in a changed file."""
    text = RIGHT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    made, diagnostics = load(Source("file.fexp", text))
    assert made is None
    return [(d.code, d.span.line if d.span else 0) for d in diagnostics]


def test_the_file_is_right() -> None:
    made, diagnostics = load(Source("file.fexp", RIGHT))
    assert made is not None and not list(diagnostics)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("sweep { depth = [1bdp, 2bdp] }", "sweep depth = [1bdp, 2bdp]", 4),
        ("rate: 1Mbit/s, rtt", "rate: 1Mbit/s rtt", 5),
        ("topology = bottleneck", "topology bottleneck", 5),
        ("flow a { cca = cubic", "flow a { cca = = cubic", 6),
        ("flow a {", "flow {", 6),
        ("cca      = bbr", "cca      = = bbr", 8),
        ("cca      = bbr", "cca      bbr", 8),
        ("repeat  = 6", "repeat  = = 6", 11),
        ("goodput,", "goodput,,", 13),
        ("fifo(depth))", "fifo(depth)", 6),
    ],
)
def test_one_slip_is_one_error_and_others_are_said(old: str, new: str, line: int) -> None:
    """The wrong CCA of the other flow is said, too; the name of what is left out is not missed."""
    assert found((old, new)) == [("syntax", line)]
    if "cubic" not in new and line != 6:
        assert sorted(found((old, new), ("cca = cubic", "cca = cubik"))) == [
            ("syntax", line),
            ("unknown-cca", 6),
        ]


def test_several_mistakes_are_all_reported() -> None:
    assert found(
        ("rate: 1Mbit/s, rtt", "rate: 1Mbit/s rtt"), ("flow a {", "flow {"), ("= 6", "= = 6")
    ) == [("syntax", 5), ("syntax", 6), ("syntax", 11)]


A = "flow a { cca = cubic  workload = file(1MB) }"


@pytest.mark.parametrize(
    ("old", "new", "typo"),
    [
        (A, A.removesuffix(" }"), 7),
        (A, f"{A} }}", 6),
        ("flow a {", "flow a", 6),
        ("flow b {", "flow b", 8),
        ("  flow a", "  link x -- y\n  flow a", 6),
        (A, f"flow c {{ let x = 5ms  cca = cubic  workload = bulk  stop = 9s }}\n  {A}", 6),
        ("fifo(depth))", "fifo(depth)", 6),
        ("repeat  = 6", 'title = "x\n  repeat  = 6', 11),
        ("repeat  = 6", "repeat  = \u201c6\u201d", 11),
        ("1Mbit/s", "1 Mbit/s", 5),
    ],
)
def test_a_typo_hides_no_other_error(old: str, new: str, typo: int) -> None:
    """The unknown CCA of the other flow is said wherever the typo is; nothing else is."""
    wrong = 8 + (typo in (6, 7) and "\n" in new)
    said = found((old, new), ("= bbr", "= bbbr"))
    assert ("unknown-cca", wrong) in said and sorted(line for _, line in said) == sorted(
        [typo, wrong]
    )


@pytest.mark.parametrize(
    "text",
    [
        # No bracket is open before the keyword, although a brace is missing in the whole.
        (
            "experiment e {\n  flow f { holds = ) median ( x ) }\n  topology t ( rate c2 1 , hop"
            " = 2 ) {\n}"
        ),
        # The `let` stands outside of the statement that is broken.
        (
            "topology t { link a -- b rate = 1Mbit/s } }\nlet \n1ms]\nexperiment e {\n  exclude z"
            " <- ms\n}"
        ),
    ],
)
def test_braces_that_do_not_fit_are_said(text: str) -> None:
    made, diagnostics = load(Source("file.fexp", f"fexp 1\n{text}\n"))
    assert made is None and diagnostics.errors


def test_a_file_that_ends_too_early_is_read_as_far_as_it_goes() -> None:
    text = RIGHT.replace("= cubic", "= cubik").rstrip().removesuffix("}")
    _, diagnostics = load(Source("file.fexp", text))
    assert [d.code for d in diagnostics] == ["unknown-cca", "unexpected-end"]
    text = RIGHT.replace("= cubic", "= cubik").replace(
        "    workload = file(1MB)\n  }", "    workload = file(1MB)"
    )
    _, diagnostics = load(Source("file.fexp", text))
    assert [d.code for d in diagnostics] == ["unknown-cca", "unexpected-end"]
    (label,) = next(iter(d.labels for d in diagnostics if d.labels))
    assert label.span.line == 7, "the block that is not closed, by its indentation"


def test_the_rest_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty errors cost no twenty parses."""
    calls, original = [0], SyntaxErrors.watch

    def watch(*arguments: Any) -> Any:
        calls[0] += 1
        return original(*arguments)

    monkeypatch.setattr(SyntaxErrors, "watch", watch)
    typos = "".join(f"  flow f{n} {{ cca = = cubic }}\n" for n in range(15))
    codes = [code for code, _ in found(("  repeat", f"{typos}  repeat"))]
    assert codes == ["syntax"] * 15 and calls[0] == 1


def test_the_statement_around_an_error() -> None:
    text = "a {\n  b = [\n    1,\n    2\n  ]\n  c = 3\n}\n"
    begin, end = Borders(text).statement(text.index("2"))
    assert text[begin:end] == "  b = [\n    1,\n    2\n  ]"
    begin, end = Borders(text).statement(text.index("3"))
    assert text[begin:end] == "  c = 3"


@given(
    st.integers(0, len(RIGHT) - 1),
    st.sampled_from(["", "{", "}", "(", ")", "=", ",", '"', "#", "x "]),
)
def test_nothing_but_blanks_is_put_into_a_file(place: int, sign: str) -> None:
    """Whatever is wrong, what is read keeps its places, and nothing but diagnostics comes out."""
    source = Source("file.fexp", RIGHT[:place] + sign + RIGHT[place + 1 :])
    got = read(source)
    assert got.file is not None or got.found
    load(source)

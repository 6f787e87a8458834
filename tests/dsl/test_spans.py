"""Every node of every tree has a span that lies inside its parent's."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from strategies import Spec, specs

from fairc.dsl import CompileError, Source, load
from fairc.dsl.text.parser import parse
from fairc.dsl.text.syntax import Name, Node, Word

STUDIES = sorted((Path(__file__).parents[2] / "examples/studies").glob("*.fexp"))


def assert_spans(node: Node) -> int:
    """Assert that a node and all below it have spans; return how many there are."""
    count = 1
    assert 0 <= node.span.start <= node.span.end <= len(node.span.source.text)
    if isinstance(node, Word | Name):
        assert node.span.text.startswith(node.text)
    for child in node.children():
        assert node.span.start <= child.span.start <= child.span.end <= node.span.end
        count += assert_spans(child)
    return count


@pytest.mark.parametrize("name", ["quickstart", "satcom", "fmp", "youtube", "custom-topology"])
def test_specs(name: str, examples: Path) -> None:
    text = (examples / f"{name}.fexp").read_text()
    assert assert_spans(parse(Source(name, text))) > 50


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_studies(file: Path) -> None:
    assert assert_spans(parse(Source(file.name, file.read_text(encoding="utf-8")))) > 100


@given(specs())
def test_generated(spec: Spec) -> None:
    tree = parse(Source("file.fexp", spec.text))
    assert assert_spans(tree) == len(list(tree.walk()))


@pytest.mark.parametrize(
    "text",
    [
        "fexp 1 experiment_x { }",
        "fexp_1",
        "fexp 1 let_x = 5",
        "fexp 1 topology t { link_a -- b }",
        "fexp 1 topology t { node_a }",
        "fexp 1 experiment e { flow f[i] for_i in 1..4 { } }",
        "fexp 1 experiment e { sweep { x = [1] } exclude_a == b }",
        "fexp 1 experiment e { flow_a { } }",
    ],
)
def test_keywords_are_not_glued_to_names(text: str) -> None:
    parse(Source("file.fexp", text.replace("_", " ")))
    with pytest.raises(CompileError):
        parse(Source("file.fexp", text.replace("_", "")))


@pytest.mark.parametrize(
    "word",
    [
        *("link", "node", "sweep", "users", "flow", "topology", "report", "let", "fexp", "policer"),
        *("metric", "service", "template", "extends", "tunnel", "at", "every", "over", "down"),
        *("from", "to", "for", "when", "with"),
    ],
)
def test_keywords_are_free_as_keys_and_values(word: str) -> None:
    text = (
        f"fexp 1 let x = {word} experiment e {{ {word} = {word} a = [{word}] b = f({word}: {word})"
        f" }}"
    )
    tree = parse(Source("file.fexp", text))
    assert len([n for n in tree.walk() if isinstance(n, Name) and n.text == word]) == 4
    swept = f"fexp 1 experiment e {{ sweep {{ {word} = [1] ({word}, b) = [(1, 2)] }} }}"
    assert assert_spans(parse(Source("file.fexp", swept))) > 10


def test_everything_is_said_about_a_file_at_once() -> None:
    text = """fexp 1
experiment e {
  topology = botleneck(rate: 1Mbit/s)
  flow a { cca = cubik  workload = file(5ms)  count = -1 }
  duration = 5MB
  measure = [goodputt]
  report { heatmapp(goodput) }
  repeats = 5
}
"""
    codes = [d.code for d in load(Source("file.fexp", text))[1]]
    assert codes == [
        "unknown-topology",
        "unknown-cca",
        "wrong-dimension",
        "out-of-range",
        "wrong-dimension",
        "unknown-metric",
        "unknown-figure",
        "unknown-key",
    ]


def test_a_bracket_that_an_earlier_line_opens_is_shown_where_it_stands() -> None:
    text = "fexp 1\nexperiment e {\n  topology = bottleneck(rate: 1Mbit/s\n  flow a { }\n}\n"
    _, (found,) = load(Source("e.fexp", text))
    assert found.span is not None and found.span.text == "flow"
    (label,) = found.labels
    assert (label.span.text, label.span.line) == ("(", 3)
    assert label.text == "this `(` is not closed"

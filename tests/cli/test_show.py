"""`fairc show`: every word has a page, wrong ones get a suggestion."""

from __future__ import annotations

import json

import pytest

from fairc.cli.show import pages
from fairc.dsl.core.source import Source
from fairc.dsl.expressions import functions
from fairc.dsl.text.parser import parse
from fairc.words.presets import TOPOLOGIES
from fairc.words.statements import FUNCTIONS, STATEMENTS, Statement

from .conftest import Fairc


def test_families_are_listed(fairc: Fairc) -> None:
    called = fairc("show").require(0)
    families = {line.split("  ")[0] for line in called.out.splitlines()}
    assert {
        "topologies",
        "queues",
        "CCAs over TCP",
        "metrics",
        "figures",
        "targets",
        "engines",
    } <= families


@pytest.mark.parametrize(
    ("unit", "line"),
    [
        (
            "bdp",
            "a multiple of the BDP: the rate of the slowest link on a flow's way times its base",
        ),
        ("Mbit/s", "a rate: 1,000,000 bit/s"),
        ("KiB", "a size: 8,192 bit"),
        ("%", "a percentage: 0.01"),
    ],
)
def test_units_have_pages(fairc: Fairc, unit: str, line: str) -> None:
    assert fairc("show", unit).out.startswith(f"{unit} (units): {line}")


@pytest.mark.parametrize("name", ["bottleneck", "dumbbell", "geo", "4g"])
def test_a_preset_is_its_text(fairc: Fairc, name: str) -> None:
    drawn, _, text = fairc("show", name).out.partition("\n")
    assert text == TOPOLOGIES[name].text
    assert drawn.startswith("# server -- ") and "client" in drawn


def test_a_metric_has_its_formula_and_source(fairc: Fairc) -> None:
    for name in ("fairness", "fairness.F"):
        out = fairc("show", name).out
        assert "fairness.F            = sum_i d_i * (1 - j_i) / S" in out
        assert "Source: Corbel et al." in out


def test_an_entry_has_parameters_with_units_and_defaults(fairc: Fairc) -> None:
    (page,) = json.loads(fairc("show", "fifo", "--format", "json").out)
    assert (page["name"], page["family"], page["runs"]) == ("fifo", "queues", True)
    (size,) = page["fields"]
    assert (size["name"], size["default"]) == ("size", "1000pkt")
    assert {"B", "kB", "pkt", "bdp", "ms"} <= set(size["units"])


def test_every_word_has_a_page(fairc: Fairc) -> None:
    everything = [page for words in pages().values() for page in words]
    for name in sorted({page.name for page in everything}):
        called = fairc("show", name)
        assert called.status == 0 and called.out.strip()
    assert len(json.loads(fairc("show", "--format", "json").out)) == len(everything)


@pytest.mark.parametrize("statement", (*STATEMENTS, *FUNCTIONS), ids=lambda s: s.name)
def test_statements_are_shown_as_they_are_written(fairc: Fairc, statement: Statement) -> None:
    out = fairc("show", statement.name).out
    assert statement.summary in out and statement.example.splitlines()[0] in out
    within = {
        "the first line": "{}",
        "a file": "fexp 1\n{}",
        "`experiment`": "fexp 1\nexperiment e {{ {} }}",
        "`topology`": "fexp 1\ntopology t {{ {} }}",
        "`link`": "fexp 1\ntopology t {{ link a -- b {{ {} }} }}",
    }
    place = within.get(statement.where, "fexp 1\n{}")
    parse(Source("file.fexp", place.format(statement.example)))


def test_every_function_has_a_page() -> None:
    assert {function.name for function in FUNCTIONS} == functions.BUILTINS.keys()


@pytest.mark.parametrize("name", ["repeat", "duration", "ecn", "warmup", "draws", "start"])
def test_keys_are_shown_with_their_kind(fairc: Fairc, name: str) -> None:
    out = fairc("show", name).out
    assert out.startswith(f"{name} (keys of ")


@pytest.mark.parametrize("name", ["ccas", "CCA", "cca"])
def test_a_family_by_any_of_its_names(fairc: Fairc, name: str) -> None:
    assert fairc("show", name).out.startswith("CCAs over TCP:\nbbr ")


def test_an_unknown_name_gets_a_suggestion(fairc: Fairc) -> None:
    called = fairc("show", "fairnes")
    assert (called.status, called.out) == (2, "")
    assert "did you mean `fairness`?" in called.err


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("tbf", "`transmit = bucket`"),
        ("cbr", "`bulk` over UDP"),
        ("qdisc", "did you mean `queue`?"),
    ],
)
def test_words_of_other_tools(fairc: Fairc, word: str, line: str) -> None:
    called = fairc("show", word)
    assert (called.status, line in called.err) == (2, True)

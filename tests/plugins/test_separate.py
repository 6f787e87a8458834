"""Words of the plug-ins that a release has in wheels of their own."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from fairc.dsl.core.plugins import SEPARATE
from fairc.dsl.core.registry import unknown
from fairc.dsl.core.source import Source, Span

PLUGINS = Path(__file__).parents[2] / "plugins"


def declared(folder: str) -> set[str]:
    """The metrics and figures that a plug-in's project declares."""
    points = tomllib.loads((PLUGINS / folder / "pyproject.toml").read_text())["project"][
        "entry-points"
    ]
    return {name for group in ("fairc.metrics", "fairc.figures") for name in points.get(group, {})}


def test_the_offered_words_are_those_that_the_plugins_declare() -> None:
    for folder in set(SEPARATE.values()):
        assert declared(folder) == {name for name, of in SEPARATE.items() if of == folder}


@pytest.mark.parametrize(("word", "name"), [("metric", "deviations"), ("figure", "spectrum")])
def test_a_word_that_is_not_installed_names_its_package(word: str, name: str) -> None:
    span = Span(Source("a.fexp", ""), 0, 0)
    found = unknown(word, word, name, ["goodput"], span)
    assert "pip install fairc_deviations-*.whl" in (found.help or "")


def test_other_kinds_of_words_are_not_offered() -> None:
    span = Span(Source("a.fexp", ""), 0, 0)
    assert "pip" not in (unknown("queue", "queue", "ranges", ["fifo"], span).help or "")

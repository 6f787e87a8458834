"""The figures of the words of links and hosts: none is missing, in the tree or on the pages."""

from __future__ import annotations

import importlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from specs import compilation_of, only_cell_of

from fairc.words.blocks.link import LINK

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs/img/links"
OTHER_WORDS = {
    "down",
    "enters",
    "idle_restart",
    "media",
    "min_rto",
    "notsent_lowat",
    "pmtu",
    "routes",
    "tunnel",
}
PHONE_PX = 390
PX_PER_PT = 96 / 72
LEAST_PX = 10


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    """The figures of the script, by name."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    found: Mapping[str, Any] = importlib.import_module("figures.__main__").FIGURES
    return found


def test_each_word_of_links_has_a_figure(figures: Mapping[str, Any]) -> None:
    """Add the missing one to scripts/figures, and run `make figures`."""
    assert {figure.word for figure in figures.values()} == OTHER_WORDS | {
        parameter.name for parameter in LINK
    }


def test_what_the_script_draws_is_in_the_tree(figures: Mapping[str, Any]) -> None:
    assert {path.stem for path in IMAGES.glob("*.svg")} == set(figures)


def test_one_page_shows_each_with_its_caption(figures: Mapping[str, Any]) -> None:
    text = "".join(page.read_text() for page in ROOT.glob("docs/learn/**/*.md"))
    for name, figure in figures.items():
        image = rf"!\[{re.escape(figure.caption)}\]\([./]*img/links/{name}\.svg\)"
        assert len(re.findall(image, text)) == 1


def test_figures_are_legible_on_a_phone(figures: Mapping[str, Any]) -> None:
    for name in figures:
        text = (IMAGES / f"{name}.svg").read_text()
        root = ET.fromstring(text)
        width_px = float(root.attrib["width"].removesuffix("pt")) * PX_PER_PT
        sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", text)]
        # The units of the drawing are points; exponents of powers are smaller.
        assert sizes and width_px <= PHONE_PX
        assert sorted(sizes)[len(sizes) // 2] * PX_PER_PT >= LEAST_PX
        assert len(text) < 100_000


def test_the_cell_has_a_link_of_each_figure(figures: Mapping[str, Any]) -> None:
    text = (ROOT / "scripts/figures/links.fexp").read_text()
    flows = {flow.name for flow in only_cell_of(text).flows}
    assert {name for name, each in figures.items() if each.cell == "links"} - {"transmit"} <= flows
    assert {"frames", "bucket"} <= flows


def test_further_figures_show_an_experiment_of_one_cell(figures: Mapping[str, Any]) -> None:
    text = (ROOT / "scripts/figures/hosts.fexp").read_text()
    for name in {figure.cell for figure in figures.values()} - {"links"}:
        assert len(list(compilation_of(text, experiment=name).cells())) == 1

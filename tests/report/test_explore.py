"""The explorer of a sweep: its data, safe; in a browser by mouse and keyboard; and without a script."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairc.compiler import plan
from fairc.runtime.report import explore
from fairc.runtime.report.build import build
from fairc.runtime.report.links import capacity, changing, named
from fairc.runtime.report.run import Run
from fairc.runtime.report.summary import Results

Maker = Callable[..., Path]
HOSTILE = "</script><script>document.title='owned'</script><!--"


def data_of(path: Path) -> dict[str, Any]:
    run = Run(path)
    found = explore.explored(run, Results(run))
    assert found is not None
    return found


def test_every_cell_has_its_seed_verdict_and_values(make_run: Maker) -> None:
    path = make_run(
        sweep={"loss": ("0%", "1%")},
        repeat=3,
        duration_s=20.0,
        bad={(1, 2): ("ok", "invalid", ["rate too low"]), (1, 3): ("failed", None, ["it hung"])},
    )
    found = data_of(path)
    assert found["heads"][0] == "Session fairness F"
    assert [c["label"] for c in found["configurations"]] == ["loss = 0%", "loss = 1%"]
    cells = found["configurations"][1]["cells"]
    assert [(c["repetition"], c["seed"], c["verdict"], c["reasons"]) for c in cells] == [
        (1, "1001", "valid", []),
        (2, "1002", "invalid", ["rate too low"]),
        (3, "1003", "failed", ["it hung"]),
    ]
    assert all(len(c["values"]) == len(found["heads"]) for c in cells)


@pytest.mark.usefixtures("without_drawing")
def test_of_many_cells_the_first_are_shown(
    make_run: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_run(sweep={"loss": ("0%", "1%")}, repeat=3, duration_s=2.0)
    assert "This table has" not in build(path)[0].read_text(encoding="utf-8")
    monkeypatch.setattr(explore, "MAX_CELLS", 5)
    found = data_of(path)["configurations"]
    assert [len(c["cells"]) for c in found] == [2, 2]
    assert [(c["valid"], c["number"]) for c in found] == [(3, 3), (3, 3)]
    text = build(path)[0].read_text(encoding="utf-8")
    assert "This table has the first 2 cells of each configuration" in text
    monkeypatch.setattr(explore, "MAX_CELLS", 1)
    text = build(path)[0].read_text(encoding="utf-8")
    assert "This table has the first cell of each configuration" in text


@pytest.mark.usefixtures("without_drawing")
def test_values_that_the_table_of_cells_lacks_are_told(make_run: Maker) -> None:
    path = make_run(sweep={"loss": ("0%", "1%")}, repeat=1, duration_s=2.0)
    assert data_of(path)["all"] and "has the first 4 values" not in build(path)[0].read_text(
        "utf-8"
    )
    header = json.loads((path / "plan.json").read_text(encoding="utf-8"))
    header["measure"] = [{"name": name} for name in ("fairness", "goodput", "rtt")]
    (path / "plan.json").write_text(json.dumps(header), encoding="utf-8")
    assert len(data_of(path)["heads"]) == explore.MAX_MEASURES == 4
    text = build(path)[0].read_text("utf-8")
    assert "This table has the first 4 values that <code>measure</code> names" in text


def test_json_cannot_end_its_element() -> None:
    text = explore.as_json({HOSTILE: [HOSTILE, "\u2028", None]})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {HOSTILE: [HOSTILE, "\u2028", None]}


@pytest.mark.usefixtures("without_drawing")
def test_one_configuration_has_no_script(make_run: Maker) -> None:
    text = build(make_run(repeat=1, duration_s=2.0))[0].read_text(encoding="utf-8")
    assert "<script" not in text and "script-src" not in text


@pytest.mark.usefixtures("without_drawing")
def test_the_policy_lets_one_script_through(make_run: Maker) -> None:
    path = make_run(sweep={"x": (HOSTILE, "b")}, repeat=1, duration_s=2.0)
    text = build(path)[0].read_text(encoding="utf-8")
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", text, re.DOTALL)
    assert [kind for kind, _ in scripts] == [' type="application/json" id="explore-data"', ""]
    digest = base64.b64encode(hashlib.sha256(scripts[1][1].encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    directives = html.unescape(policy[1])
    assert f"script-src 'sha256-{digest}';" in directives
    assert "unsafe" not in directives and directives.startswith("default-src 'none'; ")


def hop(name: str) -> plan.Node:
    ends = tuple(
        plan.Interface(name=f"{name}-eth{i}", address=f"10.9.{i}.1/30", source="a.fexp:1")
        for i in (0, 1)
    )
    return plan.Node(name=name, kind="hop", interfaces=ends, routes=())


def test_links_are_named_by_their_ends(make_run: Maker) -> None:
    (scene,) = Run(make_run(repeat=1, duration_s=1.0)).scenes.values()
    assert named(scene, "r1/r1-eth1") == "r1 → r2"
    assert named(scene, "nowhere/eth0") == "nowhere/eth0"
    through = [c for c in scene.cables if c.a != ("r1", "r1-eth1")]
    through += [
        plan.Cable(a=("r1", "r1-eth1"), b=("d", "d-eth0")),
        plan.Cable(a=("d", "d-eth1"), b=("r2", "r2-eth1")),
    ]
    split = replace(scene, nodes=(*scene.nodes, hop("d")), cables=tuple(through))
    assert named(split, "r1/r1-eth1") == "r1 → r2"
    assert named(split, "d/d-eth1") == "r1 → r2"
    assert named(split, "d/d-eth0") == "r2 → r1"


def test_capacity_is_the_mean_of_what_the_link_has_in_a_bin(make_run: Maker) -> None:
    (scene,) = Run(make_run(repeat=1, duration_s=1.0)).scenes.values()
    assert changing(scene) is None
    node = next(n for n in scene.nodes if n.name == "r1")
    link = next(i for i in node.interfaces if i.bottleneck)
    changes = (
        plan.Change(at_ns=0, rate_bps=4_000_000),
        plan.Change(at_ns=10**9, rate_bps=2_000_000),
    )
    moving = replace(link, changes=changes, repeat_ns=2 * 10**9)
    found = capacity(moving, np.array([0.0, 0.5, 1.5, 2.0, 4.0])) / 1e6
    assert found.tolist() == pytest.approx([4.0, 3.0, 2.0, 3.0])
    once = replace(link, changes=changes[1:])
    assert (capacity(once, np.array([0.0, 1.0, 2.0, 9.0])) / 1e6).tolist() == [1.0, 2.0, 2.0]


@pytest.fixture(scope="module")
def page(make_run: Maker) -> Path:
    values = ("1", "2", "3", "4")
    axes = (
        plan.Axis(name="n", values=values, numbers=(1.0, 2.0, 3.0, 4.0), unit="1"),
        plan.Axis(name="x", values=(HOSTILE, "b")),
    )
    bad = {(0, 1): ("ok", "invalid", [HOSTILE])}
    sweep = {axis.name: axis.values for axis in axes}
    return build(make_run(sweep=sweep, axes=axes, repeat=3, duration_s=10.0, bad=bad))[0]


def open_page(browser: Any, page: Path, width: int = 1100, *, script: bool = True) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
    browser.get_log("browser")
    browser.get(page.as_uri())


STATE = """
const own = document.getElementById("explore-cells");
const pressed = [...document.querySelectorAll("svg.page .pick[aria-pressed=true]")];
return {said: document.getElementById("explore-said").textContent,
  rows: [...own.rows].map(r => [...r.cells].map(c => c.textContent)),
  pressed: pressed.map(p => p.ariaLabel), title: document.title};
"""


@pytest.mark.full
@pytest.mark.parametrize("width", [1100, 390])
def test_choosing_in_the_picture_and_by_keyboard(browser: Any, page: Path, width: int) -> None:
    from selenium.webdriver.common.keys import Keys

    open_page(browser, page, width)
    shown = "page" if width == 1100 else "column"
    marks = browser.find_elements("css selector", f"#answer ~ figure svg.{shown} .pick")
    assert len(marks) == 8
    assert [m.get_attribute("tabindex") for m in marks].count("0") == 1, "Tab enters it once"
    browser.execute_script(
        "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", marks[4]
    )
    first = browser.execute_script(STATE)
    assert len(first["rows"]) == 3
    browser.execute_script(
        "document.querySelector(arguments[0]).focus()", f"svg.{shown} .pick[tabindex='0']"
    )
    names = []
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER):
        browser.switch_to.active_element.send_keys(key)
        names.append(browser.switch_to.active_element.get_attribute("aria-label"))
    assert len(set(names)) == 2 and names[0].startswith("n = 2") and names[1].startswith("n = 3")
    after = browser.execute_script(STATE)
    assert after["said"].startswith(names[1].split(":")[0])
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.full
def test_hostile_names_stay_text(browser: Any, page: Path) -> None:
    open_page(browser, page)
    browser.execute_script("document.getElementById('explore-next').click()")
    state = browser.execute_script(STATE)
    assert state["said"].startswith(f"n = 1, x = {HOSTILE}: ")
    assert state["title"] != "owned"
    assert state["rows"][0][1] == f"invalid{HOSTILE}"
    assert state["rows"][0][-2:] == ["1", "0000000000000001"], "seed and cell"
    assert browser.get_log("browser") == []


@pytest.mark.full
def test_without_a_script_the_static_figures_remain(browser: Any, page: Path) -> None:
    open_page(browser, page, script=False)
    try:
        panel = browser.find_element("id", "explore-panel")
        assert not panel.is_displayed()
        figures = browser.find_elements("css selector", "svg.page")
        assert len(figures) >= 4
        assert all(figure.is_displayed() for figure in figures)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.full
def test_pages_are_the_same_each_time(make_run: Maker) -> None:
    path = make_run(sweep={"n": ("1", "2")}, repeat=2, duration_s=5.0, connections=3)
    made = [build(path)[0].read_bytes() for _ in range(2)]
    for a, b in pairwise(made):
        assert a == b

"""The page in a real browser: it renders, loads nothing, fits a phone, prints, follows dark
mode.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chromium import LACKS

from fairc.runtime.report.build import build

pytestmark = pytest.mark.skipif(bool(LACKS), reason=LACKS)

Maker = Callable[..., Path]


@pytest.fixture(scope="module")
def reports(make_run: Maker) -> dict[str, Path]:
    sweep = {"latency": ("50ms", "300ms"), "loss": ("0%", "0.1%")}
    hurt = "<script>document.title='owned'</script>"
    names = ("a", "a_flow_with_a_very_long_name_indeed")
    return {
        "one": build(make_run(repeat=6, duration_s=20.0))[0],
        "sweep": build(make_run(sweep=sweep, repeat=6, duration_s=5.0))[0],
        "hostile": build(make_run(title=hurt, flows=names, repeat=2, duration_s=5.0))[0],
    }


def show(browser: Any, page: Path, width: int = 1100, scheme: str = "light") -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [feature]})
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri())


@pytest.mark.parametrize("name", ["one", "sweep", "hostile"])
def test_it_renders_and_loads_nothing(browser: Any, reports: dict[str, Path], name: str) -> None:
    show(browser, reports[name])
    assert browser.get_log("browser") == []
    requests = [
        message["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if (message := json.loads(entry["message"])["message"])["method"]
        == "Network.requestWillBeSent"
    ]
    assert [u for u in requests if not u.startswith("data:")] == [reports[name].as_uri()]
    heads = browser.execute_script(
        "return [...document.querySelectorAll('h2')].map(h => h.textContent)"
    )
    assert heads[0] == "The answer"
    assert len(browser.find_elements("css selector", "h1")) == 1
    figures = browser.execute_script(
        "return [...document.querySelectorAll('svg.page')].map(s => {"
        " const b = s.getBoundingClientRect(); return [b.width, b.height, s.ariaLabel]})"
    )
    assert len(figures) == (5 if name == "sweep" else 4), "a sweep has a picture of its own"
    for width, height, label in figures:
        assert width > 500
        assert height > 80
        assert label
    assert browser.execute_script("return document.title") != "owned"


@pytest.mark.parametrize("width", [360, 768, 1100])
@pytest.mark.parametrize("name", ["one", "sweep", "hostile"])
def test_it_fits(browser: Any, reports: dict[str, Path], name: str, width: int) -> None:
    show(browser, reports[name], width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    shown = browser.execute_script(
        "return [...document.querySelectorAll('svg.figure')]"
        ".filter(s => s.getBoundingClientRect().width > 0).map(s => s.getAttribute('class'))"
    )
    assert shown == ["figure column" if width == 360 else "figure page"] * (
        5 if name == "sweep" else 4
    )


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize("width", [390, 1280])
def test_the_first_table_of_a_sweep_needs_no_scrolling(
    browser: Any, make_run: Maker, width: int
) -> None:
    """Three swept names, and four metrics in eight columns; no value is hidden."""
    sweep = {
        "rate": ("4Mbit/s", "10Mbit/s"),
        "rtt": ("20ms", "60ms"),
        "queue": ("fifo(1bdp)", "dualpi2(step: 2pkt)"),
    }
    path = make_run(sweep=sweep, repeat=6, duration_s=2.0)
    plan = json.loads((path / "plan.json").read_text(encoding="utf-8"))
    plan["measure"] = [{"name": n} for n in ("fairness", "queue_delay", "utilization", "rtt")]
    (path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    show(browser, build(path)[0], width)
    wide, room, columns, hidden = browser.execute_script(
        """const table = document.querySelector('table[data-sheet=table-answer]');
        const cells = [...table.querySelectorAll('tbody td')];
        return [table.parentElement.scrollWidth, table.parentElement.clientWidth,
          table.querySelectorAll('thead th').length, cells.filter(c => {
            const b = c.getBoundingClientRect();
            return !b.width || b.left < 0 || b.right > innerWidth;}).length]"""
    )
    assert columns >= 10
    assert hidden == 0
    assert wide <= room
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_labels_stay_inside_their_figures(browser: Any, reports: dict[str, Path]) -> None:
    for width in (360, 1100):
        for name in ("one", "sweep", "hostile"):
            show(browser, reports[name], width)
            outside = browser.execute_script(
                """return [...document.querySelectorAll('svg.figure')].flatMap(svg => {
                  const box = svg.getBoundingClientRect();
                  return box.width === 0 ? [] : [...svg.querySelectorAll('text')].filter(t => {
                    const b = t.getBoundingClientRect();
                    return b.left < box.left - 1 || b.right > box.right + 1
                      || b.top < box.top - 1 || b.bottom > box.bottom + 1;
                  }).map(t => t.textContent)})"""
            )
            assert outside == [], (name, width)


CONTRAST = """
const lum = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
  .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
const ratio = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05); };
const paper = getComputedStyle(document.body).backgroundColor;
const words = [...document.querySelectorAll('p, th, td, h1, h2, h3, figcaption, caption, dt, dd')]
  .map(e => ratio(getComputedStyle(e).color, paper));
const lines = [...document.querySelectorAll('svg.page path')]
  .map(e => getComputedStyle(e)).filter(s => s.stroke.startsWith('rgb') && s.fill === 'none')
  .map(s => [s.stroke, ratio(s.stroke, paper)]);
const texts = [...document.querySelectorAll('svg.page text')]
  .map(e => ratio(getComputedStyle(e).fill, paper));
return {paper, words: Math.min(...words), texts: Math.min(...texts), lines};
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_in_light_and_dark(browser: Any, reports: dict[str, Path], scheme: str) -> None:
    show(browser, reports["one"], scheme=scheme)
    found = browser.execute_script(CONTRAST)
    assert (found["paper"] == "rgb(255, 255, 255)") == (scheme == "light")
    assert found["words"] >= 4.5
    assert found["texts"] >= 3
    colours = {colour for colour, ratio in found["lines"] if ratio >= 3}
    assert len(colours) >= 3


def test_it_prints(browser: Any, reports: dict[str, Path]) -> None:
    show(browser, reports["one"], scheme="dark")
    done = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})
    assert base64.b64decode(done["data"]).startswith(b"%PDF")
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    paint = browser.execute_script(
        "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    )
    assert paint == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    shown = browser.execute_script(
        "return [...document.querySelectorAll('details pre')]"
        ".map(p => p.checkVisibility() && p.getBoundingClientRect().height)"
    )
    assert len(shown) > 1
    assert all(height > 0 for height in shown)

"""The page and the text as files: self-contained, escaped, refused with a clear error."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from waiting import completed

from fairc.runtime.report.build import build
from fairc.runtime.report.page import _code
from fairc.runtime.report.run import ReportError

Maker = Callable[..., Path]
HOSTILE = """</title><script>alert("1")</script>'"&amp;`| $x^$ ﷽"""


class Page(HTMLParser):
    """Collects tags, and attributes that could load something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset", "action", "data", "xlink:href"):
                self.loads.append((tag, value or ""))
            assert not name.startswith("on"), (tag, name)
            assert name != "style", tag


def parsed(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    return page


def test_nothing_is_loaded_and_the_policy_fits(make_run: Maker) -> None:
    text = build(make_run(repeat=2, duration_s=5.0))[0].read_text(encoding="utf-8")
    page = parsed(text)
    assert "script" not in page.tags
    for tag, target in page.loads:
        assert (tag, target) == ("link", "data:,") or target.startswith("#")
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    directives = html.unescape(policy[1])
    assert directives.startswith("default-src 'none'; ")
    assert f"style-src 'sha256-{digest}'" in directives
    assert directives.endswith("base-uri 'none'; form-action 'none'")
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize("cells", [12, 13])
def test_a_reason_of_many_cells_folds_their_list(make_run: Maker, cells: int) -> None:
    bad = {(0, r): ("ok", "invalid", ["base RTT is 70 ms"]) for r in range(1, cells + 1)}
    path = make_run(repeat=14, duration_s=2.0, bad=bad)
    page, text = (p.read_text(encoding="utf-8") for p in build(path, ("html", "md")))
    many = cells > 12
    assert (f"<details><summary>{cells} cells</summary>repetition 1 (" in page) is many
    assert ("- invalid: base RTT is 70 ms (13 cells: `figures/table-reasons.csv`" in text) is many


def test_what_is_measured_comes_first(make_run: Maker) -> None:
    """In the definitions, and in the command that prints a table."""
    text = build(make_run(repeat=2, duration_s=5.0))[0].read_text(encoding="utf-8")
    defined = re.findall(r"<summary><code>(\w+)</code>", text)
    assert defined.index("fairness") < defined.index("goodput")
    assert re.search(r"fairc table results/\w+ fairness<", text)


@pytest.mark.usefixtures("page_width")
def test_hostile_texts_stay_text(make_run: Maker) -> None:
    """No name can hold any of it; values of a sweep can, and all else that people read."""
    path = make_run(
        title=HOSTILE,
        sweep={"x": (HOSTILE, "$\\frac{x}$`|", "</svg><script>alert(3)</script>")},
        repeat=2,
        duration_s=3.0,
        source=f"# {HOSTILE}\n```\n</pre><script>alert(4)</script>\n",
        bad={(0, 1): ("ok", "invalid", ["<img src=x onerror=alert(5)>"])},
    )
    lock = {"<script>": HOSTILE, "list": [{"a": 1}, {"b": [1, 2]}]}
    (path / "lock.json").write_text(json.dumps(lock), encoding="utf-8")
    page_file, text_file, *_ = build(path, ["html", "md"])
    text = page_file.read_text(encoding="utf-8")
    page = parsed(text)
    assert page.tags.count("script") == 2, "the explorer and its data (test_explore.py)"
    assert "img" not in page.tags
    assert page.tags.count("title") == 1
    assert html.escape(HOSTILE.split("`")[0], quote=False) in text.replace("&#34;", '"').replace(
        "&#39;", "'"
    )
    markdown = text_file.read_text(encoding="utf-8")
    outside = re.sub(r"(?s)(````+)text\n.*?\n\1\n", "", markdown)
    assert "<script" not in outside
    assert "<img" not in outside


@pytest.mark.usefixtures("without_drawing")
def test_sections_are_in_order(make_run: Maker) -> None:
    path = make_run(repeat=2, duration_s=3.0)
    page, text = (p.read_text(encoding="utf-8") for p in build(path, ["html", "md"]))
    for content, pattern in ((page, r"<h2[^>]*>([^<]+)</h2>"), (text, r"(?m)^## (.+)$")):
        heads = re.findall(pattern, content)
        assert heads[0] == "The answer"
        wanted = ["Validity", "All metrics", "What the metrics are", "Run it again"]
        assert [h for h in heads if h in wanted] == wanted
    for content in (page, text):
        for needle in (
            "2 flows over a 1 Mbit/s bottleneck",
            "6.12.43+deb12",
            "fexp 1",
            "uniform in 0 to 50 ms",
            "fairc run quickstart.fexp",
            "Engine: vm (a Linux machine in virtual time, without root).",
        ):
            assert needle in content


def test_backticks_set_code_and_nothing_else() -> None:
    assert _code("a `<b>` c") == "a <code>&lt;b&gt;</code> c"
    assert _code("a ` <c>") == "a ` &lt;c&gt;"


@pytest.mark.usefixtures("without_drawing")
def test_invented_results_are_called_so(make_run: Maker) -> None:
    path = make_run(repeat=1, duration_s=2.0, engine="fake")
    for file in build(path, ["html", "md"]):
        assert "Engine: fake (invented results, for tests of fairc itself)." in file.read_text(
            "utf-8"
        )


@pytest.mark.usefixtures("without_drawing")
def test_what_forced_a_slower_engine_is_said(make_run: Maker) -> None:
    why = "flow `<b>` uses a BPF congestion controller (line 9), which uml cannot load"
    path = make_run(repeat=1, duration_s=2.0, engine_reasons=(why,) * 4)
    page, text = (p.read_text("utf-8") for p in build(path, ["html", "md"]))
    said = "congestion controller (line 9), which uml cannot load. "
    for content in (page, text):
        assert "without root). Flow " in content
        assert content.count(said) == 3
        assert "And 1 more, in plan.json." in content
    assert "<b> uses" not in page and "<b>` uses" not in page


@pytest.mark.usefixtures("without_drawing")
def test_confirmatory_and_exploratory(make_run: Maker) -> None:
    text = build(make_run(repeat=2, duration_s=3.0), ["md"])[0].read_text(encoding="utf-8")
    kinds = {
        row.split("|")[1].strip(): row.split("|")[-2].strip()
        for row in text.splitlines()
        if row.endswith(("confirmatory |", "exploratory |"))
    }
    assert kinds["fairness.floor"] == "confirmatory"
    assert kinds["utilization"] == "exploratory"


@pytest.mark.usefixtures("without_drawing")
def test_without_fairness(make_run: Maker) -> None:
    page = build(make_run(fairness=False, repeat=2, duration_s=3.0))[0]
    assert "No figure <code>fairness</code>: no fairness was measured" in page.read_text("utf-8")


@pytest.mark.usefixtures("without_drawing")
def test_errors_are_clear(make_run: Maker, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="no such directory"):
        build(tmp_path / "none")
    with pytest.raises(ReportError, match=r"has no plan\.json"):
        build(tmp_path)
    good = make_run(repeat=1, duration_s=2.0)
    with pytest.raises(ReportError, match=r"'htlm'; known: csv, html, md, pdf, svg, tex"):
        build(good, ["htlm"])

    def broken(name: str, change: Callable[[Path], object]) -> Path:
        copy = tmp_path / name
        shutil.copytree(good, copy)
        change(copy)
        return copy

    with pytest.raises(ReportError, match="fairc run"):
        build(broken("a", lambda p: (p / "tables" / "slots.parquet").unlink()))
    with pytest.raises(ReportError, match=r"slots\.parquet cannot be read"):
        build(broken("b", lambda p: (p / "tables" / "slots.parquet").write_bytes(b"rubbish")))
    with pytest.raises(ReportError, match="not a plan of this version"):
        build(broken("c", lambda p: (p / "plan.json").write_text('{"version": 9}')))
    with pytest.raises(ReportError, match=r"plan\.json .* Invalid JSON"):
        build(broken("d", lambda p: (p / "plan.json").write_text("{")))
    with pytest.raises(ReportError, match=r"cells\.jsonl:1 is not a cell"):
        build(broken("e", lambda p: (p / "cells.jsonl").write_text("{}\n")))


def test_importing_what_writes_numbers_is_light() -> None:
    code = (
        "import sys, fairc.runtime.formatting;"
        "print([m for m in ('numpy', 'matplotlib', 'duckdb', 'scipy') if m in sys.modules])"
    )
    done = completed([sys.executable, "-c", code], check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.usefixtures("without_drawing")
def test_what_the_page_links_to_is_on_it(make_run: Maker) -> None:
    """A report is read where fairc is not installed, or elsewhere: definitions cite nothing
    outside.
    """
    page_file, text_file = build(make_run(repeat=2, duration_s=3.0), ["html", "md"])
    page, text = (path.read_text(encoding="utf-8") for path in (page_file, text_file))
    targets = {target for tag, target in parsed(page).loads if tag == "a"}
    assert {"#rule-15", "#rule-17"} <= targets  # of fairness
    assert targets <= {f"#{name}" for name in re.findall(r' id="([^"]+)"', page)}
    for number in ("15", "16", "17"):
        assert f"Rule {number}: " in text
    for content in (page, text):
        assert not re.search(r"\w\.md\b", content)


@pytest.mark.usefixtures("without_drawing")
def test_deviations_from_the_study_and_the_time_of_the_lock(make_run: Maker) -> None:
    path = make_run(repeat=1, duration_s=2.0)
    document = json.loads((path / "plan.json").read_text("utf-8"))
    texts = ["no cross traffic", "<script>alert(1)</script> | 2"]
    document |= {"deviates": texts, "citation": "A study, 2019"}
    (path / "plan.json").write_text(json.dumps(document), "utf-8")
    page, text = (file.read_text("utf-8") for file in build(path, ["html", "md"]))
    table = html.unescape(page.split('id="deviations"')[1].split("</table>")[0])
    assert "A study, 2019" in table
    assert table.index(texts[0]) < table.index(texts[1])
    assert "<script>alert(1)" not in page
    assert "| 1 | no cross traffic |" in text
    said = "The experiment was locked on 2026-11-22 06:19 UTC, before any cell had a result."
    assert said in page and said in text, (
        "by what was declared, of a lock without a time of its own"
    )
    lock = json.loads((path / "lock.json").read_text("utf-8"))
    lock["locked"] = {"at": "2026-11-20T01:02:03Z", "results": 4}
    (path / "lock.json").write_text(json.dumps(lock), "utf-8")
    assert "The experiment was locked on 2026-11-20 01:02 UTC, when 4 results existed." in build(
        path
    )[0].read_text("utf-8")

"""Hostile words in what a spec may say freely: title, names, values, comments; shown by canaries
where they come out.
"""

from __future__ import annotations

import csv
import html.parser
import io
import json
import random
import re
import zipfile
from functools import cache
from typing import Any

import canaries
import yaml
from canaries import CANARY

from fairc import dsl
from fairc.compiler import Cell, compile
from fairc.compiler.plan import Plan, parse_cell
from fairc.runtime.report import explore
from torture.fault import Try, fault, require, stage
from torture.sandbox import CONTROL, Sandbox, preload

from .documents import genuine

SPEC = """fexp 1
# {comment}
topology t() {{
  node s  router r  node c
  link s -- r {{ rate = 20Mbit/s }}
  link r -- c {{ rate = 2Mbit/s  delay = 10ms  queue = fifo(20pkt) }}
}}
experiment {experiment} {{
  title = "{title}"
  topology = t()
  sweep {{ {axis} = [{values}] }}
  flow {flow} {{ from = s  to = c  cca = {axis}  workload = file(60kB) }}
  flow other {{ from = s  to = c  cca = bbr  workload = file(60kB) }}
  repeat = 2
  measure = [goodput, fairness]
  report {{ boxplot(goodput, by: {axis})  cdf(goodput) }}
}}
"""
# What a title may not hold is refused; the canaries of `tests/support/canaries.py` are taken.
TEXTS = (
    *canaries.TEXTS,
    *(f"\x1b]0;{CANARY}\x07", f"\x9b2J{CANARY}", f"a\rb{CANARY}", f"\u202e{CANARY}\u2066"),
    *(f"javascript:{CANARY}()", f"&lt;script&gt;{CANARY}()", f"$x^{{{CANARY}$", "$$", "_^%#~{}"),
    *(f"=HYPERLINK({CANARY})", f"+{CANARY}", f"@SUM({CANARY})", f"\\\\write18{{touch {CANARY}}}"),
    *("\ufdfd" * 20, "x" * 199, "\u0301" * 50, "", " "),
)
NAMES = (
    *("a", "script", "x" * 40, "constructor", "__proto__", "_", "id"),
    *("select", "count", "value", "flow", "cell"),
)


class Page(html.parser.HTMLParser):
    """What a page holds that could act.

    One script is the report's own; next to it stands what it shows, as JSON.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._script: str | None = None

    def handle_data(self, data: str) -> None:
        """Note scripts that are not the report's own."""
        if self._script == "application/json":
            if not isinstance(json.loads(data), dict) or re.search("[<>&]", data):
                self.found.append("data that could end their script")
        elif self._script is not None and data != explore.script():
            self.found.append("<script>")
        self._script = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note handlers and addresses that lead elsewhere."""
        if tag == "script":
            self._script = dict(attrs).get("type") or ""
            if set(dict(attrs)) - {"type", "id"}:
                self.found.append("<script> with other attributes")
        if tag in ("iframe", "object", "embed", "base", "form", "foreignobject"):
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            if name.startswith("on") or (name == "style" and CANARY in (value or "")):
                self.found.append(f"{tag} {name}")
            if name in ("src", "href", "xlink:href", "action") and not _near(value or ""):
                self.found.append(f"{tag} {name}={value}")


def _near(address: str) -> bool:
    return (
        address == "data:,"
        or address.startswith(("#", "data:image/", "figures/"))
        or re.fullmatch(r"[\w./-]+", address) is not None
    )


@fault("content.report", weight=0.7, short=2, wanted=2_000)
def report(one: Try) -> str:
    """Use texts with HTML, LaTeX, Markdown, spreadsheet formulas and terminal escapes as title and
    comment, and words of SQL, JavaScript and the tables as names; a run on fake, then `report` and
    `table`: refused, or shown as text, with none of their tags, handlers or addresses in a page or
    figure, no formula in a CSV cell, no control character.
    """
    preload()
    rng, sandbox = one.rng, Sandbox(one.folder)
    words = {
        "title": TEXTS[one.number % len(TEXTS)].replace('"', "'"),
        "comment": rng.choice(TEXTS).replace("\r", " "),
        "experiment": rng.choice(["e", *NAMES]),
        "flow": rng.choice(["f", *NAMES]),
        "axis": rng.choice(["x", *NAMES]),
        "values": "cubic, reno",
    }
    one.what = ascii(words)
    sandbox.spec(SPEC.format(**words))
    if sandbox.call("run", "tiny.fexp", "-o", "out").require(0, 1, 2).status == 2:
        return "refused"
    _require_text(rng, sandbox)
    return "shown as text"


def _require_text(rng: random.Random, sandbox: Sandbox) -> None:
    """Raise Problem for what in the pages, figures and tables of a run could act."""
    run = sandbox.work / "out"
    formats = rng.choice([("html",), ("html", "md")])
    arguments = [word for name in formats for word in ("--format", name)]
    with stage("report"):
        sandbox.call("report", "out", *arguments).require(0)
    text = (run / "report.html").read_text(encoding="utf-8")
    require("Content-Security-Policy" in text, "the report has no policy")
    for path in (run / "report.html", *sorted(run.glob("figures/*.svg"))):
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        require(not page.found, f"{path.name} has {page.found[:1]}")
        found = CONTROL.search(path.read_text(encoding="utf-8").replace("\x0c", ""))
        require(not found, f"{path.name} has the control character {found}")
    if "md" in formats:
        text = (run / "report.md").read_text(encoding="utf-8")
        text = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
        acts = rf"<\w+[^>]*{CANARY}|<script|\]\((javascript|http)[^)]*{CANARY}"
        require(not re.search(acts, text), "report.md has a tag or a link")
    with stage("table"):
        table = sandbox.call("table", "out", "goodput", "--format", "csv").require(0)
        for value in (value for row in csv.reader(io.StringIO(table.out)) for value in row):
            formula = value[:1] and value[:1] in "=+@\t\r"
            number = re.fullmatch(r"[+-]?[\d.e+-]+", value)
            require(not formula or number, f"a CSV cell begins with {value[:1]!r}")
        json.loads(sandbox.call("table", "out", "goodput", "--format", "json").require(0).out)
    sandbox.require_nothing_left()


# ---- A plan in which every free text is hostile at once: from its schema, so none is forgotten ----

PLAN = """fexp 1
let rtt = 20ms
experiment said {
  title = "A title"
  source = "A citation"
  deviates = "Another kernel"
  topology = bottleneck(rate: rate, rtt: rtt, queue: fifo(2bdp))
  sweep { rate = [2Mbit/s, 4Mbit/s]  cca = [cubic, reno] }
  exclude rate == 2Mbit/s and cca == reno
  flow a { cca = cca  workload = file(60kB) }
  flow b { cca = bbr  workload = file(60kB) }
  repeat  = 2
  measure = [fairness, goodput]
  claim "It arrives" { where = rate == 4Mbit/s  holds = median(goodput, flow: a) > 1bit/s }
  report { boxplot(goodput, by: rate)  cdf(goodput) }
}
"""
Documents = list[dict[str, Any]]


@cache
def usual() -> Documents:
    """Return the header of a plan and its cells."""
    preload()
    experiment, found = dsl.load(dsl.Source("said.fexp", PLAN), {"rtt": "30ms"})
    assert experiment is not None, dsl.render_full(found)
    compilation = compile(experiment, "fake")
    models: list[Plan | Cell] = [compilation.plan, *compilation.cells()]
    return [json.loads(canaries.as_json(model)) for model in models]


def models(documents: Documents) -> list[Plan | Cell]:
    """Return what documents are; raises ValueError for one that is refused."""
    header, *cells = map(json.dumps, documents)
    return [Plan.model_validate_json(header), *map(parse_cell, cells)]


def planted(text: str) -> tuple[Documents, set[str]]:
    """Return a plan with a text in every free slot that takes it, equal ones staying equal, and
    these slots.
    """
    documents, slots = usual(), set[str]()
    olds: dict[str, list[tuple[int, str, canaries.Path]]] = {}
    for number, model in enumerate(models(documents)):
        for slot, path, old in canaries.places(model):
            if slot in canaries.free():
                olds.setdefault(old if old else f"/{slot}", []).append((number, slot, path))
    for count, (old, places) in enumerate(olds.items()):
        made = documents
        for number, _, path in places:
            one = next(canaries.planted(made[number], path, old, f"{text} {count}"))
            made = [*made[:number], one, *made[number + 1 :]]
        try:
            models(made)
        except ValueError:
            continue
        documents, slots = made, slots | {slot for _, slot, _ in places}
    return documents, slots


@fault("content.plan", weight=0.3, short=1, wanted=500)
def plan(one: Try) -> str:
    """Put texts (quotes of Python, templates, YAML, shells, HTML, LaTeX, Markdown, spreadsheets,
    Unicode) into every free text of plan and cells at once, as the schema names them; a run on
    fake, then `report`, `table`, `pack`: refused, or shown as text.
    """
    sandbox, text = Sandbox(one.folder), canaries.TEXTS[one.number % len(canaries.TEXTS)]
    (header, *cells), slots = planted(text)
    one.ending, one.what = f"shown as text: {len(slots)} fields", repr(text)
    bad = sandbox.work / "bad"
    bad.mkdir()
    (bad / "plan.json").write_text(json.dumps(header))
    (bad / "cells.jsonl").write_text("".join(f"{genuine(json.dumps(c))}\n" for c in cells))
    if sandbox.call("run", "bad", "-o", "out").require(0, 1, 2).status == 2:
        return "refused"
    _require_text(one.rng, sandbox)
    if sandbox.call("pack", "out", "-o", "p.zip").require(0, 2).status == 0:  # 2: no spec to pack
        with zipfile.ZipFile(sandbox.work / "p.zip") as zipped:
            cited = yaml.safe_load(zipped.read("CITATION.cff"))
            json.loads(zipped.read("ro-crate-metadata.json"))
            readme = zipped.read("README.md").decode()
        require(cited["title"] == header["title"], "CITATION.cff has another title")
        require("<script" not in readme and "<img" not in readme, "README.md has a tag")
    return one.ending

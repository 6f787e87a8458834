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
from pathlib import Path

from fairc.runtime.report import explore

from .sandbox import CONTROL, Sandbox, preload
from .strategy import Outcome, Strategy, dice

CANARY = "canary7"
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
TEXTS = (
    f"<script>{CANARY}()</script>",
    f"</title><img src=x onerror={CANARY}()>",
    f"' onmouseover={CANARY}() x='",
    f"</svg><script>{CANARY}()</script>",
    f"]]><script>{CANARY}()</script><![CDATA[",
    f"--><script>{CANARY}()</script><!--",
    f"javascript:{CANARY}()",
    f"{{{{ {CANARY} }}}}{{% if 1 %}}",
    f"&lt;script&gt;{CANARY}()",
    f"$\\\\input{{/etc/{CANARY}}}$",
    f"$\\\\frac{{{CANARY}}}$",
    f"$x^{{{CANARY}$",
    f"\\\\write18{{touch {CANARY}}}",
    "$",
    "$$",
    "_^%#~{}",
    f"[{CANARY}](javascript:{CANARY}())",
    f"![{CANARY}](http://127.0.0.1:9/{CANARY})",
    f"| a | b |\\n|---|\\n`{CANARY}`",
    f"``` {CANARY} ~~~",
    f"=cmd|' /C {CANARY}'!A0",
    f"=HYPERLINK({CANARY})",
    f"+{CANARY}",
    f"@SUM({CANARY})",
    f"-{CANARY}",
    f"\x1b]0;{CANARY}\x07",
    f"\x1b[2J{CANARY}",
    f"\x9b2J{CANARY}",
    f"a\rb{CANARY}",
    f"\u202e{CANARY}\u2066",
    f"\u200b\ufeff{CANARY}",
    f"%n%s%{CANARY}",
    f"\U000e0041{CANARY}\ufdd0",
    "﷽" * 20,
    "x" * 199,
    "\u0301" * 50,
    "",
    " ",
)
NAMES = (
    "a",
    "script",
    "x" * 40,
    "constructor",
    "__proto__",
    "_",
    "id",
    "select",
    "count",
    "value",
    "flow",
    "cell",
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


def report(seed: int, number: int, folder: Path) -> Outcome:
    """Run a spec with a hostile text or name; look for it in report, tables and output."""
    preload()
    rng, sandbox = dice(seed, number, "content.report"), Sandbox(folder)
    title = TEXTS[number % len(TEXTS)]
    words = {
        "title": title.replace('"', "'"),
        "comment": rng.choice(TEXTS).replace("\r", " "),
        "experiment": rng.choice(["e", *NAMES]),
        "flow": rng.choice(["f", *NAMES]),
        "axis": rng.choice(["x", *NAMES]),
        "values": "cubic, reno",
    }
    sandbox.spec(SPEC.format(**words))
    what = ascii(words)
    ended = sandbox.call("run", "tiny.fexp", "-o", "out")
    if problem := ended.problem(0, 1, 2):
        return Outcome("problem", f"{problem} ({what})")
    if ended.status == 2:
        return Outcome("refused")
    problem = reports(sandbox, rng) or tables(sandbox) or sandbox.leftovers()
    return Outcome("problem" if problem else "shown as text", problem and f"{problem} ({what})")


def reports(sandbox: Sandbox, rng: random.Random) -> str:
    """Return what in the pages and figures could act."""
    run = sandbox.work / "out"
    formats = rng.choice([("html",), ("html", "md")])
    arguments = [word for name in formats for word in ("--format", name)]
    if problem := sandbox.call("report", "out", *arguments).problem(0):
        return f"report: {problem}"
    text = (run / "report.html").read_text(encoding="utf-8")
    if "Content-Security-Policy" not in text:
        return "the report has no policy"
    for path in (run / "report.html", *sorted(run.glob("figures/*.svg"))):
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        if page.found:
            return f"{path.name} has {page.found[0]}"
        if found := CONTROL.search(path.read_text(encoding="utf-8").replace("\x0c", "")):
            return f"{path.name} has the control character {found[0]!r}"
    if "md" in formats:
        text = re.sub(
            r"```.*?```|`[^`]*`",
            "",
            (run / "report.md").read_text(encoding="utf-8"),
            flags=re.DOTALL,
        )
        if re.search(rf"<\w+[^>]*{CANARY}|<script|\]\((javascript|http)[^)]*{CANARY}", text):
            return "report.md has a tag or a link"
    return ""


def tables(sandbox: Sandbox) -> str:
    """Return what in the tables could act."""
    table = sandbox.call("table", "out", "goodput", "--format", "csv")
    if problem := table.problem(0):
        return f"table: {problem}"
    for row in csv.reader(io.StringIO(table.out)):
        for value in row:
            if value[:1] in "=+@\t\r" and value[:1] and not re.fullmatch(r"[+-]?[\d.e+-]+", value):
                return f"a CSV cell begins with {value[:1]!r}"
    shown = sandbox.call("table", "out", "goodput", "--format", "json")
    if problem := shown.problem(0):
        return f"table: {problem}"
    json.loads(shown.out)
    return ""


STRATEGIES = (
    Strategy(
        "content.report",
        f"uses {len(TEXTS)} texts with HTML, LaTeX, Markdown, spreadsheet formulas and"
        f" terminal escapes as title and comment,"
        " and words of SQL, JavaScript and the tables as names; a run on fake, then `report`"
        " and `table`: refused, or shown as"
        " text, with none of their tags, handlers or addresses in a page or figure, no"
        " formula in a CSV cell, no control character",
        report,
        weight=0.7,
        short=3,
        wanted=2_000,
    ),
)

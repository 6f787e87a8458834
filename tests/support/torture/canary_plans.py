"""A plan in which every free text is hostile at once: from the plan's schema, so that no field is
forgotten.
"""

from __future__ import annotations

import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import canaries
import yaml

from fairc import dsl
from fairc.compiler import Cell, compile
from fairc.compiler.plan import Plan

from .content import reports, tables
from .documents import genuine
from .sandbox import Sandbox, preload
from .strategy import Outcome, Strategy, dice

SPEC = """fexp 1
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
    experiment, found = dsl.load(dsl.Source("said.fexp", SPEC), {"rtt": "30ms"})
    assert experiment is not None, dsl.render_full(found)
    compilation = compile(experiment, "fake")
    models = (compilation.plan, *compilation.cells())
    return [json.loads(model.model_dump_json()) for model in models]


def models(documents: Documents) -> list[Plan | Cell]:
    """Return what documents are; raises ValueError for one that is refused."""
    header, *cells = map(json.dumps, documents)
    return [Plan.model_validate_json(header), *map(Cell.model_validate_json, cells)]


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


def plan(seed: int, number: int, folder: Path) -> Outcome:
    """Run a plan full of canaries; look for them in report, tables and pack."""
    rng, sandbox = dice(seed, number, "content.plan"), Sandbox(folder)
    text = canaries.TEXTS[number % len(canaries.TEXTS)]
    (header, *cells), slots = planted(text)
    bad = sandbox.work / "bad"
    bad.mkdir()
    (bad / "plan.json").write_text(json.dumps(header))
    (bad / "cells.jsonl").write_text("".join(f"{genuine(json.dumps(c))}\n" for c in cells))
    ended = sandbox.call("run", "bad", "-o", "out")
    problem = ended.problem(0, 1, 2)
    if ended.status == 2 and not problem:
        return Outcome("refused")
    problem = problem or reports(sandbox, rng) or tables(sandbox) or _pack(sandbox, header)
    problem = problem or sandbox.leftovers()
    return Outcome(f"shown as text: {len(slots)} fields", problem and f"{problem} ({text!r})")


def _pack(sandbox: Sandbox, header: dict[str, Any]) -> str:
    """Return what in the documents of a pack is not what the plan says."""
    ended = sandbox.call("pack", "out", "-o", "p.zip")
    if ended.problem(0, 2) or ended.status == 2:
        return ended.problem(0, 2)  # a plan alone has no spec to pack
    with zipfile.ZipFile(sandbox.work / "p.zip") as zipped:
        cited = yaml.safe_load(zipped.read("CITATION.cff"))
        crate = json.loads(zipped.read("ro-crate-metadata.json"))
        readme = zipped.read("README.md").decode()
    if cited["title"] != header["title"] or not isinstance(crate, dict):
        return "CITATION.cff has another title"
    return "README.md has a tag" if "<script" in readme or "<img" in readme else ""


STRATEGIES = (
    Strategy(
        "content.plan",
        f"puts {len(canaries.TEXTS)} texts (quotes of Python, templates, YAML, shells, HTML,"
        f" LaTeX, Markdown, spreadsheets, Unicode)"
        " into every free text of plan and cells at once, as the schema names them; a run on"
        " fake, then `report`, `table`, `pack`:"
        " refused, or shown as text",
        plan,
        weight=0.3,
        short=1,
        wanted=500,
    ),
)

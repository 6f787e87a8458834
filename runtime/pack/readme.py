"""README.md and CITATION.cff of a pack, generated from its plan, its lock and its results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairc.compiler.plan import Plan
from fairc.compiler.record import SPEC
from fairc.runtime.claims.wording import level_text, summed_up, unit_texts
from fairc.runtime.formatting import counted, decimals_for, escape_markdown, number, scale_for
from fairc.runtime.ranges.cells import finished
from fairc.runtime.repetitions.reading import Measurements, UnknownName, measured
from fairc.runtime.repetitions.summaries import summarise
from fairc.runtime.report.invocation import again_by
from fairc.runtime.report.run import Run
from fairc.runtime.run.outcome import decide_claims
from fairc.runtime.store.folder import Store

MAX_ROWS = 60
"""Most rows of the table of expected values; the tables in `tables/` have all."""


def readme(store: Store, raw: bool, image: bool, among: bool = False) -> bytes:
    """Return the text: the question, how to run and check it, what to expect, what is in the
    pack. among: whether it is one of several experiments in the pack, and has a folder there.
    """
    return "\n".join([*_lines(store, raw, image, among), ""]).encode()


def of_all(plans: Mapping[str, Plan], image: bool) -> bytes:
    """Return the text of a pack of several experiments, each of which has a text of its own."""
    return "\n".join([*_of_all(plans, image), ""]).encode()


def _of_all(plans: Mapping[str, Plan], image: bool) -> Iterator[str]:
    yield f"# {escape_markdown(next(iter(plans.values())).file)}"
    yield ""
    yield (
        f"The {counted(len(plans), 'experiment')} of a file in `.fexp`, the language of fairc."
        " `report.html` shows the results of all."
    )
    yield ""
    yield "| experiment | | cells | engine |"
    yield "|---|---|---:|---|"
    for name, plan in plans.items():
        shown = f"[{name}]({name}/README.md)", escape_markdown(plan.title), str(plan.cells)
        yield f"| {' | '.join((*shown, plan.engine))} |"
    yield ""
    yield from _commands()
    yield ""
    yield "## Contents"
    yield ""
    yield "| | |"
    yield "|---|---|"
    yield "| a folder for each experiment | its spec, plan, results, tables, figures and report |"
    yield "| `report.html` | the results of all |"
    yield from _common(image)


def _commands() -> Iterator[str]:
    """Yield how to check and run what is in a pack."""
    name = "study.zip"
    yield "## Check it, run it again"
    yield ""
    yield "```sh"
    yield (
        f"fairc verify {name}               # all that follows from the cells rebuilt; 3 cells run"
        f" again"
    )
    yield f"fairc verify {name} --all         # every cell run again"
    yield f"fairc run {name} -o again         # continues where this left off"
    yield "```"


def _common(image: bool) -> Iterator[str]:
    """Yield the rows of what a pack has once, however many experiments are in it."""
    yield "| `programs/` | a Mininet program per cell, and the program that they start on hosts |"
    if image:
        yield (
            "| `image.tar.zst` | the guest's image and kernel, with source and patches: `fairc"
            " image load` |"
        )
    else:
        yield "| no image | `fairc image build` builds what the engine runs |"
    yield "| `ro-crate-metadata.json` | all of this for machines (RO-Crate 1.2) |"
    yield "| `SHA256SUMS` | `sha256sum -c SHA256SUMS` |"


def _lines(store: Store, raw: bool, image: bool, among: bool) -> Iterator[str]:
    plan = store.plan
    yield f"# {escape_markdown(plan.title or plan.experiment)}"
    yield ""
    if plan.citation:
        yield f"Source: {escape_markdown(plan.citation)}."
        yield ""
    most = " at most" if plan.precision else ""
    yield (
        f"An experiment of {counted(plan.configurations, 'configuration')} and"
        f" {counted(plan.cells, 'cell')}{most}, written in"
        " `.fexp`, the language of fairc, and run on the engine"
        f" `{plan.engine}`. `report.html` shows the results."
    )
    yield ""
    yield from _commands()
    yield ""
    yield f"From the start, without these results, in the folder `{SPEC}/` of the unpacked file:"
    yield ""
    yield "```sh"
    yield from again_by(Run(store.path))
    yield "```"
    yield ""
    programs = f"{'../' if among else ''}programs/cells/NAME.py"
    yield f"Without fairc: `sudo python3 {programs}` runs one configuration in Mininet."
    yield ""
    of = measured(store.path / "tables", plan)
    yield from _claimed(store, of)
    yield "## What to expect"
    yield ""
    yield from _expected(of)
    yield ""
    if plan.deviates:
        yield "## Deviations from the original study"
        yield ""
        yield "| | |"
        yield "|---:|---|"
        for place, text in enumerate(plan.deviates, 1):
            yield f"| {place} | {escape_markdown(text)} |"
        yield ""
    yield "## Time and machine"
    yield ""
    results = (store.result(folder.name) for _, folder in finished(store))
    wall_s = sum(result.wall_s for result in results if result is not None)
    yield from _machine(store.lock, wall_s)
    yield ""
    yield "## Contents"
    yield ""
    yield "| | |"
    yield "|---|---|"
    yield f"| `{SPEC}/` | the experiment and every file it reads |"
    yield (
        "| `plan.json`, `cells.jsonl`, `lock.json` | what was run, cell by cell, and what produced"
        " the numbers |"
    )
    yield "| `report.html`, `figures/`, `tables/` | the report, its figures, tables as Parquet |"
    if plan.claims:
        yield "| `claims.json` | verdicts and intervals of the claims |"
    yield f"| `cells/` | the result of each cell{', with its raw artefacts' if raw else ''} |"
    if not among:
        yield from _common(image)


def _claimed(store: Store, of: Measurements) -> Iterator[str]:
    """Yield the claims: each with its command, its verdict and the interval to expect."""
    decision = decide_claims(of, store)
    if not decision.claims:
        return
    yield "## Claims"
    yield ""
    yield f"{summed_up(decision)}; {level_text(decision)}. To decide again:"
    yield ""
    yield "```sh"
    yield "fairc verdict study.zip               # from the results in the pack"
    yield "fairc verify study.zip --all          # from cells run again"
    yield "```"
    for decided in decision.claims:
        claim = decided.claim
        where = f", where {claim.condition}" if claim.condition else ""
        yield ""
        yield f"**{escape_markdown(claim.text)}** ({decided.verdict}, {decided.kind}):"
        yield f"{escape_markdown(claim.holds + where)}"
        yield ""
        yield "| configuration | verdict | expected value | expected interval | claimed | n |"
        yield "|---|---|---|---|---|---|"
        for row in unit_texts(decided)[:MAX_ROWS]:
            shown = (
                *(
                    row.where or "all",
                    row.verdict,
                    row.value or "-",
                    "; ".join(filter(None, (row.interval, row.note))) or "-",
                ),
                *(row.bound, str(row.n)),
            )
            yield f"| {' | '.join(map(escape_markdown, shown))} |"
        if len(decided.units) > MAX_ROWS:
            yield ""
            yield f"And {len(decided.units) - MAX_ROWS} more: `claims.json`."
    yield ""


def _expected(of: Measurements) -> Iterator[str]:
    """Yield a table of medians with their 95 % intervals."""
    head = ["metric", *of.axes, "flow", "median", "95 % interval", "n"]
    rows: list[list[str]] = []
    for metric in dict.fromkeys(name for request in of.plan.measure for name in request.shown):
        rows += _of_metric(of, metric)
    if not rows:
        yield "No cell counts; `report.html` says why."
        return
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows[:MAX_ROWS]:
        yield f"| {' | '.join(map(escape_markdown, row))} |"
    if len(rows) > MAX_ROWS:
        yield ""
        yield f"And {len(rows) - MAX_ROWS} more: `tables/metrics.parquet`."


def _of_metric(of: Measurements, metric: str) -> Iterator[list[str]]:
    try:
        found = summarise(of, metric)
    except UnknownName:
        return
    values = [row["value"] for row in found if row["value"] is not None]
    scale = scale_for(found[0]["unit"], values) if found else None
    for row in found:
        if (row["value"] is None and not row["remark"]) or scale is None:
            continue
        low, high = row["ci_low"], row["ci_high"]
        known = [v / scale.factor for v in (row["value"], low, high) if v is not None]
        shown = [number(v, decimals_for(known, 4)) for v in known]
        interval = f"{shown[1]} to {shown[2]}" if len(shown) == 3 else row["no_interval"] or "-"
        interval = "; ".join(filter(None, (interval, row["remark"])))
        place = [str(row["by"].get(name) or "-") for name in (*of.axes, "flow")]
        value = f"{shown[0]} {scale.unit}".rstrip() if shown else "-"
        yield [metric, *place, value, interval, str(row["n"])]


def _machine(document: Mapping[str, Any], wall_s: float) -> Iterator[str]:
    """Describe the machine. document: the lock."""
    host, engine, program = (document.get(key) or {} for key in ("host", "engine", "fairc"))
    cpu, kernel = (escape_markdown(str(host.get(key, "unknown"))) for key in ("cpu", "kernel"))
    version = escape_markdown(str(program.get("version", "?")))
    yield (
        f"The cells took {wall_s / 60:.1f} min of machine time in all, one after the other, on"
        f" the processor {cpu} ({escape_markdown(str(host.get('cores', '?')))} cores, Linux"
        f" {kernel}), with fairc {version} and the engine"
        f" `{engine.get('name', '?')}` of identity `{str(engine.get('identity', ''))[:16]}`."
    )


def citation(plans: Sequence[Plan]) -> bytes:
    """Return the pack's CITATION.cff. plans: of all its experiments."""
    first = plans[0]
    title = first.file if len(plans) > 1 else first.title or first.experiment
    sources = dict.fromkeys(plan.citation for plan in plans if plan.citation)
    lines = [
        "cff-version: 1.2.0",
        f"title: {_yaml(title)}",
        'message: "Cite the study that this pack belongs to, and fairc, which ran it."',
        "type: dataset",
        "authors:",
        '  - name: "The authors of the experiment"',
    ]
    lines += ["references:"] if sources else []
    for source in sources:
        lines += ["  - type: article", f"    title: {_yaml(source)}"]
        lines += ["    authors:", '      - name: "The authors of the original study"']
    return ("\n".join(lines) + "\n").encode()


def _yaml(text: str) -> str:
    """Return a text as a double-quoted YAML 1.2 string: JSON, with unprintable characters as 32-bit
    escapes.
    """
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)

"""The report as one HTML page or one Markdown text: the same content through two templates."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from fairc.runtime.formatting import count_head, escape_markdown, one_line
from fairc.runtime.run.history import CLAIMED, DECLARED

from . import explore
from .answer import BY_CHANCE, Answer, Entry, entries
from .asked import asked, commands, declared, file_name, locked
from .claims import claims
from .comparisons import comparisons
from .differences import differences
from .endings import ended
from .figures import Drawing, Sheet
from .glossary import glossary, rules
from .lead import SECTION, basis, tiles
from .limits import limits
from .phases import phases
from .render import Rendered
from .run import Run
from .story import VERDICTS, flatten, headline, validity
from .summary import Results
from .svg import themed


@dataclass(frozen=True, slots=True)
class Missing:
    """A figure that could not be made, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One measure of one configuration in the table of all metrics.

    kind: whether its metric was named before there were results (`Declared.kind`).
    """

    configuration: str
    entry: Entry
    kind: str


def context(
    run: Run,
    results: Results,
    found: Answer,
    choice: str,
    missing: Sequence[Missing],
) -> dict[str, Any]:
    """Return everything that both templates print except the figures."""
    counts, remarks = validity(run)
    named = declared(run)
    definitions = glossary(results.measures)
    answered = {e.measure for e in found.columns}
    rows = [
        MetricRow(c.label if c.bindings else "", e, named.kind(m.metric))
        for c in run.configurations
        for m in results.measures
        for e in entries(run, results, [m], c)
        if m not in answered
    ]
    return {
        "plan": run.plan,
        "title": one_line(run.plan.title or run.plan.experiment),
        "file": file_name(run),
        "headline": headline(run),
        "answer": found,
        "tiles": tiles(results, found),
        "basis": basis(results),
        "chance": any(BY_CHANCE in e.remark for g in found.groups for e in g.entries),
        "choice": choice,
        "missing": missing,
        "sessions": run.sessions,
        "axes": run.plan.axes,
        "count_head": count_head(axis.name for axis in run.plan.axes),
        "counts": counts,
        "verdicts": VERDICTS,
        "remarks": remarks,
        "differences": differences(run),
        "compared": comparisons(run, results),
        "limits": limits(run),
        "phases": phases(run),
        "ended": ended(run),
        "rows": rows,
        "asked": asked(run),
        "declared": named,
        "claims": claims(run),
        "locked": locked(run),
        "glossary": definitions,
        "rules": rules(definitions),
        # The section on metrics shows what was declared.
        "lock": flatten({k: v for k, v in run.lock.items() if k not in (DECLARED, CLAIMED)}),
        "commands": commands(run),
    }


def html(values: dict[str, Any], figures: Sequence[Rendered | Sheet]) -> str:
    """Return the page: one file without external requests; for a sweep with the script that
    explores it.
    """
    style, script, data = _data("style.css") + _data("claims.css"), "", ""
    scripts = ""
    if values["explored"] is not None:
        style += explore.style()
        script, data = explore.script(), explore.as_json(values["explored"])
        scripts = f" script-src '{_digest(script)}';"
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}';{scripts} img-src data:; base-uri 'none'"
    )
    # The SVGs are our own: every text in them has been escaped by the XML writer.
    inline: list[tuple[str, Drawing | Sheet, list[Markup] | None]] = []
    for r in figures:
        if isinstance(r, Sheet):
            inline.append((r.section, r, None))
        else:
            svgs = [Markup(themed(svg, f"figure {width}")) for width, svg in r.svg.items()]
            inline.append((r.drawing.section, r.drawing, svgs))
    picture = [svg for section, _, svgs in inline if section == SECTION for svg in svgs or ()]
    pickable = any("data-pick" in svg for svg in picture)
    template = _environment(html=True).get_template("report.html.j2")
    # JSON without `<`, `>` and `&` is data wherever it stands; the scripts are our own.
    page: str = template.render(
        values,
        style=Markup(style),
        script=Markup(script),
        explored_json=Markup(data),
        policy=policy,
        figures=inline,
        pickable=pickable,
    )
    return page


def _digest(text: str) -> str:
    """Return the hash with which the page's content security policy admits a style or a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def markdown(values: dict[str, Any], figures: Sequence[Drawing | Sheet]) -> str:
    """Return the same content as text; figures are named by their files and described."""
    template = _environment(html=False).get_template("report.md.j2")
    drawings = [figure for figure in figures if isinstance(figure, Drawing)]
    sheets = [figure for figure in figures if isinstance(figure, Sheet)]
    text: str = template.render(values, drawings=drawings, sheets=sheets)
    return text


def _data(name: str) -> str:
    return explore.packaged("templates", name)


def _environment(*, html: bool) -> Any:
    environment = Environment(
        loader=FunctionLoader(_data),
        autoescape=html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["code"] = _code
    environment.filters["md"] = escape_markdown
    environment.filters["fence"] = _fence
    return environment


def _code(text: str) -> Any:
    """Return text as HTML in which pairs of backticks set code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else escape(part)
        for i, part in enumerate(parts)
    )


def _fence(text: str) -> str:
    """Return a code fence that the text cannot end."""
    run = longest = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return "`" * max(3, longest + 1)

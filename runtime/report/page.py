"""The report as one HTML page or one Markdown text: the same content through two templates."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from fairc.compiler.plan import Plan
from fairc.runtime.formatting import count, count_head, escape_markdown, one_line
from fairc.runtime.run.history import CLAIMED, DECLARED

from . import explore
from .answer import Answer, entries
from .claims import claims
from .comparisons import comparisons
from .description import flatten, headline, reasons, verdicts
from .differences import differences, settings
from .endings import ended
from .figures import Drawing
from .glossary import glossary, rules
from .invocation import Declarations, commands, declared, file_name, locked, overrides
from .key_figures import SECTION, basis, tiles
from .limits import given_up, limits
from .phases import phases
from .render import Rendered
from .run import Run
from .sheet import Sheet, section_table
from .summary import Results
from .svg import themed

_BREAKS = re.compile(r"(?<=[._])(?=[^\W\d_])")


@dataclass(frozen=True, slots=True)
class Missing:
    """A figure that could not be made, and why; requested: whether the experiment asks for it."""

    name: str
    reason: str
    requested: bool = True


def context(
    run: Run,
    results: Results,
    found: Answer,
    choice: str,
    missing: Sequence[Missing],
) -> dict[str, Any]:
    """Return everything that both templates print except the figures."""
    named = declared(run)
    plan = run.plan
    definitions = glossary(
        results.measures, plan.formulas, [request.name for request in plan.measure]
    )
    return {
        "plan": plan,
        "title": one_line(plan.title or plan.experiment),
        "file": file_name(run),
        "headline": headline(run),
        "answer": found,
        "tiles": tiles(results, found),
        "basis": basis(results),
        "choice": choice,
        "missing": missing,
        "sessions": run.sessions,
        "axes": plan.axes,
        "count_head": count_head(axis.name for axis in plan.axes),
        "verdicts": verdicts(run),
        "reasons": reasons(run),
        "differences": differences(run),
        "settings": settings(run),
        "compared": comparisons(run, results),
        "limits": (*limits(run), *given_up(run)),
        "phases": phases(run),
        "ended": ended(run),
        "metrics": _metrics(run, results, found, named),
        "overrides": overrides(run),
        "declared": named,
        "claims": claims(run),
        "locked": locked(run),
        "glossary": definitions,
        "rules": rules(definitions),
        "deviations": _deviations(plan),
        "lock": _lock(run),
        "commands": commands(run),
    }


def _metrics(run: Run, results: Results, found: Answer, named: Declarations) -> Sheet:
    """Return the measures that the answer has not, of each configuration.

    kind: whether its metric was named before there were results (`Declarations.kind`).
    """
    answered = {e.measure for e in found.columns}
    rows = [
        (
            c.label if c.bindings else "",
            *(e.named, e.median or "", e.ends or e.note),
            *(count(e.n), named.kind(m.metric), e.remark),
        )
        for c in run.configurations
        for m in results.measures
        for e in entries(run, results, [m], c)
        if m not in answered
    ]
    head = (
        *(("configuration", False), ("metric", False)),
        *(("median", True), ("95 % interval", True), ("n", True)),
        *(("kind", False), ("remark", False)),
    )
    caption = "Metrics that are not in the first table"
    return section_table("metrics", "All other metrics", head, rows, caption)


def _deviations(plan: Plan) -> Sheet:
    rows = [(count(place), text) for place, text in enumerate(plan.deviates, 1)]
    head = (("No.", True), ("what differs", False))
    caption = plan.citation or "The experiment names no `source`."
    return section_table("deviations", "Deviations from the original study", head, rows, caption)


def _lock(run: Run) -> Sheet:
    """Return what the lock says, but for what was declared, which the section on metrics shows."""
    rows = flatten({k: v for k, v in run.lock.items() if k not in (DECLARED, CLAIMED)})
    head = (("what", False), ("version or hash", False))
    caption = "What produced the numbers (`lock.json`)"
    return section_table("lock", "Versions and hashes", head, rows, caption)


def html(values: dict[str, Any], figures: Sequence[Rendered | Sheet]) -> str:
    """Return the page: one file without external requests; for a sweep with the script that
    explores it.
    """
    script, data = "", ""
    if values["explored"] is not None:
        script, data = explore.script(), explore.as_json(values["explored"])
    inline = _inlined(figures)
    picture = [svg for section, _, svgs in inline if section == SECTION for svg in svgs or ()]
    pickable = any("data-pick" in svg for svg in picture)
    template = _HTML.get_template("report.html.j2")
    # JSON without `<`, `>` and `&` is data wherever it stands; the scripts are our own.
    page: str = template.render(
        values,
        **_head(script),
        script=Markup(script),
        explored_json=Markup(data),
        prefix="",
        own_page="",
        figures=inline,
        pickable=pickable,
    )
    return page


def html_of_all(
    title: str, parts: Sequence[tuple[str, dict[str, Any], Sequence[Rendered | Sheet]]]
) -> str:
    """Return the page of several experiments: one file without external requests.

    parts: the name of each, what `context` returned for it, and its figures, whose names are unique
    on the page.
    """
    template = _HTML.get_template("experiment.html.j2")
    shown = [
        (
            name,
            values,
            Markup(
                template.render(
                    values,
                    prefix=f"{name}-",
                    own_page=f"{name}/report.html",
                    explored=None,
                    figures=_inlined(figures),
                )
            ),
        )
        for name, values, figures in parts
    ]
    page: str = _HTML.get_template("all.html.j2").render(
        title=one_line(title), **_head(), experiments=shown
    )
    return page


def html_of_suite(values: Mapping[str, Any]) -> str:
    """Return the page of a suite: one file without external requests. values: of its template."""
    page: str = _HTML.get_template("suite.html.j2").render(
        values,
        **_head(),
        colours={"holds": "holds", "refuted": "fails", "undecided": "undecided"},
    )
    return page


def _head(script: str = "") -> dict[str, str]:
    """Return the style of every page, and the content security policy that admits it and a
    script.
    """
    style = _data("style.css") + _data("claims.css")
    scripts = f" script-src '{_digest(script)}';" if script else ""
    return {
        "style": Markup(style),
        "policy": f"default-src 'none'; style-src '{_digest(style)}';{scripts} img-src data:;"
        " base-uri 'none'; form-action 'none'",
    }


def _inlined(
    figures: Sequence[Rendered | Sheet],
) -> list[tuple[str, Drawing | Sheet, list[Markup] | None]]:
    """Return the section of each figure, the figure, and its SVGs; a table has none."""
    # The SVGs are our own: every text in them has been escaped by the XML writer.
    inline: list[tuple[str, Drawing | Sheet, list[Markup] | None]] = []
    for r in figures:
        if isinstance(r, Sheet):
            inline.append((r.section, r, None))
        else:
            svgs = [Markup(themed(svg, f"figure {width}")) for width, svg in r.svg.items()]
            inline.append((r.drawing.section, r.drawing, svgs))
    return inline


def _digest(text: str) -> str:
    """Return the hash by which a policy admits a style or a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def markdown(values: dict[str, Any], figures: Sequence[Drawing | Sheet]) -> str:
    """Return the same content as text; figures are named by their files and described."""
    template = _TEXT.get_template("report.md.j2")
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
    environment.filters["breaks"] = _breaks
    environment.filters["softly"] = lambda text: _BREAKS.sub("\N{ZERO WIDTH SPACE}", text)
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


def _breaks(text: str) -> Any:
    """Return text as HTML whose names may break after a dot or an underscore."""
    return Markup("<wbr>").join(map(escape, _BREAKS.split(text)))


def _fence(text: str) -> str:
    """Return a code fence that the text cannot end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)


# Each keeps the templates that it has compiled.
_HTML, _TEXT = _environment(html=True), _environment(html=False)

"""The paragraph of a paper's section on methods about a run, and the BibTeX of its sources."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from fairc import ADDRESS, __version__
from fairc.runtime.engines import ENGINES
from fairc.runtime.formatting import counted, listed, one_line

from .description import setup
from .invocation import locked, overrides
from .key_figures import basis
from .phases import phases
from .run import Run
from .summary import Results

WIDTH = 80
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
# Neither has braces or backslashes: they go into BibTeX as they are.
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s,;{}\\]*[^\s,;.){}\\]")
_URL = re.compile(r"https?://[^\s,;{}\\]*[^\s,;.){}\\]")
_RFC = re.compile(r"\bRFC (\d+)\b")
_AUTHORS = re.compile(r"^([A-Z][\w'-]+(?:, [A-Z][\w'-]+)*(?:,? and [A-Z][\w'-]+)?)( et al\.)?, ")
_IN_TITLE = re.compile(r"\(([^()]*\b(?:19|20)\d\d)\)")
_SPECIAL = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def methods(run: Run) -> str:
    """Return the paragraph, wrapped, and the entries below it. Raises ReportError."""
    paragraph = " ".join(filter(None, _sentences(run)))
    return "\n\n".join((textwrap.fill(paragraph, WIDTH), *references(run)))


def _sentences(run: Run) -> Iterator[str]:
    plan, outcomes = run.plan, [o for c in run.configurations for o in c.outcomes]
    yield f"The experiment emulates {setup(run)}."
    yield from _engine(run.lock)
    found = phases(run)
    varied = [one_line(text) for text in (*plan.varied, found.varied) if text]
    yield f"Random numbers are drawn from seed {plan.seed}, anew for each repetition."
    if varied:
        yield f"Repetitions differ in: {'; '.join(varied)}."
    if plan.common:
        common = listed([*map(one_line, plan.common)])
        yield f"All configurations of a repetition draw the same {common}."
    yield found.processing
    words = [o.verdict_word for o in outcomes]
    verdicts = [f"{words.count('valid')} were valid"]
    verdicts += [f"{words.count(w)} {w}" for w in ("flagged", "invalid", "failed")]
    left = words.count("invalid") + words.count("failed")
    yield (
        f"Every cell's set-up (rate, base RTT, loss, buffer) was checked against what was measured:"
        f" of {counted(len(words), 'cell')}, {listed(verdicts)}"
        f"{'; those invalid or failed are left out' if left else ''}."
    )
    measured = [one_line(name) for request in plan.measure for name in request.shown]
    if measured:
        what = "metric is" if len(measured) == 1 else "metrics are"
        yield f"The {what} {listed(measured)}."
    yield basis(Results(run)).replace("; in brackets their", ", with their")
    if plan.claims:
        texts = [f'"{one_line(claim.text)}"' for claim in plan.claims]
        yield f"The experiment claims {listed(texts)}."
    yield locked(run)
    yield from (text.replace("`", "") for text in overrides(run).sentences)
    if plan.deviates:
        parts = "; ".join(one_line(text).rstrip(".") for text in plan.deviates)
        yield f"It departs from {one_line(plan.citation) or 'the original study'}: {parts}."


def _engine(lock: Mapping[str, Any]) -> Iterator[str]:
    """Say what ran the cells, by the lock."""
    program, engine = lock.get("fairc") or {}, lock.get("engine") or {}
    summaries = {kind.name: kind.summary for kind in ENGINES}
    name = engine.get("name", "")
    versions = engine.get("versions") or {}
    kernel = versions.get("kernel") or lock.get("kernel")
    summary = f", {summaries[name]}" if name in summaries else ""
    on = f" (Linux {kernel})" if kernel else ""
    commit = f" (commit {program['commit'][:12]})" if program.get("commit") else ""
    yield (
        f"It was run with fairc {program.get('version', __version__)}{commit} on the engine"
        f" {name or 'of an earlier version'}{summary}{on}."
    )


def references(run: Run) -> list[str]:
    """Return a BibTeX entry of fairc, and one of each source that `source` and `title` name."""
    version = (run.lock.get("fairc") or {}).get("version", __version__)
    own = {
        "title": "fairc: declarative network experiments in virtual time",
        "author": "{The fairc developers}",
        "version": version,
        **({"url": ADDRESS} if ADDRESS else {}),
    }
    texts = [part.strip() for part in run.plan.citation.split(";")]
    texts += [found[1] for found in _IN_TITLE.finditer(run.plan.title)]
    texts += [found[0] for found in _RFC.finditer(run.plan.title)]
    entries = {"fairc": _entry("software", "fairc", own, raw=("author",))}
    for text in filter(None, texts):
        key, kind, fields = _source(one_line(text).removeprefix("after "))
        entries.setdefault(key, _entry(kind, key, fields))
    return list(entries.values())


def _source(text: str) -> tuple[str, str, dict[str, str]]:
    """Return the key, the kind and the fields of a source as its author wrote it."""
    fields: dict[str, str]
    if rfc := _RFC.fullmatch(text):
        number = rfc[1]
        url = f"https://www.rfc-editor.org/rfc/rfc{number}"
        fields = {"title": text, "type": "RFC", "number": number, "institution": "IETF", "url": url}
        return f"rfc{number}", "techreport", fields
    fields = {}
    authors, years = _AUTHORS.match(text), _YEAR.findall(text)
    if authors:
        names = re.split(r",? and |, ", authors[1])
        fields["author"] = " and ".join([*names, *(["others"] if authors[2] else [])])
    if years:
        fields["year"] = years[-1]
    if doi := _DOI.search(text):
        fields["doi"] = doi[0]
    if address := _URL.search(text):
        fields["url"] = address[0]
    fields["note"] = text
    first = re.split(r"[\s,]", text)[0].lower()
    key = re.sub(r"[^a-z0-9]", "", first) + (years[-1] if years else "")
    return key or "source", "misc", fields


def _entry(kind: str, key: str, fields: Mapping[str, str], raw: tuple[str, ...] = ()) -> str:
    """Return a BibTeX entry. raw: fields whose braces are BibTeX's."""
    lines = [
        f"  {name} = {{{value if name in raw else _escaped(name, value)}}},"
        for name, value in fields.items()
    ]
    return "\n".join((f"@{kind}{{{key},", *lines, "}"))


def _escaped(name: str, value: str) -> str:
    """Return a value as LaTeX prints it; addresses stay as they are."""
    return value if name in ("url", "doi") else "".join(_SPECIAL.get(c, c) for c in value)

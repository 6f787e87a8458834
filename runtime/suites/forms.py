"""Reports of a suite: a page, Markdown, JUnit XML, Bencher's JSON."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import Any

from fairc.runtime.claims.forms import xml_text
from fairc.runtime.claims.wording import unit_texts
from fairc.runtime.formatting import counted, escape_markdown
from fairc.runtime.report.page import html_of_suite

from .folder import Suite
from .standing import (
    OF_CLAIM,
    CriterionStanding,
    MemberStanding,
    Standing,
    VariantStanding,
    headings,
    numbered,
)

_DECIDED: tuple[Standing, ...] = ("holds", "refuted", "undecided")

LONGEST_NAME = 1024
"""Characters of a benchmark's name in Bencher."""


def as_html(suite: Suite, found: Sequence[VariantStanding]) -> str:
    """Return the page: one file without external requests."""
    shared, names = headings([of.variant for of in found])
    return html_of_suite(
        {
            "title": suite.title,
            "suite": suite,
            "variants": found,
            "shared": shared,
            "headings": names,
            "tallies": [[_tally(of.members[i]) for of in found] for i in range(len(suite.members))],
            "unit_texts": unit_texts,
            "counted": counted,
        }
    )


def as_markdown(suite: Suite, found: Sequence[VariantStanding]) -> str:
    """Return two tables for a draft or a pull request: criteria and members, by controllers."""
    return "\n".join(_markdown(suite, found)) + "\n"


def _markdown(suite: Suite, found: Sequence[VariantStanding]) -> Iterator[str]:
    shared, names = headings([of.variant for of in found])
    labels = [escape_markdown(name) for name in names]
    yield from (f"# {escape_markdown(suite.title)}", "", escape_markdown(suite.source), "")
    if shared:
        yield from (f"All columns: {escape_markdown(shared)}.", "")
    yield f"| criterion | | {' | '.join(labels)} |"
    yield f"|---|---|{'---|' * len(labels)}"
    for place, criterion in enumerate(suite.criteria):
        cells = [of.criteria[place].standing for of in found]
        named = map(escape_markdown, (criterion.name, criterion.title))
        yield f"| {' | '.join((*named, *cells))} |"
    yield from ("", f"| scenario | {' | '.join(labels)} |", f"|---|{'---|' * len(labels)}")
    for place, member in enumerate(suite.members):
        tallies = [_tally(of.members[place]) for of in found]
        yield f"| {' | '.join((escape_markdown(member.name), *tallies))} |"
    notes = list(_notes(found))
    if notes:
        yield ""
        yield from (f"- {escape_markdown(note)}" for note in notes)


def _tally(of: MemberStanding) -> str:
    """Count the claims of a member by verdict, as text."""
    if of.decision is None:
        return of.status
    decided = [OF_CLAIM[claim.verdict] for claim in of.decision.claims]
    found = (numbered(n, word) for word in _DECIDED if (n := decided.count(word)))
    return ", ".join(found) or "no claim"


def _notes(found: Sequence[VariantStanding]) -> Iterator[str]:
    """Yield why something was not decided, each once."""
    notes = (
        f"{each.criterion.name}, {each.standing}: {each.reason}"
        for of in found
        for each in of.criteria
        if each.reason
    )
    yield from dict.fromkeys(notes)


def as_junit(suite: Suite, found: Sequence[VariantStanding]) -> str:
    """Return JUnit XML: a suite for each variant, with a case for each criterion."""
    root = ET.Element("testsuites", name=xml_text(suite.name))
    for of in found:
        cases = ET.SubElement(root, "testsuite", name=xml_text(of.variant.label))
        for each in of.criteria:
            title = xml_text(f"{each.criterion.name} {each.criterion.title}")
            case = ET.SubElement(cases, "testcase", classname=xml_text(suite.name), name=title)
            if tag := _TAGS.get(each.standing, "skipped" if each.standing != "holds" else ""):
                message = xml_text(f"{each.standing}: {'; '.join(_said(each))}")
                ET.SubElement(case, tag, message=message)
        for word, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            cases.set(word, str(len(cases.findall(f"testcase/{tag}"))))
        cases.set("tests", str(len(of.criteria)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


_TAGS = {"refuted": "failure", "broken": "error"}


def _said(each: CriterionStanding) -> Iterator[str]:
    """Yield the reason, and the claims that do not hold."""
    if each.reason:
        yield each.reason
    for member, decided in each.claims:
        if decided.verdict != "holds":
            yield f"{member}: {decided.claim.text}: {decided.verdict}"


def as_bencher(suite: Suite, found: Sequence[VariantStanding]) -> str:
    """Return Bencher Metric Format: the value and the interval of each claim, in SI units."""
    document: dict[str, dict[str, dict[str, float]]] = {}
    for of in found:
        for member in of.members:
            for name, measure, values in _metrics(member):
                full = f"{suite.name}/{of.variant.label}/{member.member.name}/{name}"
                document.setdefault(full[:LONGEST_NAME], {})[measure] = values
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _metrics(of: MemberStanding) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield each claim in each configuration: its name, its measure, its values."""
    for decided in of.decision.claims if of.decision is not None else ():
        measure = f"value ({decided.claim.unit})" if decided.claim.unit else "value"
        for unit in decided.units:
            numbers: dict[str, Any] = {
                "value": unit.estimate.value,
                "lower_value": unit.estimate.low,
                "upper_value": unit.estimate.high,
            }
            known = {key: x for key, x in numbers.items() if x is not None and math.isfinite(x)}
            if "value" in known:
                where = ", ".join(f"{name} = {text}" for name, text in unit.where)
                yield "/".join(filter(None, (decided.claim.text, where))), measure, known

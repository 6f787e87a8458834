"""Claims and validity of a run as data: for CI, a pull request, or a program."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from fairc.compiler.plan import Plan
from fairc.runtime.formatting import escape_markdown
from fairc.runtime.repetitions.reading import Measurements
from fairc.runtime.repetitions.remarks import Remark, remarks, shown
from fairc.runtime.store.verdicts import Counts

from .deciding import ClaimVerdict, Decision, Verdict
from .power import Needed
from .wording import METHODS, level_text, lines, summed_up, tally, unit_texts

NONE = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Validity:
    """The numbers of cells by verdict.

    missing: cells of the plan without a result. reasons: of each cell that is not valid, with its
    verdict. remarks: the same, those alike as one.
    """

    counts: Counts
    missing: int
    reasons: tuple[tuple[str, str, str], ...]
    remarks: tuple[Remark, ...]

    @property
    def summary(self) -> str:
        """The counts as a sentence."""
        return (
            f"{self.counts.text}{f', {self.missing} of the plan not run' if self.missing else ''}"
        )


def validity(measured: Measurements, missing: int) -> Validity:
    """Count the cells of a run; missing: of the plan, without a result. Raises TableError."""
    counts = Counts()
    reasons = []
    for outcome in sorted(measured.outcomes, key=lambda outcome: outcome.cell):
        counts.add(outcome)
        if outcome.verdict_word != "valid":
            reasons.append((outcome.cell, outcome.verdict_word, "; ".join(outcome.reasons)))
    return Validity(counts, missing, tuple(reasons), tuple(remarks(measured.outcomes)))


@dataclass(frozen=True, slots=True)
class Answer:
    """The content of a form. strict: whether an undecided claim counts as a failure."""

    plan: Plan
    decision: Decision
    validity: Validity
    strict: bool

    @property
    def well(self) -> bool:
        """Whether no claim fails (or, strictly, all hold) and every cell is valid."""
        held = self.decision.is_well(strict=self.strict)
        well = self.validity.counts.all_well
        return held and well and not (self.strict and self.validity.missing)


def as_text(answers: Sequence[Answer]) -> Iterator[str]:
    """Yield lines for people."""
    for place, answer in enumerate(answers):
        if len(answers) > 1:
            yield from [""] if place else []
            yield f"experiment {answer.plan.experiment}"
        if not answer.decision.claims:
            yield _no_claim(answer.plan)
        yield from lines(answer.decision)
        yield answer.validity.summary
        yield from shown(answer.validity.remarks)


def _no_claim(plan: Plan) -> str:
    """Say that a plan has no claim: `--set` can leave out the claims of its file."""
    if plan.settings:
        return f"`{plan.experiment}` makes no claim about what `--set` has left of it"
    return f"the experiment `{plan.experiment}` makes no claim"


def as_json(answers: Sequence[Answer]) -> Iterator[str]:
    """Yield the object that docs/run/cli.md describes."""
    documents = [_document(answer) for answer in answers]
    whole = documents[0] if len(documents) == 1 else {"experiments": documents}
    yield json.dumps(whole, indent=2, ensure_ascii=False)


def _document(answer: Answer) -> dict[str, Any]:
    validity_ = answer.validity
    return {
        "experiment": answer.plan.experiment,
        "well": answer.well,
        "verdict": answer.decision.verdict if answer.decision.claims else None,
        "pairs": answer.decision.pairs,
        "level": answer.decision.level,
        "claims": [as_data(decided) for decided in answer.decision.claims],
        "cells": {**asdict(validity_.counts), "missing": validity_.missing},
        "remarks": [
            {"cell": cell, "verdict": word, "reason": why} for cell, word, why in validity_.reasons
        ],
    }


def as_data(decided: ClaimVerdict) -> dict[str, Any]:
    """Return a claim as JSON data; numbers in SI units."""
    return {
        "claim": decided.claim.text,
        "verdict": decided.verdict,
        "kind": decided.kind,
        "for": decided.claim.extent,
        "where": decided.claim.condition,
        "holds": decided.claim.holds,
        "unit": decided.claim.unit,
        "needed": _needed(decided.needed),
        "configurations": [
            {
                "by": dict(unit.where),
                "verdict": unit.verdict,
                "n": unit.estimate.n,
                "value": unit.estimate.value,
                "ci_low": unit.estimate.low,
                "ci_high": unit.estimate.high,
                "low": unit.low,
                "high": unit.high,
                "interval": METHODS[unit.method],
                **({} if unit.p is None else {"p": unit.p}),
                "reason": unit.reason,
                "remark": unit.remark,
                "needed": _needed(unit.needed),
            }
            for unit in decided.units
        ],
    }


def _needed(needed: Needed | None) -> dict[str, int | None] | None:
    return None if needed is None else {"from": needed[0], "to": needed[1]}


def as_junit(answers: Sequence[Answer]) -> Iterator[str]:
    """Yield JUnit XML: a suite of claims, with a case for each configuration, and one of the cells'
    validity; of several experiments each has both.
    """
    plan, several = answers[0].plan, len(answers) > 1
    root = ET.Element("testsuites", name=plan.file if several else plan.experiment)
    for answer in answers:
        _add_suites(root, answer, f"{answer.plan.experiment}: " if several else "")
    ET.indent(root)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield ET.tostring(root, encoding="unicode")


def _add_suites(root: ET.Element, answer: Answer, before: str) -> None:
    """Add the suites of an experiment. before: what their names begin with."""
    claims = ET.SubElement(root, "testsuite", name=f"{before}claims")
    for decided in answer.decision.claims:
        for name, verdict, sentence in _cases(decided):
            case = ET.SubElement(
                claims,
                "testcase",
                classname=xml_text(decided.claim.text),
                name=xml_text(name or "claim"),
            )
            if verdict == "fails" or (verdict == "undecided" and answer.strict):
                ET.SubElement(case, "failure", message=xml_text(f"{verdict}: {sentence}"))
            elif verdict == "undecided":
                ET.SubElement(case, "skipped", message=xml_text(f"undecided: {sentence}"))
    cells = ET.SubElement(root, "testsuite", name=f"{before}validity")
    found = answer.validity
    case = ET.SubElement(cells, "testcase", classname="validity", name="every cell is valid")
    if not found.counts.all_well:
        failure = ET.SubElement(case, "failure", message=found.summary)
        failure.text = xml_text("\n".join(remark.line for remark in found.remarks))
    for suite in (claims, cells):
        for word, tag in (("failures", "failure"), ("skipped", "skipped")):
            suite.set(word, str(sum(child.tag == tag for case in suite for child in case)))
        suite.set("tests", str(len(suite)))


def _cases(decided: ClaimVerdict) -> list[tuple[str, Verdict, str]]:
    """Return the name, the verdict and the sentence of each configuration; of a claim about a share
    of them one case, since it may hold where some fail.
    """
    if counts := tally(decided):
        return [("", decided.verdict, counts)]
    return [(row.where, row.verdict, row.sentence) for row in unit_texts(decided)]


def xml_text(text: str) -> str:
    """Return text that XML 1.0 can hold."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def as_markdown(answers: Sequence[Answer]) -> Iterator[str]:
    """Yield a table of each experiment, for a comment on a pull request."""
    for place, answer in enumerate(answers):
        yield from [""] if place else []
        yield from _section(answer)


def _section(answer: Answer) -> Iterator[str]:
    yield f"### {escape_markdown(answer.plan.title or answer.plan.experiment)}"
    yield ""
    decision = answer.decision
    if not decision.claims:
        yield f"{escape_markdown(_no_claim(answer.plan))}."
    else:
        yield f"{summed_up(decision)} ({level_text(decision)})."
        yield ""
        yield "| Claim | Configuration | Verdict | Value | Interval | Claimed | n | |"
        yield "|---|---|---|---:|---:|---|---:|---|"
        for decided in decision.claims:
            for row in unit_texts(decided):
                cells = (
                    *(decided.claim.text, row.where or NONE, row.verdict, row.value or NONE),
                    *(row.interval or NONE, row.bound, str(row.n), row.note),
                )
                yield f"| {' | '.join(map(escape_markdown, cells))} |"
    yield ""
    yield f"{escape_markdown(answer.validity.summary)}."


FORMS: Mapping[str, Callable[[Sequence[Answer]], Iterator[str]]] = MappingProxyType(
    {"text": as_text, "json": as_json, "junit": as_junit, "md": as_markdown}
)

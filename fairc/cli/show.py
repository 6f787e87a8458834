"""`fairc show`: describe NAME: a preset, a metric, a queue, a CCA, ..."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise

from fairc.compiler.targets import TARGETS
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.units import BDP, DATA, PACKETS, PHRASES, SHARE, SI, UNITS, Unit
from fairc.dsl.text import syntax
from fairc.mechanisms.queues.registry import QUEUES
from fairc.mechanisms.workloads.registry import WORKLOADS
from fairc.runtime import engines
from fairc.runtime.metrics.registry import METRICS
from fairc.runtime.metrics.rules import RULES, cited
from fairc.words.manual import KEYS, Field, Page, families
from fairc.words.presets import TOPOLOGIES

from . import console
from .failures import UsageError

MEANINGS = {
    BDP: "the rate of the slowest link on a flow's way times its base round trip",
    PACKETS: "full frames of the flow's MTU",
}
BASES = SI | {DATA: "bit", SHARE: ""}


def show(name: str | None, form: str) -> None:
    """Describe NAME: a preset, a metric, a queue, a CCA, ..."""
    everything = pages()
    families = families_of(everything, name)
    found = [page for family in families for page in everything[family]] or chosen(everything, name)
    if form == "json":
        plain = [asdict(page) for page in found]
        console.result(console.as_json(plain))
    elif name is None:
        width = max(map(len, everything)) + 2
        for family, members in everything.items():
            console.result(f"{family:<{width}}{', '.join(page.name for page in members)}")
    elif families:
        for family in families:
            if len(families) > 1:
                console.result(f"{family}:")
            for line in listed(everything[family]):
                console.result(line)
    else:
        console.result("\n\n".join("\n".join(described(page)) for page in found))


def pages() -> dict[str, list[Page]]:
    """Return the pages of all words by family: the language's, targets and engines."""
    found = families()
    found["units"] = [
        Page(name, "units", f"{PHRASES[unit.dimension]}{worth(unit)}", True)
        for name, unit in UNITS.items()
        if name
    ]
    found["targets"] = [Page(t.name, "targets", t.about, True) for t in TARGETS]
    found["engines"] = [
        Page(kind.name, "engines", kind.summary, True)
        for kind in engines.ENGINES
        if kind.name in engines.names()
    ]
    return found


def worth(unit: Unit) -> str:
    """Return what one of a unit is, after a colon."""
    what = MEANINGS.get(unit.dimension)
    if what is None:
        what = f"{float(unit.factor):,.15g} {BASES[unit.dimension]}".rstrip()
    return f": {what}"


def families_of(everything: dict[str, list[Page]], name: str | None) -> list[str]:
    """Return the families that a name means: `CCAs`, `ccas` and `cca` are those of all transports,
    `keys` those of all blocks.

    Words take precedence: the name of a word means no family.
    """
    named = [p for family, own in everything.items() if not family.startswith(KEYS) for p in own]
    if name is None or any(page.name == name for page in named):
        return []
    wanted = name.lower().removesuffix("s")
    return [known for known in everything if wanted in (_singular(known), _singular(known, True))]


def _singular(family: str, generic: bool = False) -> str:
    """Return the name of a family without its last `s`; generic: of what it is a part of."""
    name = re.split(" over | of ", family)[0] if generic else family
    return name.lower().removesuffix("s")


def chosen(everything: dict[str, list[Page]], name: str | None) -> list[Page]:
    """Return the pages of a name, or all. Raises UsageError."""
    if name is None:
        return [page for members in everything.values() for page in members]
    found = [page for members in everything.values() for page in members if page.name == name]
    if not found and "." in name:
        found = [p for p in everything["metrics"] if name in p.values]
    if not found:
        near = suggest(name, [*everything, *(p.name for w in everything.values() for p in w)])
        hint = f"did you mean `{near}`? " if near else ""
        other = next(filter(None, (words.misplaced(name) for words in (QUEUES, WORKLOADS))), None)
        raise UsageError(
            f"there is no `{name}` in the language",
            other or f"{hint}`fairc show` lists what there is",
        )
    return [with_definition(page) for page in found]


def with_definition(page: Page) -> Page:
    """Return a metric's page with its definition and the rules that it cites; other pages
    unchanged.
    """
    if page.family != "metrics" or not page.runs:
        return page
    metric = next(metric for metric in METRICS if metric.name == page.name)
    rules = [f"Rule {number}: {RULES[number]}" for number in cited(metric.definition)]
    return replace(page, text="\n\n".join([metric.definition.rstrip(), *rules]))


def listed(found: Sequence[Page]) -> Iterator[str]:
    """Yield one line per word."""
    width = max(len(page.name) for page in found)
    for page in found:
        yield f"{page.name:<{width}}  {page.summary}{'' if page.runs else ' (not yet)'}"


def described(page: Page) -> Iterator[str]:
    """Yield a page's lines: for a preset its drawing as a comment, and its text, so that both can
    be put into a file.
    """
    if page.family == "topologies" and page.text:
        yield f"# {drawing(TOPOLOGIES[page.name].declaration)}"
        yield page.text.rstrip("\n")
        return
    yield f"{page.name} ({page.family}): {page.summary}{'' if page.runs else ' (not yet)'}"
    if page.unit:
        yield f"unit: {page.unit}"
    if page.values:
        yield f"values: {', '.join(page.values)}"
    if page.fields:
        yield ""
        width = max(16, *(len(field.name) + 2 for field in page.fields))
        yield from (about(field, width) for field in page.fields)
    if page.text:
        yield ""
        yield page.text.rstrip("\n")


def about(field: Field, width: int) -> str:
    """Write a parameter or a key on one line; width: of the column of names."""
    notes = [field.kind + (f" ({', '.join(field.units)})" if field.units else "")]
    if field.required:
        notes.append("required")
    if field.default is not None:
        notes.append(f"default {field.default}")
    if not field.runs:
        notes.append("not yet")
    return f"  {field.name:<{width}}{field.summary}: {'; '.join(notes)}"


Ways = Mapping[tuple[str, str], str]
"""Two nodes -> the arrow between them as it is drawn from the first to the second."""

REVERSED = {"--": "--", "->": "<-", "<-": "->"}


def drawing(topology: syntax.Topology) -> str:
    """Return a topology in one line, `server -- gateway -> terminal -- client`.

    `--` is a link that is described for both directions at once, `->` one of which each direction
    is described for itself, in the direction of the first of them.
    """
    arrows: dict[tuple[str, str], str] = {}
    links: list[tuple[str, str]] = []
    for element in topology.body.elements:
        for ends in element.ends if isinstance(element, syntax.Link) else ():
            a, b = ends.left.span.text, ends.right.span.text
            if (a, b) not in arrows:
                links.append((a, b))
                arrows[a, b], arrows[b, a] = ends.arrow, REVERSED[ends.arrow]
    main = _way("server", "client", arrows)
    steps = list(pairwise(main))
    chain = "".join((*main[:1], *(f" {arrows[step]} {step[1]}" for step in steps)))
    others = [f"{a} {arrows[a, b]} {b}" for a, b in links if {(a, b), (b, a)}.isdisjoint(steps)]
    return ", ".join(filter(None, (chain, *others)))


def _way(origin: str, destination: str, arrows: Ways) -> list[str]:
    """Return the nodes of a shortest way from one node to another; none if there is no way."""
    before: dict[str, str] = {origin: ""}
    waiting = [origin]
    for node in waiting:
        for a, b in arrows:
            if a == node and b not in before:
                before[b] = node
                waiting.append(b)
    way = [destination] if destination in before else []
    while way and before[way[0]]:
        way.insert(0, before[way[0]])
    return way

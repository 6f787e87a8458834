"""The metrics of a run explained: formula, unit and source, from the docstrings of the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairc.compiler.plan import Formula
from fairc.dsl.model.metric_names import metric_of
from fairc.runtime.metrics.registry import METRICS
from fairc.runtime.metrics.rules import CITED, RULES, cited
from fairc.runtime.repetitions.reading import Measure


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric. text: its definition as it is written where it is computed.

    values: (full name, unit, meaning) of each number that it gives. parts: the same text in pieces,
    each with the rule of measurement that it names (runtime/metrics/rules.py), or None.
    """

    name: str
    text: str
    values: tuple[tuple[str, str, str], ...]

    @property
    def parts(self) -> tuple[tuple[str, int | None], ...]:
        """The text in pieces: those that name a rule are links to it."""
        parts: list[tuple[str, int | None]] = []
        end = 0
        for found in CITED.finditer(self.text):
            parts += [(self.text[end : found.start()], None), (f"rule {found[1]}", int(found[1]))]
            if found[3]:
                parts += [(found[2], None), (f"rule {found[3]}", int(found[3]))]
            end = found.end()
        return (*parts, (self.text[end:], None))


def rules(definitions: Sequence[Definition]) -> tuple[tuple[int, str], ...]:
    """Return the rules of measurement that definitions cite, by number."""
    numbers = {number for definition in definitions for number in cited(definition.text)}
    return tuple((number, RULES[number]) for number in sorted(numbers))


def glossary(
    measures: Sequence[Measure], own: Sequence[Formula], named: Sequence[str]
) -> tuple[Definition, ...]:
    """Return the definitions of the metrics that occur: those that `measure` names in its order,
    then the others in that of the registry.

    own: the metrics of the file's own, which come first. named: what `measure` names.

    A metric of a plug-in that is not installed here has no definition, and is left out.
    """
    present = {metric_of(m.metric) for m in measures}
    formulas = tuple(
        Definition(f.name, f"{f.name} = {f.text}", ((f.name, f.unit, "a metric of this file"),))
        for f in own
    )
    places = {name: place for place, name in enumerate(named)}
    return formulas + tuple(
        Definition(
            metric.name,
            metric.definition,
            tuple((value.name, value.unit, value.meaning) for value in metric.values),
        )
        for metric in sorted(METRICS, key=lambda one: places.get(one.name, len(places)))
        if metric.name in present
    )

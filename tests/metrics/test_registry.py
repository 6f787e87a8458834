"""The language and the runtime speak of the same metrics."""

from __future__ import annotations

import re

import pytest

from fairc.runtime.metrics import METRICS
from fairc.runtime.metrics.rules import CITED, RULES, cited
from fairc.words.metric_entry import MetricEntry
from fairc.words.metrics import METRICS as WORDS


@pytest.mark.parametrize("entry", [e for e in WORDS if e.runs], ids=lambda e: e.name)
def test_every_value_of_a_word_has_the_unit_that_is_computed(entry: MetricEntry) -> None:
    for value in next(m for m in METRICS if m.name == entry.name).values:
        assert entry.unit_of(value.name.partition(".")[2]) == value.unit, value.name


def test_definitions_cite_rules_that_there_are_and_no_file() -> None:
    """Whoever reads a definition may have the report alone (runtime/metrics/rules.py)."""
    numbers = {number for metric in METRICS for number in cited(metric.definition)}
    assert numbers and numbers <= RULES.keys() and len(RULES) == 22
    for metric in METRICS:
        without = CITED.sub("", metric.definition)
        assert not re.search(r"\w\.(md|py|rs)\b|docs/", without), metric.name


def test_ranges_of_rules() -> None:
    assert cited("measurement.md, rules 1 and 19; measurement.md,\nrules 15 to 17") == (
        1,
        15,
        16,
        17,
        19,
    )
    assert cited("rule 4") == ()

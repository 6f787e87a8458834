"""The language and the runtime speak of the same metrics."""

from __future__ import annotations

import re
import sys

import pytest
from waiting import completed

from fairc.runtime.metrics import METRICS
from fairc.runtime.metrics.base import declared
from fairc.runtime.metrics.rules import CITED, RULES, cited


def test_a_value_has_the_unit_that_its_word_declares() -> None:
    assert declared("startup", "").unit == "s"
    assert declared("startup.cwnd", "").unit == "packets"
    for name in ("startup.window", "start", "start.time"):
        with pytest.raises(KeyError):
            declared(name, "")


def test_a_metric_is_imported_without_the_others_and_what_reads_artefacts() -> None:
    code = "import sys, fairc.runtime.metrics.plt; print(*sys.modules)"
    done = completed([sys.executable, "-c", code], check=True)
    names = [name for name in done.stdout.split() if name.partition(".")[0] == "fairc"]
    assert len(names) <= 80, names
    assert not {"fairc.runtime.metrics.rtt", "fairc.runtime.measurement.loading"} & {*names}


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

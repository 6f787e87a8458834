"""The language and the runtime speak of the same metrics."""

from __future__ import annotations

import pytest

from fairc.dsl.report_words import METRICS as WORDS
from fairc.runtime.metrics import METRICS

RUNNING = [entry.name for entry in WORDS if entry.runs]


@pytest.mark.parametrize("name", RUNNING)
def test_every_metric_that_the_language_says_runs_is_implemented(name: str) -> None:
    assert name in METRICS


def test_every_implemented_metric_is_a_word_of_the_language_that_runs() -> None:
    assert sorted(METRICS.names()) == sorted(RUNNING)

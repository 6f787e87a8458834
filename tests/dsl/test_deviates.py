"""`deviates`: what differs from the original study, in as many statements as it takes."""

from __future__ import annotations

from collections.abc import Callable

from fairc import compiler
from fairc.dsl import Diagnostics
from fairc.dsl.experiment import Experiment

Make = Callable[..., Experiment]


def test_every_statement_counts_in_order(experiment: Make) -> None:
    made = experiment(
        'deviates = "the RTT is 50 ms, not 60"',
        'deviates = ["no cross traffic", "Linux 7.3"]',
        'deviates = "10 repetitions"',
    )
    plan = compiler.compile(made).plan
    assert plan.deviates == (
        "the RTT is 50 ms, not 60",
        "no cross traffic",
        "Linux 7.3",
        "10 repetitions",
    )
    assert '"deviates"' in plan.model_dump_json()


def test_a_plan_without_any_is_as_it_was(experiment: Make) -> None:
    assert '"deviates"' not in compiler.compile(experiment()).plan.model_dump_json()


def test_only_texts_are_taken(check: Callable[..., Diagnostics]) -> None:
    (found,) = check('deviates = "a"', "deviates = 5ms").errors
    assert found.code == "wrong-type" and 'a string in "quotes"' in found.message + str(found.help)
    (other,) = check('title = "a"', 'title = "b"').errors
    assert other.code == "duplicate-key"

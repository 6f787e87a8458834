"""Sub-values of metrics in `measure`."""

from __future__ import annotations

import pytest

from fairc.compiler import compile
from fairc.compiler.plan import MetricRequest
from fairc.dsl import Source, load


def text(measure: str) -> str:
    return f"""fexp 1
experiment e {{
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)
  flow a {{ cca = cubic  workload = file(1MB) }}
  flow b {{ cca = cubic  workload = file(1MB) }}
  flow c {{ cca = cubic  workload = file(1MB) }}
  measure = {measure}
}}
"""


def measured(words: str) -> tuple[MetricRequest, ...] | set[str]:
    """Return what a plan has of `measure`, or the codes of what is wrong."""
    made, found = load(Source("file.fexp", text(words)))
    if made is None:
        return {diagnostic.code for diagnostic in found.errors}
    return compile(made).plan.measure


def test_values_that_are_named_are_in_the_plan() -> None:
    found = measured("[queue_delay.p95, fairness(a, b, slot: 50ms), fairness.jain_slots, rtt]")
    assert not isinstance(found, set)
    delay, fairness, rtt = found
    assert delay.values == delay.shown == ("queue_delay.p95",)
    assert fairness.values == ("fairness", "fairness.jain_slots")
    assert (fairness.sessions, fairness.options) == (("a", "b"), {"slot": 0.05})
    assert (rtt.values, rtt.shown) == ((), ("rtt",))
    assert "values" not in rtt.model_dump_json()


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("[share(a, b), share.fair(a, b)]", ("share", "share.fair")),
        ("[harm(a), harm.rtt(a)]", ("harm", "harm.rtt")),
        (
            "[rtt.p95(from: 1s), rtt.p50(from: 1s)]",
            ("rtt.p95(from: 1s)", "rtt.p50(from: 1s)"),
        ),
        ("[fairness(a, b, slot: 50ms), fairness.jain_slots]", ("fairness", "fairness.jain_slots")),
    ],
)
def test_values_of_the_same_flows_and_options_are_one_request(
    words: str, values: tuple[str, ...]
) -> None:
    found = measured(words)
    assert not isinstance(found, set)
    assert [request.shown for request in found] == [values]


def test_a_metric_of_each_flow_has_one_set_of_flows() -> None:
    _, found = load(Source("file.fexp", text("[share(a, b), share(a, c)]")))
    (error,) = found.errors
    assert error.code == "duplicate-metric"
    assert "all values of `share` are of the same flows, here of a, b" in (error.help or "")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("[queue_delay.p96]", "unknown-value"),
        ("[goodput.F]", "unknown-value"),
        ("[nothing.p95]", "unknown-metric"),
        ("[rtt.p95, rtt.p95]", "duplicate-metric"),
        ("[fairness(a, b), fairness(a, b)]", "duplicate-metric"),
    ],
)
def test_what_is_wrong_is_said(words: str, code: str) -> None:
    assert measured(words) == {code}


def test_a_name_with_a_dot_is_nothing_elsewhere() -> None:
    wrong = """fexp 1
experiment e {
  topology = bottleneck(rate: 1Mbit/s, rtt: rtt.p95)
  flow a { cca = cubic  workload = file(1MB) }
  measure = [rtt]
}
"""
    made, found = load(Source("file.fexp", wrong))
    assert made is None and [d.code for d in found.errors] == ["wrong-type"]

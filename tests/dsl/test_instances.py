"""Names of metrics: windows, options, sub-values with arguments, metrics of a file's own."""

from __future__ import annotations

import pytest

from fairc.dsl import Source, load
from fairc.dsl.experiment import Experiment
from fairc.dsl.model.expressions import Amount
from fairc.dsl.model.metric_names import metric_of, request_label, unmarked

FILE = """fexp 1

let late = 20s

experiment e {{
  sweep {{ rtt = [20ms, 50ms] }}
  topology = bottleneck(rate: 1Mbit/s, rtt: rtt)
  flow a {{ cca = cubic  workload = bulk }}
  flow b {{ cca = bbr  workload = bulk }}
  duration = 60s
  warmup = 5s
  repeat = 12
  {text}
}}
"""


def read(text: str) -> Experiment:
    experiment, found = load(Source("file.fexp", FILE.format(text=text)))
    assert experiment is not None and not list(found), [d.message for d in found]
    return experiment


def codes(text: str) -> list[str]:
    _, found = load(Source("file.fexp", FILE.format(text=text)))
    return [d.code for d in found]


@pytest.mark.parametrize(
    ("measure", "shown"),
    [
        ("goodput(a, from: 25s)", ["goodput(from: 25s)"]),
        ("goodput(a, from: 25000ms)", ["goodput(from: 25s)"]),
        ("goodput(from: late, to: 2 * late)", ["goodput(from: 20s, to: 40s)"]),
        ("rtt.p95(a, to: 30 * 1s)", ["rtt.p95(to: 30s)"]),
        ("cwnd(a, from: 300 * rtt)", ["cwnd(from: 300 * rtt)"]),
        ("goodput, goodput(from: 25s)", ["goodput", "goodput(from: 25s)"]),
        ("fairness(a, b, slot: 1s)", ["fairness"]),
        (
            "fairness(a, b), fairness(a, b, slot: 1s)",
            ["fairness(a, b)", "fairness(a, b, slot: 1s)"],
        ),
        ("fairness, fairness(b, a)", ["fairness", "fairness(b, a)"]),
    ],
)
def test_names_say_what_distinguishes_values(measure: str, shown: list[str]) -> None:
    found = read(f"measure = [{measure}]").requests.measure
    assert [name for request in found for name in request.shown] == shown


def test_parts_of_a_name() -> None:
    name = "rtt.p95(from: 0.5s)"
    assert (unmarked(name), metric_of(name), request_label(name)) == (
        "rtt.p95",
        "rtt",
        "rtt(from: 0.5s)",
    )


def test_bounds_and_options_are_resolved_for_each_configuration() -> None:
    (request,) = read("measure = [fairness(slot: 10 * rtt, from: 300 * rtt)]").requests.measure
    assert request.window is not None
    assert request.window.begin == Amount(
        text="300 * rtt", names=("rtt",), rows=(("20ms",), ("50ms",)), numbers=(6.0, 15.0)
    )
    assert request.at({"rtt": "50ms"}).options == {"slot": 0.5}


def test_claims_and_figures_may_name_windows_that_measure_does_not() -> None:
    found = read(
        """measure = [goodput, utilization]
  report { line(goodput(a, from: 10s), x: rtt) }
  claim "used" { holds = median(utilization(from: late)) > 90% }
  claim "more" { holds = median(goodput(b, from: 10s)) > 1kbit/s }"""
    )
    assert [(r.label, r.sessions) for r in found.requests.implied] == [
        ("goodput(from: 10s)", ("a",)),
        ("utilization(from: 20s)", ()),
        ("goodput(from: 10s)", ("b",)),
    ]
    assert found.figures[0].metric == "goodput(from: 10s)"
    terms = [claim.units[0].terms[0] for claim in found.claims]
    assert [(t.metric, t.flow) for t in terms] == [
        ("utilization(from: 20s)", ""),
        ("goodput(from: 10s)", "b"),
    ]


def test_a_metric_of_ones_own_needs_nothing_in_measure_but_itself() -> None:
    found = read(
        """metric loaded = rtt.p50(a, from: 10s)
  metric added = loaded - rtt.base(a)
  metric piece = goodput / 1Mbit/s
  metric power = goodput(a) / rtt.p95(b)
  metric trips = rtt.p50(a) / rtt
  metric sent = goodput(a) * 2s
  measure = [added, piece, power, goodput, trips, sent]
  claim "added" { holds = median(added) > 1ms }
  claim "power" { holds = median(power) > 1Mbit/s / 1s }
  claim "piece" { holds = median(piece(b)) < 60% }"""
    )
    own = {formula.name: formula for formula in found.requests.formulas}
    assert {name: (f.unit, f.flows) for name, f in own.items()} == {
        "loaded": ("s", ("a",)),
        "added": ("s", ("a",)),
        "piece": ("1", ()),
        "power": ("bit/s^2", None),
        "trips": ("1", ("a",)),
        "sent": ("B", ("a",)),
    }
    assert [o.metric for o in own["added"].operands] == ["loaded", "rtt.base"]
    assert {r.label for r in found.requests.implied} == {"rtt(from: 10s)", "rtt"}
    assert [r.name for r in found.requests.metrics][:1] == ["goodput"]
    assert [c.units[0].terms[0].metric for c in found.claims] == ["added", "power", "piece"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("measure = [recovery_time(a, after: 5s, from: 5s)]", "no-window"),
        ("measure = [recovery_time(a, after: 5s, to: 5s)]", "wrong-dimension"),
        ("measure = [recovery_time(a, to: 80%)]", "missing-argument"),
        ("measure = [goodput(c, from: 5s)]", "unknown-flow"),
        ("measure = [goodput(from: 5)]", "missing-unit"),
        ("measure = [goodput(to: 4s)]", "empty-window"),
        ("measure = [goodput(from: 30s, to: 30s)]", "empty-window"),
        ("measure = [goodput(from: 60s)]", "empty-window"),
        ("metric m = goodput(a) / nothing  measure = [m]", "unknown-metric"),
        ("metric m = goodput(c) / 2  measure = [m]", "unknown-flow"),
        ("metric m = rtt.p51(a) / 2  measure = [m]", "unknown-value"),
        ("metric m = rtt.p50(a) + 1  measure = [m]", "wrong-dimension"),
        ("metric a = rtt.p50(a)  measure = [a]", "duplicate-metric"),
        ("metric late = rtt.p50(a)  measure = [late]", "duplicate-metric"),
        ("metric m = m / 2  measure = [m]", "circular"),
        ("metric m = goodput(a) < 2  measure = [m]", "metric-form"),
        ("metric m = goodput(a)  metric m = goodput(b)  measure = [m]", "duplicate-metric"),
    ],
)
def test_what_is_refused(text: str, code: str) -> None:
    assert code in codes(text)


@pytest.mark.parametrize(
    ("formula", "flows"),
    [
        ("min(goodput(a), goodput(b)) / rtt.p95(a)", None),
        ("rtt.p95(a) * goodput(a) / goodput(b)", None),
        ("sqrt(goodput(a) * goodput(a)) / rtt.p95(a)", ("a",)),
        ("max(goodput(a), 1kbit/s)", ("a",)),
        ("max(rtt.p95, rtt.p50)", ()),
    ],
)
def test_values_of_several_flows_are_the_cells(formula: str, flows: tuple[str, ...] | None) -> None:
    found = read(f"metric m = {formula}  measure = [m]")
    (own,) = found.requests.formulas
    assert own.flows == flows


def test_metrics_that_need_each_other_in_a_long_chain() -> None:
    chain = "  ".join(f"metric m{n} = m{n - 1} + m{n - 1}" for n in range(1, 90))
    found = read(f"metric m0 = goodput(a)  {chain}  measure = [m89]")
    assert len(found.requests.formulas) == 90


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        ("goodput(a)" + " + 1bit/s" * 150, ""),
        ("goodput(a)" + " + 1bit/s - 1bit/s" * 30, "too-deep"),
        ("sqrt(" * 45 + "goodput(a) / goodput(a)" + ")" * 45, "too-deep"),
        ("goodput(a)" + " + 1bit/s" * 3000, "too-many"),
    ],
)
def test_formulas_are_as_large_as_a_plan_holds(formula: str, code: str) -> None:
    problems = codes(f"metric m = {formula}  measure = [m]")
    assert problems == ([code] if code else [])

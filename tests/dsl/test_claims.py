"""Claims: what they are resolved to, and what of them is refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from specs import experiment_of

from fairc.compiler.plan import Claim
from fairc.dsl import Source, checker, load
from fairc.dsl.model.claims import ClaimUnit, distinct_flows
from fairc.dsl.results.claim_units import UNIT_STEPS, Comparisons, Point
from fairc.dsl.results.claims import _needed
from fairc.runtime.statistics.sequential import values_needed

FILE = """fexp 1

let most = 90%

experiment e {{
  sweep {{
    cca  = [cubic, bbr]
    loss = [0%, 1%]
    n    = [1, 2]
  }}
  exclude cca == bbr and loss == 1% and n == 2
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, loss: loss, queue: fifo(2bdp))
  flow a {{ cca = cca    count = n  workload = file(1MB) }}
  flow b {{ cca = cubic  workload = file(1MB) }}
  repeat  = {repeat}
  {more}
  measure = [goodput, fairness, queue_delay.p95, rtt(a)]
  {claims}
}}
"""


def checked(
    claims: str, repeat: int = 12, more: str = ""
) -> tuple[tuple[Claim, ...], list[tuple[str, str]]]:
    experiment, found = load(
        Source("file.fexp", FILE.format(claims=claims, repeat=repeat, more=more))
    )
    return experiment.claims if experiment else (), [(d.code, d.message) for d in found]


def claim(body: str, **more: str) -> Claim:
    (found,), diagnostics = checked(f'claim "x" {{ {body} }}', **more)  # type: ignore[arg-type]
    assert not diagnostics
    return found


def test_a_claim_is_about_each_configuration_that_is_left() -> None:
    found = claim("holds = median(fairness.F) > 0.2")
    cells = [unit.terms[0].cells for unit in found.units]
    assert len(cells) == 7 and ("bbr", "1%", "2") not in cells
    assert found.shared == ("cca", "loss", "n") and found.unit == "1"
    assert {(unit.low, unit.high) for unit in found.units} == {(0.2, None)}


def test_a_claim_measures_what_it_is_about() -> None:
    source = FILE.format(
        claims='claim "x" { holds = median(loss_rate(a)) < 1% }', repeat=12, more=""
    )
    experiment, found = load(Source("file.fexp", source))
    assert experiment is not None and not found.errors
    assert [r.label for r in experiment.requests.measure] == [
        "goodput",
        "fairness",
        "queue_delay",
        "rtt",
    ]
    (implied,) = experiment.requests.implied
    assert (implied.label, implied.sessions, implied.is_drawn) == ("loss_rate", ("a",), False)


def test_two_selections_are_matched_over_the_names_that_they_do_not_mention() -> None:
    found = claim(
        "where = n == 1  holds = median(goodput, flow: a, where: cca == bbr)"
        " < median(goodput, flow: a, where: cca == cubic)"
    )
    assert found.shared == ("loss", "n") and found.form == "sum" and found.relation == "<"
    assert [
        [*zip((t.cells for t in unit.terms), unit.contrast.factors, strict=True)]
        for unit in found.units
    ] == [[(("bbr", loss, "1"), 1.0), (("cubic", loss, "1"), -1.0)] for loss in ("0%", "1%")]
    assert {(unit.low, unit.high) for unit in found.units} == {(None, 0.0)}


def test_names_that_are_bound_together_change_together() -> None:
    text = FILE.replace("n    = [1, 2]", "(n, m) = [(1, 5), (2, 6)]").replace(
        "count = n ", "count = n * m "
    )
    body = 'claim "x" { holds = median(rtt, where: n == 1) < median(rtt, where: n == 2) }'
    experiment, found = load(Source("f.fexp", text.format(claims=body, repeat=12, more="")))
    assert experiment is None  # of bbr at 1 % there is no n == 2
    assert [d.code for d in found] == ["empty-claim"]
    body = body.replace("{ holds", "{ where = cca == cubic  holds")
    experiment, found = load(Source("f.fexp", text.format(claims=body, repeat=12, more="")))
    assert experiment is not None and experiment.claims[0].shared == ("cca", "loss")


def test_bounds_may_depend_on_swept_names_and_lets() -> None:
    found = claim(
        "where = loss == 0%  holds = median(goodput, flow: a) / n in 0.2Mbit/s * n..1Mbit/s * most"
    )
    assert [(u.contrast.factors[0], u.low, u.high) for u in found.units] == [
        (1.0, 0.2e6, 0.9e6),
        (0.5, 0.4e6, 0.9e6),
    ] * 2


def test_a_constant_on_the_left_turns_the_comparison() -> None:
    found = claim("where = n == 1  holds = 50ms >= median(queue_delay.p95, flow: b) + 10ms")
    assert found.relation == "<=" and found.unit == "s"
    assert {(u.contrast.shift, u.low, u.high) for u in found.units} == {(0.01, None, 0.05)}


def test_a_ratio_has_its_factor_and_no_unit() -> None:
    found = claim(
        "where = n == 1  holds = 2 * median(goodput, flow: a) / median(goodput, flow: b) > 1"
    )
    assert (found.form, found.unit) == ("ratio", "1")
    assert found.units[0].contrast.factors == (2.0, 1.0)


def test_a_count_has_its_own_bound() -> None:
    found = claim("where = n == 1  holds = count(goodput > 100kbit/s, flow: a) >= 50%")
    term = found.units[0].terms[0]
    assert (term.statistic, term.relation, term.bound) == ("count", ">", 100_000.0)
    assert (found.unit, found.units[0].low) == ("1", 0.5)


def test_a_metric_may_be_called_with_its_flow() -> None:
    called = claim("where = n == 1  holds = median(goodput(a)) / median(goodput(b)) > 1")
    named = claim("where = n == 1  holds = median(goodput, flow: a) / median(goodput, flow: b) > 1")
    assert called.units == named.units
    counted = claim("where = n == 1  holds = count(goodput(b) > 1Mbit/s) > 50%")
    assert counted.units[0].terms[0].flow == "b"


def test_a_ratio_of_a_let_with_itself_contains_no_statistic() -> None:
    body = "where = n == 1  holds = both / both > 1"
    text = FILE.replace("let most", "let both = median(fairness.F)  let most")
    text = text.format(claims=f'claim "x" {{ {body} }}', repeat=12, more="")
    experiment, found = load(Source("f.fexp", text))
    assert experiment is None and [d.code for d in found] == ["claim-form"]


def test_a_share_of_two_medians_is_refused_with_a_metric_that_is_one() -> None:
    _, found = checked(
        'claim "x" { holds = median(goodput(a)) / (median(goodput(a)) + median(goodput(b))) > 1 }'
    )
    assert [code for code, _ in found] == ["claim-form"]


def test_a_trend_orders_the_configurations_of_a_name() -> None:
    found = claim("where = cca == cubic  holds = increasing(median(goodput(a)), over: n)")
    assert (found.form, found.relation, found.unit, found.pairs) == ("trend", ">", "1", 4)
    assert found.shared == ("cca", "loss")
    assert [[t.cells for t in unit.terms] for unit in found.units] == [
        [("cubic", loss, "1"), ("cubic", loss, "2")] for loss in ("0%", "1%")
    ]
    assert {(u.low, u.high, u.contrast.shift) for u in found.units} == {(0.0, None, 0.0)}
    down = claim("where = n == 1  holds = (decreasing(median(goodput(a)), over: loss))")
    assert down.relation == "<" and {(u.low, u.high) for u in down.units} == {(None, 0.0)}


def test_a_trend_goes_by_the_size_of_the_values_not_by_their_order_in_the_file() -> None:
    text = FILE.replace("n    = [1, 2]", "n = [5, 1, 20]").replace(
        "exclude cca == bbr and loss == 1% and n == 2", ""
    )
    body = 'claim "x" { holds = increasing(median(fairness.F), over: n) }'
    experiment, found = load(Source("f.fexp", text.format(claims=body, repeat=12, more="")))
    assert experiment is not None and not found
    assert [t.cells[2] for t in experiment.claims[0].units[0].terms] == ["1", "5", "20"]


def test_a_trend_is_decided_by_a_test_and_by_each_step() -> None:
    body = 'claim "x" { where = cca == cubic  holds = increasing(median(fairness.F), over: n) }'
    assert [code for code, _ in checked(body, repeat=7)[1]] == ["few-repetitions"]
    assert not checked(body, repeat=8)[1]
    _, found = checked(body, more="precision { goodput = 5% }", repeat="8..30")  # type: ignore
    assert [code for code, _ in found] == ["undecidable-claim"]


def test_the_only_flow_that_is_measured_need_not_be_named() -> None:
    assert claim("where = n == 1  holds = median(rtt) < 1s").units[0].terms[0].flow == "a"


@pytest.mark.parametrize(
    ("extent", "least", "required"),
    [("each", 1, 7), ("100%", 1, 7), ("most", 0.9, 7), ("70%", 0.7, 5)],
)
def test_a_share_of_the_configurations_may_be_enough(
    extent: str, least: float, required: int
) -> None:
    found = claim(f"for = {extent}  holds = median(fairness.F) > 0.2")
    assert (found.over, found.least, found.required, found.pairs) == ("each", least, required, 7)
    assert ('"least"' in found.model_dump_json()) == (least < 1)  # old plans stay as they are


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ("for = 0%  holds = median(fairness.F) > 1", "out-of-range", "more than zero"),
        ("for = 120%  holds = median(fairness.F) > 1", "out-of-range", "at most 100%"),
        ("for = 0.9  holds = median(fairness.F) > 1", "missing-unit", "no unit"),
        ("for = 5s  holds = median(fairness.F) > 1", "wrong-dimension", "percentage"),
        ("holds = increasing(median(fairness.F), over: m)", "unknown-name", "m"),
        ("holds = increasing(median(fairness.F))", "missing-argument", "over"),
        ("holds = increasing(fairness.F, over: n)", "wrong-type", "statistic"),
        ("holds = increasing(mean(fairness.F), over: n)", "claim-form", "mean"),
        ("holds = increasing(median(fairness.F), over: n) > 0", "claim-form", "whole claim"),
        (
            "holds = increasing(median(fairness.F, where: n == 1), over: n)",
            "claim-form",
            "over the",
        ),
        ("for = mean  holds = increasing(median(fairness.F), over: n)", "claim-form", "no mean"),
        ("holds = increasing(median(fairness.F), over: n)", "no-order", "has one where cca = bbr"),
        ("holds = median(godput) > 1", "unknown-metric", "godput"),
        ("holds = median(fairness.G) > 1", "unknown-value", "G"),
        ("holds = median(goodput, flow: a) > 3", "wrong-dimension", "a rate and a number"),
        ("holds = median(goodput, flow: a) > median(fairness.F)", "wrong-dimension", "same kind"),
        ("holds = median(goodput) > 1Mbit/s", "missing-argument", "each flow"),
        ("holds = median(goodput, flow: c) > 1Mbit/s", "unknown-flow", "c"),
        ("holds = median(goodput(a), flow: b) > 1Mbit/s", "duplicate-argument", "twice"),
        ("holds = median(goodput(a, b)) > 1Mbit/s", "too-many-arguments", "one flow"),
        ("holds = median(goodput()) > 1Mbit/s", "missing-argument", "one flow"),
        ("holds = median(goodput(flow: a)) > 1Mbit/s", "unknown-argument", "`flow`"),
        ("holds = median(fairness(a)) > 1", "unknown-argument", "all flows"),
        ("holds = median(fairness.F, flow: a) > 1", "unknown-argument", "all flows"),
        ("holds = median(rtt, load: 2) > 1s", "unknown-argument", "load"),
        ("holds = percentile(fairness.F) > 1", "missing-argument", "`p`"),
        ("holds = percentile(fairness.F, 100) > 1", "out-of-range", "less than 100"),
        ("holds = count(fairness.F) > 50%", "wrong-type", "count"),
        ("holds = count(goodput > 3, flow: a) > 50%", "wrong-dimension", "rate"),
        ("holds = median(fairness.F) in 2..1", "empty-range", "empty"),
        ("holds = median(fairness.F) in [1, 2]", "claim-form", "range"),
        ("holds = median(fairness.F) / 0 > 1", "division-by-zero", "zero"),
        ("for = all  holds = median(fairness.F) > 1", "unknown-word", "all"),
        ("where = repetition == 1  holds = median(fairness.F) > 1", "not-an-axis", "repetition"),
        ("where = los == 1%  holds = median(fairness.F) > 1", "unknown-name", "los"),
        ("when = loss == 1%  holds = median(fairness.F) > 1", "unknown-key", "when"),
        ("where = loss == 1%", "missing-key", "holds"),
        ("for = mean  holds = count(fairness.F > 0) > 50%", "claim-form", "mean"),
    ],
)
def test_what_is_refused(body: str, code: str, words: str) -> None:
    _, found = checked(f'claim "x" {{ {body} }}')
    assert (code, True) in [(c, words in message) for c, message in found], found


def test_the_mean_over_configurations_that_draw_on_their_own_is_of_means() -> None:
    text = 'claim "x" { for = mean  holds = STAT(fairness.F) > 0.2 }'
    alike, found = checked(text.replace("STAT", "median"))
    assert len(alike) == 1 and not found
    _, found = checked(text.replace("STAT", "median"), more="draws = own")
    assert [code for code, _ in found] == ["claim-form"]
    own, found = checked(text.replace("STAT", "mean"), more="draws = own")
    assert len(own) == 1 and not found


def test_repetitions_that_several_claims_need() -> None:
    assert [_needed("median", 0.5, m) for m in (1, 5, 20)] == [6, 8, 10]
    assert _needed("percentile", 0.9, 1) == 36
    # 2 / 2^n - 1 / 4^n is at most 0.025, 0.00125
    assert [_needed("independent", 0.5, m) for m in (1, 20)] == [7, 11]


@pytest.mark.parametrize(("share", "pairs"), [(0.5, 1), (0.5, 7), (0.9, 1)])
def test_repetitions_that_a_claim_needs_of_a_range(share: float, pairs: int) -> None:
    needed = values_needed(share, 1 - 0.05 / pairs)
    assert _needed("percentile", share, pairs, is_range=True) == needed


def test_too_few_repetitions_are_a_warning_so_that_a_quick_try_still_runs() -> None:
    found, diagnostics = checked('claim "x" { holds = median(fairness.F) > 0.2 }', repeat=8)
    assert len(found) == 1
    assert [code for code, _ in diagnostics] == ["few-repetitions"]
    assert not checked('claim "x" { holds = median(fairness.F) > 0.2 }', repeat=9)[1]


def test_a_claim_may_be_a_name_and_a_key_like_every_keyword() -> None:
    text = FILE.replace("n    = [1, 2]", "n = [1, 2]  in = [1]  claim = [1]").replace(
        "count = n", "count = n * in * claim"
    )
    experiment, found = load(Source("f.fexp", text.format(claims="", repeat=1, more="")))
    assert experiment is not None and not found.errors
    assert [axis.name for axis in experiment.axes] == ["cca", "loss", "n", "in", "claim"]


def test_conditions_know_ranges_and_lists() -> None:
    both = claim("where = loss in 0.5%..2% and cca in [cubic]  holds = median(fairness.F) > 0.2")
    assert [unit.terms[0].cells for unit in both.units] == [
        ("cubic", "1%", "1"),
        ("cubic", "1%", "2"),
    ]


EACH = """fexp 1

experiment e {
  sweep { n = [1, 2] }
  topology = dumbbell(rate: 1Mbit/s, rtt: 50ms)
  flow f[i] for i in 1..n { cca = cubic  workload = file(1MB) }
  flow g { cca = reno  workload = file(1MB) }
  repeat  = 20
  measure = [goodput]
  %s
}
"""


def units_of_each(holds: str, more: str = "") -> list[tuple[str, ...]]:
    text = EACH % f'claim "x" {{ {more} holds = {holds} }}'
    experiment = experiment_of(text)
    (made,) = experiment.claims
    return [(u.terms[0].cells[0], *(t.flow for t in u.terms)) for u in made.units]


def test_a_claim_about_flows_with_an_index_is_about_each_that_is_there() -> None:
    every = [("1", "f[1]"), ("2", "f[1]"), ("2", "f[2]")]
    assert units_of_each("median(goodput(f)) > 1kbit/s") == every
    assert units_of_each("median(goodput, flow: f) > 1kbit/s") == every
    both = "median(goodput(f)) / median(goodput.group(f)) < 110%"
    assert units_of_each(both) == [(*unit, "f") for unit in every]
    beside = "median(goodput(g)) > 0.1 * median(goodput(f))"
    assert units_of_each(beside) == [(n, "g", flow) for n, flow in every]
    changed = "median(goodput(f), where: n == 2) < median(goodput(f), where: n == 1)"
    assert units_of_each(changed) == [("2", "f[1]", "f[1]")]


def test_a_trend_of_flows_with_an_index_is_one_for_each_with_several_values() -> None:
    assert units_of_each("decreasing(median(goodput(f)), over: n)") == [("1", "f[1]", "f[1]")]


def test_a_claim_about_each_flow_says_which() -> None:
    experiment = experiment_of(EACH % 'claim "x" { holds = median(goodput(f)) > 1kbit/s }')
    (made,) = experiment.claims
    assert distinct_flows(made.units) == ("f[1]", "f[1]", "f[2]")
    assert distinct_flows(made.units[:2]) == ("", "")


def test_the_mean_over_configurations_is_of_one_flow() -> None:
    text = EACH % 'claim "x" { for = mean  holds = mean(goodput(f)) > 1kbit/s }'
    _, found = load(Source("f.fexp", text))
    assert [(d.code, d.help) for d in found] == [
        ("claim-form", "name one, such as `f[1]`, or write `for = each`")
    ]


MANY = """fexp 1
experiment e {{
  sweep {{ x = [{values}] }}
  topology = bottleneck(rate: 1Mbit/s)
  flow a {{ cca = cubic  workload = file(1MB) }}
  measure = [goodput]
{claims}
}}
"""


def many(claim: str) -> tuple[list[tuple[str, str]], int]:
    """Return what is wrong with 250 claims over the 2,000 values of a name that nothing else uses,
    and how many units of claims were resolved.
    """
    units = 0
    unit = Comparisons._unit

    def counted(self: Comparisons, group: Sequence[Point]) -> ClaimUnit | None:
        nonlocal units
        units += 1
        return unit(self, group)

    claims = "\n".join(f'  claim "c{i}" {{ {claim.format(i=i)} }}' for i in range(1, 251))
    text = MANY.format(values=", ".join(map(str, range(2000))), claims=claims)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Comparisons, "_unit", counted)
        patch.setattr(checker, "STEP_LIMIT", 100_000)
        _, found = load(Source("file.fexp", text))
    return [(d.code, d.message) for d in found.errors], units


def test_claims_about_too_much_end_the_search_at_the_first_of_them() -> None:
    errors, units = many("holds = mean(goodput) > {i}bit/s")
    assert errors == [("too-many", "this claim is about more than 1,000 configurations")]
    assert units == 1001


def test_what_a_claim_looks_at_counts_as_steps() -> None:
    """Each is about one configuration, but asks all of them."""
    errors, units = many("where = x == {i}  holds = mean(goodput) > {i}bit/s")
    assert errors == [("too-many", "checking this file takes more than 100,000 steps")]
    assert 0 < units < 100_000 / 2_000


def test_what_is_resolved_for_a_claim_counts_as_steps() -> None:
    """Means over 1,000 configurations each: few pairs of claim and configuration, much to do."""
    errors, units = many("for = mean  where = x < 900  holds = mean(goodput) > {i}bit/s")
    assert errors == [("too-many", "checking this file takes more than 100,000 steps")]
    assert 1000 < units < 100_000 / UNIT_STEPS

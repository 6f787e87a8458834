"""Windows of metrics, and metrics of a file's own, against numbers worked out by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from madeartefacts import Made, hand_made
from madecell import MS

from fairc.compiler.plan import Amount, CellValue, Formula, MetricRequest, Operation, Requests
from fairc.dsl.model.expressions import DEEPEST, Expression, Operator
from fairc.dsl.model.requests import Window
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.run.history import as_declared

SHARED = "a....b.... aaaaaabbbb aaaaaaaaaa ababababab bbbbaabbbb a....b...b"
"""The flow a is active until 0.50 s."""

Values = Mapping[tuple[str, str | None], MetricValue]


def amount(number: float) -> Amount:
    return Amount(text=f"{number:g}s", numbers=(number,))


def windowed(name: str, begin: float | None, end: float | None, mark: str = "") -> MetricRequest:
    window = Window(
        begin=None if begin is None else amount(begin), end=None if end is None else amount(end)
    )
    return MetricRequest(name=name, window=window, mark=mark or f"({begin}, {end})")


def analysed(made: Made, folder: Path, requests: Requests) -> Values:
    found = analyse(made.cell, made.write(folder / "raw"), requests).metrics
    return {(value.metric, value.flow): value for value in found}


def number(values: Values, metric: str, flow: str | None = None) -> float:
    found = values[metric, flow].value
    assert found is not None, values[metric, flow].reason
    return found


def test_bytes_of_the_parts_add_up_to_those_of_the_whole(tmp_path: Path) -> None:
    cuts = (0.0, 0.1, 0.25, 0.4, 0.5)
    parts = [windowed("goodput", *pair) for pair in itertools.pairwise(cuts)]
    found = analysed(
        hand_made(SHARED), tmp_path, Requests(measure=(MetricRequest(name="goodput"), *parts))
    )
    pieces = [
        number(found, f"goodput({begin}, {end})", "a") * (end - begin)
        for begin, end in itertools.pairwise(cuts)
    ]
    assert sum(pieces) == pytest.approx(0.5 * number(found, "goodput", "a"))
    assert len(set(pieces)) > 1


def test_a_flow_of_constant_rate_has_it_in_every_window(tmp_path: Path) -> None:
    windows = [windowed("utilization", begin, begin + 0.2) for begin in (0.1, 0.35, 0.5)]
    found = analysed(hand_made("ab" * 50), tmp_path, Requests(measure=tuple(windows)))
    assert [value.value for value in found.values()] == pytest.approx([1.0, 1.0, 1.0])


def test_from_takes_the_place_of_the_warm_up(tmp_path: Path) -> None:
    plain = Requests(measure=(MetricRequest(name="goodput"), MetricRequest(name="rtt")))
    later = analysed(hand_made(SHARED, warmup_ns=200 * MS), tmp_path / "warm", plain)
    requests = Requests(
        measure=(windowed("goodput", 0.2, None), windowed("goodput", None, 0.3, "(to)"))
    )
    of_all = analysed(hand_made(SHARED), tmp_path / "cold", requests)
    warm = analysed(hand_made(SHARED, warmup_ns=200 * MS), tmp_path / "both", requests)
    for flow in "ab":
        assert number(of_all, "goodput(0.2, None)", flow) == number(later, "goodput", flow)
        assert number(warm, "goodput(0.2, None)", flow) == number(later, "goodput", flow)
    assert number(warm, "goodput(to)", "a") != number(of_all, "goodput(to)", "a")


def test_a_window_in_which_a_flow_is_not_active(tmp_path: Path) -> None:
    found = analysed(
        hand_made(SHARED), tmp_path, Requests(measure=(windowed("goodput", 5.0, 6.0),))
    )
    value = found["goodput(5.0, 6.0)", "a"]
    assert (value.value, value.reason) == (None, "the flow was not active in the window")


def test_the_round_trips_of_the_idle_network_have_no_window(tmp_path: Path) -> None:
    found = analysed(hand_made(SHARED), tmp_path, Requests(measure=(windowed("rtt", 0.0, 0.5),)))
    assert ("rtt.mean(0.0, 0.5)", "a") in found
    assert not any(metric.startswith("rtt.base") for metric, _ in found)


def test_of_what_is_implied_only_the_named_values_are_kept(tmp_path: Path) -> None:
    implied = MetricRequest(name="rtt", values=("rtt.base",))
    requests = Requests(measure=(MetricRequest(name="goodput"),), implied=(implied,))
    found = analysed(hand_made(SHARED), tmp_path, requests)
    assert {metric for metric, _ in found} == {"goodput", "rtt.base"}


A, B = CellValue(metric="goodput", flows=("a",)), CellValue(metric="goodput", flows=("b",))
PAYLOAD, FRAMES = (CellValue(metric=name, is_each=True) for name in ("goodput", "throughput"))


def of(operator: Operator, *parts: Expression) -> Operation:
    return Operation(operator=operator, of=parts)


def formula(expression: Expression, *, flows: tuple[str, ...] | None = None) -> Formula:
    """Return a formula `own`."""
    return Formula(name="own", text="by hand", unit="1", flows=flows, expression=expression)


def requests_of(formula: Formula) -> Requests:
    measure = (MetricRequest(name=name) for name in ("goodput", "throughput", "own"))
    return Requests(measure=tuple(measure), formulas=(formula,))


def test_a_quotient_of_two_flows_is_of_the_cell(tmp_path: Path) -> None:
    found = analysed(hand_made(SHARED), tmp_path, requests_of(formula(of("/", A, B))))
    quotient = number(found, "goodput", "a") / number(found, "goodput", "b")
    assert number(found, "own") == quotient


def test_a_quotient_of_each_flow(tmp_path: Path) -> None:
    of_each = formula(of("*", of("/", PAYLOAD, FRAMES), amount(2.0)), flows=())
    found = analysed(hand_made(SHARED), tmp_path, requests_of(of_each))
    for flow in "ab":
        payload, frames = number(found, "goodput", flow), number(found, "throughput", flow)
        assert number(found, "own", flow) == payload / frames * 2


def test_a_metric_of_several_values_means_its_first_one_in_a_window_too(tmp_path: Path) -> None:
    measure = (windowed("rtt", 0.0, 0.5), MetricRequest(name="own"))
    bare = CellValue(metric="rtt(0.0, 0.5)", flows=("a",))
    requests = Requests(measure=measure, formulas=(formula(bare),))
    found = analysed(hand_made(SHARED), tmp_path, requests)
    why = found["rtt.mean(0.0, 0.5)", "a"].reason  # it is found, and says why it has none here
    assert why and found["own", None].reason == f"rtt(0.0, 0.5) of a has no value: {why}"


def test_a_division_by_zero_has_no_value(tmp_path: Path) -> None:
    zero = formula(of("/", A, of("-", B, B)))
    value = analysed(hand_made(SHARED), tmp_path, requests_of(zero))["own", None]
    assert (value.value, value.reason) == (None, "it would be divided by zero")


def test_what_needs_an_absent_flow_has_no_value(tmp_path: Path) -> None:
    absent = formula(of("/", A, CellValue(metric="goodput", flows=("c",))))
    value = analysed(hand_made(SHARED), tmp_path, requests_of(absent))["own", None]
    assert (value.value, value.reason) == (None, "goodput of c has no value")


def test_bounds_and_factors_are_those_of_the_configuration() -> None:
    rows = Amount(text="30 * rtt", names=("rtt",), rows=(("20ms",), ("40ms",)), numbers=(0.6, 1.2))
    assert rows.of({"rtt": "40ms", "cca": "bbr"}) == 1.2
    request = MetricRequest(name="cwnd", varied={"every": rows})
    assert request.at({"rtt": "20ms"}).options == {"every": 0.6}


def test_extremes_and_roots(tmp_path: Path) -> None:
    made = hand_made(SHARED)
    cases: tuple[tuple[Operation, Callable[[float, float], float]], ...] = (
        (of("min", A, B), min),
        (of("max", A, B, A), max),
        (of("sqrt", of("*", A, B)), lambda a, b: (a * b) ** 0.5),
    )
    for expression, expected in cases:
        folder = tmp_path / expression.operator
        found = analysed(made, folder, requests_of(formula(expression)))
        a, b = number(found, "goodput", "a"), number(found, "goodput", "b")
        assert a != b
        assert number(found, "own") == pytest.approx(expected(a, b), rel=1e-15)


def test_the_root_of_a_negative_number_has_no_value(tmp_path: Path) -> None:
    found = [
        analysed(
            hand_made(SHARED), tmp_path / str(i), requests_of(formula(of("sqrt", of("-", *both))))
        )
        for i, both in enumerate(((A, B), (B, A)))
    ]
    values = [values["own", None] for values in found]
    (reason,) = [value.reason for value in values if value.value is None]
    assert reason == "it would be the root of a negative number"


def test_a_formula_is_in_locks_as_earlier_versions_wrote_it() -> None:
    two = Amount(text="2", numbers=(2.0,))
    requests = requests_of(formula(of("*", two, A, of("sqrt", of("-", B, A))), flows=("a",)))
    number = '{"text":"2","names":[],"rows":[[]],"numbers":[2.0]}'
    operands = ",".join(f'{{"metric":"goodput","flows":["{flow}"]}}' for flow in "aba")
    meaning = (
        '{"name":"own","text":"by hand","unit":"1","flows":["a"],'
        f'"operands":[{operands}],"steps":[{number},0,"*",1,2,"-","sqrt","*"]}}'
    )
    request = requests.measure[-1]
    found = as_declared(request, requests)["meaning"]
    assert found == sha256(f"{request.model_dump_json()}\n{meaning}".encode()).hexdigest()


def test_expressions_that_give_no_value_are_refused() -> None:
    cases: tuple[tuple[Operator, tuple[Expression, ...]], ...] = (
        ("sqrt", (A, B)),
        ("min", (A,)),
        ("-", ()),
    )
    for operator, parts in cases:
        with pytest.raises(ValueError, match="of"):
            Operation(operator=operator, of=parts)
    with pytest.raises(ValueError, match="made of no value"):
        formula(of("+", 1.0, 2.0))


def test_an_expression_of_a_stranger_is_bounded() -> None:
    deep: Expression = A
    for _ in range(DEEPEST):
        deep = of("sqrt", deep)
    assert formula(deep).operands == (A,)
    again = Formula.model_validate_json(formula(deep).model_dump_json())
    assert again == formula(deep)
    with pytest.raises(ValueError, match="more than 40 levels deep"):
        of("sqrt", deep)
    with pytest.raises(ValueError, match="at most 1000"):
        of("+", *(1.0 for _ in range(1001)))
    text = '{"operator": "sqrt", "of": [' * 5000 + "1.0" + "]}" * 5000
    with pytest.raises(ValueError, match="recursion limit"):
        Operation.model_validate_json(text)

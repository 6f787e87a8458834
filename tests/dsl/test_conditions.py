"""`--where` and `--set`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from fairc.dsl import CompileError, Source, condition, load
from fairc.dsl.core.diagnostics import Severity
from fairc.dsl.experiment import Experiment
from fairc.dsl.model import Configuration

from .conftest import text_of

Build = Callable[..., list[Configuration]]

CELL = {"latency": "300ms", "loss": "0.1%", "cca": "cubic", "net": "geo(pep: split)", "n": "2"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("latency == 0.3s", True),
        ("latency == 300ms and loss < 1%", True),
        ("latency != 300ms or n >= 2", True),
        ("not (cca == bbr)", True),
        ("cca == bbr", False),
        ("net == geo(pep: split)", True),
        ("repetition <= 2", False),
        ("n * 100ms < latency", True),
        ("latency > max(100ms, 200ms)", True),
    ],
)
def test_where(text: str, expected: bool) -> None:
    assert condition(text).matches(CELL, 3) is expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "unexpected-end"),
        ("latency", "wrong-type"),
        ("latency ==", "unexpected-end"),
        ("latency == 5MB", "wrong-dimension"),
        ("latncy == 5ms +", "unexpected-end"),
        ("1 == 2 3", "syntax"),
        ("a = b", "syntax"),
    ],
)
def test_wrong_conditions(text: str, code: str) -> None:
    with pytest.raises(CompileError) as caught:
        condition(text).matches(CELL, 1)
    assert [each.code for each in caught.value.diagnostics] == [code]


def test_names_that_no_cell_has() -> None:
    wrong = condition("latencyy == 300ms")
    with pytest.raises(CompileError) as caught:
        wrong.check(CELL)
    assert caught.value.diagnostics[0].note == "did you mean `latency`?"
    condition("latency == 300ms").check(CELL)
    condition("repetition == 1").check(CELL)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"d": "[3s]"}, [3]),
        ({"d": "3s"}, [3]),
        ({"d": "(1..3) * 1s"}, [1, 2, 3]),
        ({"d": "logspace(1s, 100s, 3)"}, [1, 10, 100]),
        ({"unit": "5s"}, [5, 10]),
        ({"duration": "7s"}, [7, 7]),
    ],
)
def test_set(build: Build, settings: Mapping[str, str], expected: list[int]) -> None:
    before = "let unit = 1s\n"
    found = build("sweep { d = [1, 2] * unit }", "duration = d", before=before, settings=settings)
    assert [(c.scenario.duration_ns or 0) // 10**9 for c in found] == expected


def test_set_repeat(build: Build) -> None:
    (configuration,) = build("repeat = 6", settings={"repeat": "2"})
    assert configuration.repetitions == (1, 2)
    (configuration,) = build(settings={"repeat": "3"})
    assert configuration.repetitions == (1, 2, 3)


@pytest.mark.parametrize(
    ("settings", "code", "place"),
    [
        ({"duration": "5MB"}, "wrong-dimension", "5MB"),
        ({"duration": "5 s"}, "spaced-unit", "5 s"),
        ({"duration": "("}, "unexpected-end", ""),
        ({"$(reboot)": "1"}, "unknown-setting", "$(reboot)"),
    ],
)
def test_wrong_settings(settings: Mapping[str, str], code: str, place: str) -> None:
    text = """fexp 1
experiment e {
  sweep { (a, b) = [(1s, 2s)] }
  topology = bottleneck(rate: 1Mbit/s)
  flow f { cca = cubic  workload = file(1MB) }
  duration = a + b
  measure = [goodput]
}
"""
    experiment, found = load(Source("file.fexp", text), settings)
    assert experiment is None
    assert [(d.code, d.span.text) for d in found if d.span] == [(code, place)]
    assert {d.span.source.name for d in found if d.span} == {"--set"}


NARROWED = (
    "sweep { kind = [fifo, fq_codel, cake]  depth = [5ms, 10ms] }",
    "topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: kind(max(depth, 30ms)))",
    "exclude kind == cake and depth == 5ms",
    "repeat = 9",
    'claim "cake" { where = kind == cake  holds = median(goodput) > 1bit/s }',
    'claim "fifo" { where = kind == fifo  holds = median(goodput) > 1bit/s }',
)


def test_a_part_of_a_sweep_leaves_its_claims_out_with_a_warning(
    experiment: Callable[..., Experiment],
) -> None:
    """The file may compare with values that `--set` has left out, and says what goes with them."""
    whole = experiment(*NARROWED)
    assert [claim.text for claim in whole.claims] == ["cake", "fifo"] and not whole.diagnostics
    part = experiment(*NARROWED, settings={"kind": "[fifo]"})
    assert [claim.text for claim in part.claims] == ["fifo"]
    (warning,) = part.diagnostics
    assert warning.code == "empty-claim" and warning.severity is Severity.WARNING
    assert any("`--set`" in note for note in warning.notes)
    drawn = experiment(*NARROWED, settings={"sample": "1", "seed": "2"})
    assert len(drawn.claims) + len(list(drawn.diagnostics)) == 2


def test_a_mistyped_value_is_an_error_in_a_part_too() -> None:
    """Only words of the sweep that was replaced are known."""
    source = Source("file.fexp", text_of(*NARROWED, "exclude kind == codle"))
    _, found = load(source, {"kind": "[fifo]"})
    assert [d.code for d in found.errors] == ["unknown-name"]

"""`sample` and `order`: drawn from the seed, the same everywhere, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from fairc.dsl.experiment import Experiment
from fairc.dsl.model import Configuration

from .conftest import Build, Check

Make = Callable[..., Experiment]
SWEEP = "sweep { a = 1..6  b = 1..5 }"
USE = "duration = a * b * 1s"


def points(configurations: list[Configuration]) -> list[tuple[str, ...]]:
    return [tuple(c.bindings.values()) for c in configurations]


def test_a_sample_is_a_part_in_file_order(build: Build, experiment: Make) -> None:
    whole = points(build(SWEEP, USE))
    drawn = points(build(SWEEP, USE, "sample = 7", "repeat = 2"))
    assert len(drawn) == 7 and drawn == [point for point in whole if point in drawn]
    count = experiment(SWEEP, USE, "sample = 7", "repeat = 2").count()
    assert count == (7, 14, 0, 46)


def test_the_seed_decides(build: Build) -> None:
    drawn = [points(build(SWEEP, USE, "sample = 7", f"seed = {seed}")) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_so_many_for_each_value(build: Build) -> None:
    drawn = points(build(SWEEP, USE, "sample = 2 per a"))
    assert Counter(a for a, _ in drawn) == dict.fromkeys("123456", 2)
    both = points(build(SWEEP, USE, "sample = 1 per (a, b)"))
    assert len(both) == 30


def test_what_is_compared_is_drawn_together(build: Build, experiment: Make) -> None:
    statements = ("sweep { a = 1..6  b = 1..5  c = [1, 2, 3] }", "duration = a * b * c * 1s")
    drawn = points(build(*statements, "sample = 4 of (a, b)"))
    pairs = Counter((a, b) for a, b, _ in drawn)
    assert len(pairs) == 4 and set(pairs.values()) == {3}
    assert experiment(*statements, "sample = 4 of (a, b)").common
    assert not experiment(*statements, "sample = 4").common
    of_each = points(build(*statements, "sample = 2 of (a, b) per c"))
    assert Counter(c for *_, c in of_each) == dict.fromkeys("123", 2)
    assert len({(a, b) for a, b, _ in of_each}) == 2  # the same two for each
    left = points(build(*statements, "sample = 4 of (a, b)", "exclude c > a"))
    assert {c for a, _, c in left if a == "1"} <= {"1"}


def test_a_sample_that_parts_what_a_claim_compares(check: Check) -> None:
    claim = 'claim "x" { holds = median(goodput, where: b == 1) < median(goodput, where: b == 2) }'
    statements = ("sweep { a = 1..9  b = [1, 2] }", "duration = a * b * 1s", "repeat = 9", claim)
    assert not list(check(*statements, "sample = 3 of a"))
    (found, *_) = check(*statements, "sample = 3")
    assert found.code == "empty-claim" and "`sample = 3 of a`" in (found.help or "")


def test_a_sample_is_drawn_from_what_is_not_excluded(build: Build, experiment: Make) -> None:
    statements = (SWEEP, USE, "sample = 3 per a", "exclude b > 3")
    assert {b for _, b in points(build(*statements))} == {"1", "2", "3"}
    assert experiment(*statements).count() == (18, 18, 12, 0)


def test_a_value_more_moves_little(build: Build) -> None:
    before = set(points(build("sweep { a = 1..100 }", "duration = a * 1s", "sample = 20")))
    after = set(points(build("sweep { a = 1..101 }", "duration = a * 1s", "sample = 20")))
    assert len(before & after) >= 19


def test_each_configuration_is_drawn_equally_often(build: Build) -> None:
    drawn = Counter(
        point
        for seed in range(200)
        for point in points(
            build("sweep { a = 1..5 }", "duration = a * 1s", "sample = 2", f"seed = {seed}")
        )
    )
    assert all(50 < n < 110 for n in drawn.values()) and len(drawn) == 5  # 80 expected, 6.9 sd


@pytest.mark.parametrize(
    ("statement", "code", "place"),
    [
        ("sample = 2 per c", "unknown-name", "c"),
        ("sample = 2 per (a, 5)", "wrong-type", "5"),
        ("sample = 2 of c", "unknown-name", "c"),
        ("sample = 2 of (a, 5)", "wrong-type", "5"),
        ("sample = 0 of a", "out-of-range", "0"),
        ("sample = 0", "out-of-range", "0"),
        ("sample = 1.5", "out-of-range", "1.5"),
        ("seed = 2 per a", "syntax", "a"),
        ("order = random", "unknown-word", "random"),
    ],
)
def test_what_is_wrong(check: Check, statement: str, code: str, place: str) -> None:
    found = check(SWEEP, USE, statement)
    assert [(d.code, d.span.text) for d in found if d.span] == [(code, place)]


def test_a_sample_of_too_much(check: Check) -> None:
    found = check("sweep { a = 1..2000  b = 1..2000 }", USE, "sample = 5")
    assert [(d.code, d.span.text) for d in found if d.span] == [("too-many", "5")]


def test_a_shuffled_order_is_another_one_in_each_repetition(experiment: Make) -> None:
    made = experiment(SWEEP, USE, "order = shuffled", "repeat = 3")
    orders = [points(list(made.configurations(r))) for r in (1, 2, 1)]
    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != sorted(orders[0])


def test_some_configurations_are_spread_over_all(experiment: Make) -> None:
    made = experiment("sweep { a = 1..100 }", "duration = a * 1s")
    assert [c.bindings["a"] for c in made.some(4)] == ["1", "26", "51", "76"]
    assert len(list(made.some(1000))) == 100

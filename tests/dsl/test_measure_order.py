"""The order of `measure` changes nothing: whatever is named has values, or there is a diagnostic.

All pairs of items of one metric, with different values, flows, options and windows, in both orders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any, cast

import pytest
from specs import experiment_of

from fairc.dsl import CompileError, Source
from fairc.dsl.core.source import Span
from fairc.dsl.model.expressions import Amount
from fairc.dsl.model.requests import MetricRequest, Window
from fairc.dsl.results.instances import Instance, Namer
from fairc.words.metrics import METRICS

FLOWS = ("a", "b", "f", "f[1]", "f[2]")
PLACE = Span(Source("file.fexp", "measure"), 0, 7)
FROM = Window(begin=Amount(text="10s", numbers=(10.0,)))
Given = tuple[str, ...]
NOTHING: Given = ()
LATE: Given = ("from: 10s",)

GRID: dict[str, tuple[Sequence[str], Sequence[Given], Sequence[Given]]] = {
    "goodput": (
        ("goodput", "goodput.group"),
        ((), ("a",), ("b",), ("a", "b"), ("b", "a"), ("f",), ("f[1]",)),
        (NOTHING, LATE),
    ),
    "cwnd": (
        ("cwnd", "cwnd.p95"),
        ((), ("a",), ("b",)),
        (NOTHING, ("every: 0.01",), ("every: 0.02",), ("every: 0.01", *LATE)),
    ),
    "share": (
        ("share", "share.competing", "share.fair"),
        ((), ("a",), ("b",), ("a", "b"), ("b", "a"), ("a", "f")),
        (NOTHING, LATE),
    ),
    "fairness": (
        ("fairness", "fairness.jain_slots"),
        ((), ("a", "b"), ("b", "a"), ("f",)),
        (NOTHING, ("slot: 1",), LATE, ("slot: 1", *LATE)),
    ),
    "harm": (("harm", "harm.rtt"), ((), ("a",), ("f",), ("f[1]",)), (NOTHING, LATE)),
}


def items(metric: str) -> Iterator[Instance]:
    values, flows, options = GRID[metric]
    for value in values:
        for sessions in flows:
            for given in options:
                pairs = dict(option.split(": ") for option in given)
                window = FROM if pairs.pop("from", "") else None
                numbers = {name: float(text) for name, text in pairs.items()}
                entry = METRICS[metric]
                yield Instance(entry, value, sessions, numbers, window, given, PLACE)


def requests(*found: Instance) -> list[MetricRequest] | str:
    """Return the requests of a `measure`, or the code of what is wrong with it."""
    namer = Namer(FLOWS, cast(Any, None), cast(Any, None), PLACE)
    try:
        measured = [*namer.measure([*map(replace, found)])]
        namer.comparisons()
    except CompileError as error:
        return error.diagnostics[0].code
    return measured


def alike(found: list[MetricRequest] | str) -> object:
    """Return what does not depend on an order; of several flows in which F has a sign, it does."""
    if isinstance(found, str):
        return found
    return {
        (
            r.mark,
            r.sessions if METRICS[r.name].of_cell else frozenset(r.sessions),
            frozenset(r.options.items()),
            r.window is None,
            frozenset(r.values or (r.name,)),
        )
        for r in found
    }


def borrows(item: Instance, other: Instance) -> bool:
    """Whether an item is a sub-value without arguments, and the other has some."""
    bare = "." in item.value and not item.sessions and not item.given
    return bare and item.value != other.value and other.window is None


def has(request: MetricRequest, item: Instance, other: Instance) -> bool:
    """Whether the values of a request are what an item names."""
    entry, flows, options = item.entry, item.sessions, item.options
    if borrows(item, other):
        options = other.options
        flows = () if entry.name in ("goodput", "cwnd", "harm") else other.sessions
    if entry.of_cell or (entry.name == "share" and len(flows) > 1):
        all_there = set(request.sessions) == set(flows)
        all_there &= not entry.of_cell or request.sessions == flows
    elif entry.name == "share":  # of one flow among all, or of all
        all_there = request.sessions in ((), flows)
    else:
        all_there = not request.sessions or (bool(flows) and {*flows} <= {*request.sessions})
    same_time = (request.window is None) == (item.window is None)
    return (
        all_there
        and same_time
        and request.options == options
        and item.value in (request.values or (request.name,))
    )


def clash(one: Instance, two: Instance) -> bool:
    """Whether two items cannot both be there."""
    flows = {*one.sessions}, {*two.sessions}
    if one.given != two.given and not (borrows(one, two) or borrows(two, one)):
        return False
    if one.entry.of_cell:
        return (one.value, one.sessions) == (two.value, two.sessions)
    if one.value == two.value and flows[0] == flows[1]:
        return True
    if one.entry.name == "harm":  # f[1] would be alone twice
        return "f[1]" in flows[0] ^ flows[1] and bool(
            {"f"} & (flows[0] | flows[1]) or not all(flows)
        )
    if one.entry.name == "share" and not (borrows(one, two) or borrows(two, one)):
        return flows[0] != flows[1] and max(map(len, flows)) > 1
    return False


@pytest.mark.parametrize("metric", GRID)
def test_two_items_of_one_metric_in_both_orders(metric: str) -> None:
    refused = 0
    for one, two in combinations_with_replacement(items(metric), 2):
        found = requests(one, two)
        what = f"{one.value}{one.mark} {one.sessions}, {two.value}{two.mark} {two.sessions}"
        assert alike(found) == alike(requests(two, one)), what
        if isinstance(found, str):
            refused += 1
            assert clash(one, two), (what, found)
            continue
        assert not clash(one, two), what
        for item, other in ((one, two), (two, one)):
            assert sum(has(request, item, other) for request in found) == 1, (what, found)
        labels = [request.label for request in found]
        assert len(labels) == len({*labels}), what
    assert refused


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("goodput(a), goodput.group", {("goodput", "goodput.group"): ()}),
        ("goodput.group(f), goodput(a)", {("goodput", "goodput.group"): ("a", "f")}),
        ("share(a), share(b)", {("share",): ()}),
        ("fairness(a, b), fairness.F", {("fairness", "fairness.F"): ("a", "b")}),
        ("fairness(a, b), fairness", {("fairness(a, b)",): ("a", "b"), ("fairness",): ()}),
    ],
)
def test_items_as_they_are_written(measure: str, expected: dict[Given, Given]) -> None:
    first, second = measure.replace("(a, b)", "(a; b)").split(", ")
    for order in (f"{first}, {second}", f"{second}, {first}"):
        text = f"""fexp 1
experiment e {{
  topology = bottleneck(rate: 4Mbit/s, rtt: 20ms, queue: fifo(1bdp))
  flow a {{ cca = cubic  workload = bulk }}
  flow b {{ cca = cubic  workload = bulk }}
  flow f[i] for i in 1..2 {{ cca = cubic  workload = bulk }}
  duration = 5s
  measure = [{order.replace(";", ",")}]
}}
"""
        experiment = experiment_of(text)
        measured = experiment.requests.measure
        assert {tuple(sorted(r.shown)): tuple(sorted(r.sessions)) for r in measured} == expected


def test_which_item_a_sub_value_belongs_to_is_said() -> None:
    several = requests(
        Instance(METRICS["fairness"], "fairness", ("a", "b"), {}, None, (), PLACE),
        Instance(METRICS["fairness"], "fairness", ("a", "f"), {}, None, (), PLACE),
        Instance(METRICS["fairness"], "fairness.jain_slots", (), {}, None, (), PLACE),
    )
    assert several == "several-metrics"

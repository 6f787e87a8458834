"""Queues and losses as the model has them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairc.cell.links import GilbertElliott
from fairc.dsl import CompileError, Source, load
from fairc.dsl.core.values import Quantity
from fairc.dsl.model import Direction


def direction(attributes: str) -> Direction:
    """The way from a to b of a link."""
    text = f"""fexp 1
topology pair() {{ node a, b  link a -> b {{ {attributes} }}  link b -> a {{ rate = 1Mbit/s }} }}
experiment e {{
  topology = pair()
  flow f {{ from = a  to = b  cca = cubic  workload = bulk }}
  duration = 10s
  measure = [goodput]
}}
"""
    experiment, found = load(Source("e.fexp", text))
    if experiment is None or found.errors:
        raise CompileError(found)
    (configuration,) = experiment.configurations()
    return configuration.scenario.network.links[0].forward


def test_arguments_of_a_queue_keep_their_meaning() -> None:
    queue = direction(
        "rate = 1Mbit/s  queue = red(limit: 100ms, min: 10%, max: 5pkt, pmax: 50%, ecn: on)"
    ).queue
    assert (queue.kind, queue.size.canonical) == ("red", "100ms")
    least, most = queue.options["min"], queue.options["max"]
    assert isinstance(least, Quantity)
    assert isinstance(most, Quantity)
    assert (least.canonical, most.canonical) == ("10%", "5pkt")
    most_likely = queue.options["pmax"]
    assert isinstance(most_likely, Quantity)
    assert most_likely.number == Fraction(1, 2)
    assert queue.options["ecn"] is True


def test_what_is_not_written_is_not_there() -> None:
    queue = direction("rate = 1Mbit/s  queue = fq_codel").queue
    assert queue.size.canonical == "1000pkt"
    assert queue.options == {}


def test_a_chain_has_its_stationary_loss() -> None:
    way = direction("rate = 1Mbit/s  loss = gilbert_elliott(p: 1%, r: 30%)")
    assert way.impairment.bursts == GilbertElliott(0.01, 0.3, 0, 1)
    assert way.impairment.loss == pytest.approx(1 / 31)
    way = direction("rate = 1Mbit/s  loss = gilbert_elliott(p: 10%, r: 30%, h: 50%, k: 98%)")
    assert way.impairment.loss == pytest.approx(0.25 * 0.5 + 0.75 * 0.02)


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ("loss = gilbert_elliott(p: 1%)", "missing-argument"),
        ("loss = gilbert_elliott(p: 1%, r: 0%)", "out-of-range"),
        ("loss = gilbert_elliott(p: 1%, r: 130%)", "out-of-range"),
        ("loss = gilbert_elliott(p: 1%, r: 1%, k: 0%)", "out-of-range"),
        ("loss = gilbert_elliott(p: 1%, r: 1%, bad: 0%)", "wrong-dimension"),
        ("queue = red(min: 0%)", "out-of-range"),
        ("queue = codel(10pkt, target: 5pkt)", "wrong-dimension"),
        ("queue = fq_codel(10pkt, flows: 1.5)", "out-of-range"),
    ],
)
def test_arguments_out_of_range(attributes: str, code: str) -> None:
    with pytest.raises(CompileError) as caught:
        direction(f"rate = 1Mbit/s  {attributes}")
    assert [d.code for d in caught.value.diagnostics] == [code]

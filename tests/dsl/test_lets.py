"""`let` inside experiments and topologies: in any order, over swept names, shown by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from fairc.dsl import Diagnostics
from fairc.dsl.experiment import Experiment
from fairc.dsl.model import Configuration

Build = Callable[..., list[Configuration]]
Check = Callable[..., Diagnostics]
Make = Callable[..., Experiment]

RADIO = """
topology radio(queue, hold = 4ms, loss = 10%) {
  let fast = 2 * slow
  let slow = hold * 1Mbit/s / 1ms
  node server, client
  router core
  link server -- core { rate = 1Gbit/s }
  link core -> client { rate = fast  queue = queue  loss = loss }
  link client -> core { rate = slow }
}
"""

AIRS = (
    "sweep { kind = [fifo, fq_codel]  air = [calm, crowded] }",
    "topology = air",
    "let crowded = radio(queue, hold: 10ms, loss: worst)",
    "let calm = radio(queue)",
    "let worst = 2 * 10%",
    "let queue = kind(100pkt)",
)


def test_a_swept_topology_of_a_let_is_shown_by_its_name(build: Build, experiment: Make) -> None:
    found = build(*AIRS, before=RADIO)
    assert [tuple(c.bindings.values()) for c in found] == [
        ("fifo", "calm"),
        ("fifo", "crowded"),
        ("fq_codel", "calm"),
        ("fq_codel", "crowded"),
    ]
    links = [c.scenario.network.links[1] for c in found]
    assert [link.forward.queue.kind for link in links] == ["fifo", "fifo", "fq_codel", "fq_codel"]
    assert [link.forward.impairment.loss for link in links] == [0.1, 0.2, 0.1, 0.2]
    rates = [(link.forward.rate_bps, link.backward.rate_bps) for link in links[:2]]
    assert rates == [(8_000_000, 4_000_000), (20_000_000, 10_000_000)]
    air = experiment(*AIRS, before=RADIO).axes[1]
    assert (air.name, air.values) == ("air", ("calm", "crowded"))


def test_conditions_compare_with_the_name(build: Build) -> None:
    found = build(*AIRS, "exclude air == calm and kind == fifo", before=RADIO)
    assert [tuple(c.bindings.values()) for c in found] == [
        ("fifo", "crowded"),
        ("fq_codel", "calm"),
        ("fq_codel", "crowded"),
    ]


def test_quantities_and_values_of_the_file_are_shown_as_ever(experiment: Make) -> None:
    made = experiment(
        "sweep { rate = [slow, 2 * slow]  queue = [small, large] }",
        "let slow = 1Mbit/s",
        "let large = fifo(100pkt)",
        "topology = bottleneck(rate: rate, rtt: 50ms, queue: queue)",
        before="let small = fifo(10pkt)",
    )
    rate, queue = made.axes
    assert (rate.values, rate.numbers) == (("1Mbit/s", "2Mbit/s"), (1e6, 2e6))
    assert queue.values == ("fifo(10pkt)", "large")


def test_a_let_may_hold_statistics(experiment: Make) -> None:
    statements = (
        "sweep { cca = [bbr, cubic] }",
        "flow a { cca = cca  workload = file(1MB) }",
        "repeat = 20",
        "let gain = of_bbr / median(goodput, where: cca == cubic) - 1",
        "let of_bbr = median(goodput, where: cca == bbr)",
    )
    (by_name,) = experiment(*statements, 'claim "c" { holds = gain > 10% }').claims
    (written_out,) = experiment(
        *statements,
        'claim "c" { holds = median(goodput, where: cca == bbr)'
        " / median(goodput, where: cca == cubic) - 1 > 10% }",
    ).claims
    assert by_name.holds == "gain > 10%"
    assert (by_name.form, by_name.units) == (written_out.form, written_out.units)


def test_settings_replace_a_let_of_the_experiment(experiment: Make) -> None:
    settings: Mapping[str, str] = {"slow": "3Mbit/s"}
    made = experiment(
        "let slow = 1Mbit/s",
        "topology = bottleneck(rate: slow, rtt: 50ms)",
        settings=settings,
    )
    (configuration,) = made.configurations()
    assert configuration.scenario.network.links[2].forward.rate_bps == 3_000_000


INNER = "topology { LETS  node server, client  link server -- client { delay = x } }"


@pytest.mark.parametrize(
    ("statements", "code"),
    [
        (
            (
                "sweep { air = [x]  kind = [fifo, fq_codel] }",
                "let x = bottleneck(rate: 1Mbit/s, rtt: 9ms, queue: kind(100pkt))",
                "topology = air",
            ),
            "unknown-name",
        ),
        (
            (
                "let gain = 1 - loss",
                "let loss = median(goodput) / 1Mbit/s - gain",
                'claim "c" { holds = gain > 1% }',
            ),
            "circular",
        ),
        ((INNER.replace("LETS", "let x = 1ms  let x = 2ms"),), "duplicate-let"),
        ((INNER.replace("LETS", "let x = y  let y = x"),), "circular"),
    ],
)
def test_what_a_let_cannot_be(check: Check, statements: tuple[str, ...], code: str) -> None:
    assert [d.code for d in check(*statements).errors] == [code]

"""Each metric against numbers worked out by hand from a made-up cell."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from computed import by_name, results, values
from hypothesis import given
from hypothesis import strategies as st
from madeartefacts import RATE_BPS, Made, crowded, cut_short, hand_made, lossy
from madecell import FULL, MS, PAYLOAD, Transport, made_cell
from madepackets import Passed, Sent

from fairc.compiler.plan import Cell, Impairment, MetricRequest
from fairc.runtime.measurement import load
from fairc.runtime.metrics import METRICS, fairness, queue_delay, sharing, value_named
from fairc.runtime.metrics.base import Metric, Value
from fairc.words.metrics import METRICS as WORDS

PER_LOAD = tuple(metric.name for metric in WORDS if metric.per_load)
# Both have had data from 0.05 s on; a has its last byte at 0.50 s. Slots 1 to 4 count.
SHARED = "a....b.... aaaaaabbbb aaaaaaaaaa ababababab bbbbaabbbb a....b...b"


def test_fairness_by_hand(tmp_path: Path) -> None:
    found = values(hand_made(SHARED), tmp_path, "fairness")
    j = [100 / (2 * 52), 0.5, 1.0, 100 / (2 * 68)]
    f = (-(1 - j[0]) - (1 - j[1]) + 0 + (1 - j[3])) / 4
    assert found["fairness.F", None] == pytest.approx(f)
    assert found["fairness.dominance", None] == -1
    assert found["fairness.jain_slots", None] == pytest.approx(sum(j) / 4)
    assert found["fairness.jain_session", None] == pytest.approx(41**2 / (2 * (23**2 + 18**2)))
    assert found["fairness.competition_time", None] == pytest.approx(0.45)
    assert found["fairness.floor", None] == pytest.approx(fairness.floor(10))


def test_the_first_declared_session_is_a(tmp_path: Path) -> None:
    made = hand_made(SHARED)
    one = values(made, tmp_path, "fairness", "a", "b")
    other = values(made, tmp_path, "fairness", "b", "a")
    assert one["fairness.F", None] == -(other["fairness.F", None] or 0)
    assert other["fairness.dominance", None] == 1
    assert one["fairness.jain_slots", None] == other["fairness.jain_slots", None]


@pytest.mark.parametrize("transports", [("tcp", "quic"), ("quic", "tcp")])
def test_the_connections_of_a_flow_are_one_session_over_any_transport(
    tmp_path: Path, transports: tuple[Transport, ...]
) -> None:
    """Letters of a belong to its two connections in turn: nothing of fairness may change."""
    made = hand_made(SHARED, transports=transports, connections=(2, 1))
    turns = count()
    made.packets = [
        replace(p, sent=replace(p.sent, connection=next(turns) % 2)) if p.sent.flow == 0 else p
        for p in made.packets
    ]
    one = values(hand_made(SHARED), tmp_path / "one", "fairness")
    assert values(made, tmp_path / "two", "fairness") == pytest.approx(one)


def test_competition_lasts_as_long_as_some_connection_of_each_session(tmp_path: Path) -> None:
    """a's first connection has its data in [0, 0.1], its second in [0.4, 0.5]: a competes
    between.
    """
    made = hand_made("ab........ bbbbbbbbbb bbbbbbbbbb bbbbbbbbbb a........b b", connections=(2, 1))
    made.packets = [
        replace(p, sent=replace(p.sent, connection=1)) if p.number > 30 and not p.sent.flow else p
        for p in made.packets
    ]
    found = values(made, tmp_path, "fairness")
    assert found["fairness.competition_time", None] == pytest.approx(0.4 - 0.01)
    assert found["fairness.F", None] == pytest.approx(0.5)


def test_the_slot_is_an_option(tmp_path: Path) -> None:
    """Slots of 200 ms: [0.2, 0.4) is the only whole one; a has 15 of its frames, b 5."""
    found = values(hand_made(SHARED), tmp_path, "fairness", slot=0.2)
    assert found["fairness.F", None] == pytest.approx(-(1 - 400 / (2 * (225 + 25))))
    assert found["fairness.floor", None] == pytest.approx(fairness.floor(20))


def test_a_starved_session_counts_as_zero(tmp_path: Path) -> None:
    found = values(hand_made("ab........ aaaaaaaaaa aaaaaaaaaa ab"), tmp_path, "fairness")
    assert found["fairness.F", None] == pytest.approx(-0.5)
    assert found["fairness.jain_slots", None] == pytest.approx(0.5)


def test_slots_without_data_stay_in_the_count(tmp_path: Path) -> None:
    found = values(
        hand_made("ab........ .......... bbbbbbbbbb .......... ab"), tmp_path, "fairness"
    )
    assert found["fairness.F", None] == pytest.approx(0.5 / 3)
    assert found["fairness.jain_slots", None] == pytest.approx((1 + 0.5 + 1) / 3)


def test_warm_up_is_left_out(tmp_path: Path) -> None:
    found = values(hand_made(SHARED, warmup_ns=300 * MS), tmp_path, "fairness")
    assert found["fairness.competition_time", None] == pytest.approx(0.2)
    assert found["fairness.F", None] == pytest.approx((1 - 100 / (2 * 68)) / 2)


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ("aaaa...... aaaaaaaaaa", "flow b never received data"),
        ("aaaa...... bbbbbbbbbb", "one session ended before the other had its first data"),
    ],
)
def test_sessions_that_never_compete(tmp_path: Path, plan: str, reason: str) -> None:
    made = hand_made(plan)
    found = results(load(made.cell, made.write(tmp_path)), "fairness")
    assert {v.metric for v in found} == {v.name for v in fairness.METRIC.values}
    assert all(v.value is None and reason in v.reason for v in found)


def test_less_than_one_slot_of_competition(tmp_path: Path) -> None:
    made = hand_made("a......... b.a..a.... b")
    found = {v.metric: v for v in results(load(made.cell, made.write(tmp_path)), "fairness")}
    assert found["fairness.F"].value is None
    assert "less than one whole slot of 0.1 s" in found["fairness.F"].reason
    assert found["fairness.competition_time"].value == pytest.approx(0.05)
    assert found["fairness.jain_session"].value is not None


def test_fairness_of_one_session_is_not_defined(tmp_path: Path) -> None:
    made = hand_made("aaaa", flows=1)
    found = results(load(made.cell, made.write(tmp_path)), "fairness")
    assert all(v.value is None and v.reason == "fairness needs two sessions" for v in found)


RATES = st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), min_size=1, max_size=50)


@given(st.integers(1, 6), st.data())
def test_jain_lies_between_one_nth_and_one(n: int, data: st.DataObject) -> None:
    x = data.draw(st.lists(st.floats(0, 1e9), min_size=n, max_size=n))
    index = sharing.jain(np.array(x).reshape(n, 1))[0]
    assert 1 / n - 1e-9 <= index <= 1 + 1e-9


@given(st.floats(1e-3, 1e6), st.integers(1, 5))
def test_jain_of_equals_is_one_and_does_not_depend_on_scale(x: float, n: int) -> None:
    assert sharing.jain(np.full((n, 1), x))[0] == pytest.approx(1)


@given(RATES)
def test_f_is_bounded_and_antisymmetric(rates: list[tuple[float, float]]) -> None:
    x = np.array(rates).T
    f = fairness.session_fairness(x)
    assert -0.5 - 1e-9 <= f <= 0.5 + 1e-9
    assert fairness.session_fairness(x[::-1]) == -f


def test_the_floor_at_1_mbit_is_that_of_the_rules() -> None:
    """measurement.md, rule 16: 8 packets a slot, about 0.10. By hand, over k of 8 packets."""
    by_hand = 112 * (1 - 64 / 68) + 56 * (1 - 64 / 80) + 16 * (1 - 64 / 100) + 2 * 0.5
    assert fairness.floor(8) == pytest.approx(by_hand / 256)
    assert fairness.floor(8) == pytest.approx(0.10, abs=0.005)
    assert fairness.floor(1) == pytest.approx(0.5)
    assert fairness.floor(826) == pytest.approx(1 / 826, rel=0.01)


def test_goodput_by_hand(tmp_path: Path) -> None:
    """a has 25 frames by 0.50 s; b 20 by 0.59 s."""
    found = values(hand_made(SHARED), tmp_path, "goodput")
    assert found["goodput", "a"] == pytest.approx(25 * PAYLOAD * 8 / 0.5)
    assert found["goodput", "b"] == pytest.approx(20 * PAYLOAD * 8 / 0.59)


def test_goodput_after_the_warm_up(tmp_path: Path) -> None:
    """Of a's frames, 8 have come by 0.2 s, that of 0.2 s included."""
    found = values(hand_made(SHARED, warmup_ns=200 * MS), tmp_path, "goodput", "a")
    assert found == {("goodput", "a"): pytest.approx((25 - 8) * PAYLOAD * 8 / 0.3)}


def test_a_flow_that_ends_in_the_warm_up_has_no_goodput(tmp_path: Path) -> None:
    made = hand_made(SHARED, warmup_ns=550 * MS)
    a, b = results(load(made.cell, made.write(tmp_path)), "goodput")
    assert (a.value, a.reason) == (None, "the flow ended before the warm-up did")
    assert b.value == pytest.approx(PAYLOAD * 8 / 0.04, rel=0.2)


def test_throughput_and_utilization_by_hand(tmp_path: Path) -> None:
    """a's last frame begins at its end, 0.50 s, so 24 frames count; 45 in all by 0.59 s, less
    one.
    """
    made = hand_made(SHARED)
    found = values(made, tmp_path, "throughput")
    assert found["throughput", "a"] == pytest.approx(24 * FULL * 8 / 0.5)
    assert found["throughput", "b"] == pytest.approx(19 * FULL * 8 / 0.59)
    used = values(made, tmp_path, "utilization")
    assert used == {("utilization", None): pytest.approx(44 * 10 * MS / (590 * MS))}


def test_a_full_link_is_fully_used(tmp_path: Path) -> None:
    found = values(hand_made("ab" * 50), tmp_path, "utilization")
    assert found["utilization", None] == pytest.approx(1.0)


def test_queue_delay_by_hand(tmp_path: Path) -> None:
    """Three frames at once and one later: they wait 5 ms, and one of them 45 ms."""
    made = hand_made("a.a.a.a.a.", flows=1)
    last = made.packets[-1]
    slow = Sent(last.sent.entered_ns - 40 * MS, 0)
    made.packets[-1] = Passed(slow, last.number, last.left_ns, last.delivered_ns)
    found = values(made, tmp_path, "queue_delay")
    assert found["queue_delay.mean", "a"] == pytest.approx((4 * 5 + 45) / 5 * 1e-3)
    assert found["queue_delay.p50", "a"] == pytest.approx(5e-3)
    assert found["queue_delay.p95", "a"] is None  # of five values
    assert found["queue_delay.max", "a"] == pytest.approx(45e-3)
    (curve,) = queue_delay.curves(
        load(made.cell, made.write(tmp_path)), MetricRequest(name="queue_delay")
    )
    assert (curve.name, curve.flow, curve.scale, len(curve.x)) == ("distribution", "a", 5, 201)
    assert (curve.x[0], curve.x[-1], curve.y[100]) == (
        pytest.approx(5e-3),
        pytest.approx(45e-3),
        0.5,
    )
    assert curve.x[190] == pytest.approx((5 + 0.8 * 40) * 1e-3)


def test_a_bottleneck_is_used_from_the_first_flow_on_that_has_a_path_over_it(
    tmp_path: Path,
) -> None:
    """Over the bottleneck of b leads the second path of a, which begins 0.4 s before b. The last of
    14 frames leaves as the flows end.
    """
    made = hand_made("abab...... .......... .......... .......... bbbbbbbbbb")
    a, b = made.cell.flows
    made.cell = replace(made.cell, flows=(a, replace(b, starts_ns=(400 * MS,))))
    measurement = load(made.cell, made.write(tmp_path))
    one, two = measurement.flows
    second = replace(two.passages[0], queue=replace(two.queue, place=("r9", "r9-eth1")))
    flows = (
        replace(one, passages=(*one.passages, second)),
        replace(two, passages=(second,)),
    )
    found = by_name(replace(measurement, flows=flows), "utilization", "b")
    assert found["utilization"] == pytest.approx(13 / 49)


def test_loss_rates_are_those_of_the_model(tmp_path: Path) -> None:
    made = lossy(0.03, 15)
    found = values(made, tmp_path, "loss_rate")
    ours = [p for p in made.packets if p.sent.flow == 0]
    left = [p for p in ours if p.left_ns is not None]
    queue = 1 - len(left) / len(ours)
    random = sum(p.delivered_ns is None for p in left) / len(left)
    assert 0.01 < random < 0.1 < queue
    assert found["loss_rate.queue", "a"] == pytest.approx(queue)
    assert found["loss_rate.random", "a"] == pytest.approx(random)
    assert found["loss_rate.total", "a"] == pytest.approx(1 - (1 - queue) * (1 - random))
    assert found["loss_rate.random", "b"] == 0


@pytest.mark.parametrize(
    ("node", "interface", "link", "random_is_known"),
    [("s1", "s1-eth0", "from s1 to r1", True), ("r2", "r2-eth0", "from r2 to c1", False)],
)
def test_losses_that_no_capture_shows_leave_the_loss_rate_open(
    tmp_path: Path, node: str, interface: str, link: str, random_is_known: bool
) -> None:
    """A link of flow a ahead of the bottleneck, or behind it, that loses packets, too."""
    made = lossy(0.03, 15)
    losing = Impairment(delay_ns=0, loss=0.01, limit_packets=1000, seed=7)
    nodes = tuple(
        replace(
            each,
            interfaces=tuple(
                replace(one, impairment=losing) if one.name == interface else one
                for one in each.interfaces
            ),
        )
        if each.name == node
        else each
        for each in made.cell.nodes
    )
    folder = made.write(tmp_path)
    whole, cell = load(made.cell, folder), replace(made.cell, nodes=nodes)
    known, found = (
        {(v.metric, v.flow): v for v in results(one, "loss_rate")}
        for one in (whole, load(cell, folder))
    )
    total, random = found["loss_rate.total", "a"], found["loss_rate.random", "a"]
    assert total.value is None and f"the link {link} loses packets" in total.reason
    assert (random.value is not None) == random_is_known
    for each in (("loss_rate.queue", "a"), ("loss_rate.total", "b"), ("loss_rate.random", "b")):
        assert found[each].value == known[each].value is not None


def test_a_flow_of_which_all_packets_are_dropped_loses_all(tmp_path: Path) -> None:
    made = hand_made("ab" * 40)
    made.packets = [
        replace(p, left_ns=None, delivered_ns=None) if p.sent.flow == 0 else p for p in made.packets
    ]
    found = values(made, tmp_path, "loss_rate")
    assert [found[f"loss_rate.{name}", "a"] for name in ("total", "queue", "random")] == [
        1,
        1,
        None,
    ]


def test_what_waits_in_a_fifo_when_the_captures_end_is_not_lost(tmp_path: Path) -> None:
    made = crowded()
    dropped = sum(p.left_ns is None and p.sent.flow == 0 for p in made.packets)
    came = sum(p.sent.flow == 0 for p in made.packets)
    folder = cut_short(made, 9, tmp_path)
    found = METRICS["loss_rate"].compute(
        load(made.cell, folder), MetricRequest(name="loss_rate", sessions=("a",))
    )
    assert found[0].value == pytest.approx(dropped / came)


def two_bottlenecks() -> Cell:
    """The made-up cell with a slow link of its own for flow a, before the common one."""
    cell = made_cell(rate_bps=RATE_BPS, delay_ns=0)
    shaper = next(i.shaper for n in cell.nodes for i in n.interfaces if i.bottleneck)
    assert shaper is not None
    slow = replace(shaper, rate_bps=RATE_BPS // 5)
    server = cell.nodes[0]
    interface = replace(server.interfaces[0], shaper=slow)
    nodes = (replace(server, interfaces=(interface,)), *cell.nodes[1:])
    return replace(cell, nodes=nodes)


def test_x_is_relative_to_the_max_min_fair_rate(tmp_path: Path) -> None:
    """a can have a fifth of the link at most, so 2 of 10 frames are its fair share: F is 0."""
    plan = "ab........ aabbbbbbbb aabbbbbbbb ab"
    made = hand_made(plan)
    made.cell = two_bottlenecks()
    found = values(made, tmp_path, "fairness")
    assert found["fairness.F", None] == pytest.approx(0, abs=1e-9)
    assert found["fairness.jain_slots", None] == pytest.approx(1)


def long_cell() -> Made:
    """An ordinary cell of two users whose shares are nearly equal."""
    made = crowded()
    flows = tuple(replace(f, users="everyone") for f in made.cell.flows)
    made.cell = replace(made.cell, flows=flows)
    return made


ELSEWHERE = (
    *("deviations", "rtt", "acks", "bursts", "marks", "recovery_time", "state"),
    *("connection_fairness", "startup"),
)
"""Of a flow with thousands of rounds, of captured senders, with ECN, at a change, over QUIC, with
several connections, that leaves slow start: test_deviations.py, test_rtt.py, test_senders.py,
test_marks.py, test_recovery_time.py, test_state.py, tests/engines/test_connections.py,
test_startup.py.
"""
OF_APPLICATIONS = (
    *("datagrams", "one_way_delay", "fct", "policing", "qoe", "stalls", *PER_LOAD),
    *("frame_delay", "frames", "freezes", "media_rate"),
)


# What compares a cell with its baseline: test_harm.py. What reads files of programs:
# tests/engines/test_own_programs.py.
OF_A_CELL = [
    metric
    for metric in METRICS
    if not WORDS[metric.name].only_compares and metric.name not in ("json", "number")
]


@pytest.mark.parametrize("metric", OF_A_CELL, ids=lambda m: m.name)
def test_every_metric_gives_what_it_declares(metric: Metric, tmp_path: Path) -> None:
    made = long_cell()
    sessions = ("a", "b") if metric.name == "unfairness" else ()
    found = results(load(made.cell, made.write(tmp_path)), metric.name, *sessions)
    # Subflows are of flows over Multipath TCP: tests/engines/test_mptcp.py.
    declared = {(v.name, v.unit) for v in metric.values if not v.name.endswith(".subflow")}
    assert {(v.metric, v.unit) for v in found} == declared
    if metric.name in ELSEWHERE:
        return
    assert all(v.flow in ("a", "b", "a, b", "everyone", None) for v in found)
    found = tuple(v for v in found if not v.reason.startswith("too few values"))
    # Bulk transfers have no videos and no ends, and nobody polices them; nothing else is undefined
    # in an ordinary cell.
    assert all(v.value is not None or v.reason.startswith("no flow ") for v in found)
    assert all(v.value is not None for v in found) != (metric.name in OF_APPLICATIONS)


@pytest.mark.parametrize("metric", list(METRICS), ids=lambda m: m.name)
def test_every_metric_is_defined_in_its_module(metric: Metric) -> None:
    module = WORDS[metric.name].module or f"fairc.runtime.metrics.{metric.name}"
    assert metric.compute.__module__ == module
    assert "Unit: " in metric.definition
    assert "Source: " in metric.definition
    assert all(v.name == metric.name or v.name.startswith(metric.name + ".") for v in metric.values)


def test_a_bare_name_means_the_first_value() -> None:
    assert value_named("fairness").name == "fairness.F"
    assert value_named("fairness.floor").name == "fairness.floor"
    assert value_named("goodput").unit == "bit/s"
    with pytest.raises(KeyError):
        value_named("fairness.G")


def test_a_missing_value_needs_a_reason() -> None:
    value = Value("x", "s", "")
    assert value.of(None, reason="because").reason == "because"
    assert value.of(float("nan"), reason="because").value is None
    assert value.of(1.0, reason="unused").reason == ""
    with pytest.raises(ValueError, match="needs a reason"):
        value.of(None)

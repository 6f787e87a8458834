"""Metrics of groups of users, of single flows' senders, and of series, by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import computed
import numpy as np
import pytest
from madeartefacts import Made, crowded, hand_made, write_lines
from madecell import FULL, MS, PAYLOAD

from fairc.compiler.plan import Flow, MetricRequest
from fairc.runtime.analysis.values import known_values
from fairc.runtime.measurement import load
from fairc.runtime.measurement.record import Window
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.metrics import METRICS
from fairc.runtime.metrics.convergence_time import fair_windows
from fairc.runtime.metrics.groups import named

METRIC = {metric.name: metric for metric in METRICS}


def results(
    made: Made, folder: Path, name: str, *sessions: str, **options: float | str
) -> tuple[MetricValue, ...]:
    return computed.results(load(made.cell, made.write(folder)), name, *sessions, **options)


def by_name(found: tuple[MetricValue, ...]) -> dict[tuple[str, str | None], float | None]:
    return {(v.metric, v.flow): v.value for v in found}


def with_users(made: Made, *users: str | None) -> Made:
    """Let each flow run on a group of users; a group of two is one user on each of two hosts."""
    flows = tuple(
        replace(flow, users=group, declared=flow.name)
        for flow, group in zip(made.cell.flows, users, strict=True)
    )
    made.cell = replace(made.cell, flows=flows)
    return made


SHARED = "a....b.... aaaaaabbbb aaaaaaaaaa ababababab bbbbaabbbb a....b...b"


def test_goodput_of_users(tmp_path: Path) -> None:
    made = with_users(hand_made(SHARED), "heavy", "light")
    found = by_name(results(made, tmp_path, "goodput"))
    for flow, group in (("a", "heavy"), ("b", "light")):
        assert found["goodput.user", group] == found["goodput", flow]
        assert found["goodput.group", group] == found["goodput", flow]


def test_a_group_of_two_users(tmp_path: Path) -> None:
    """a: 24 whole frames in 0.50 s, b: 19 in 0.59 s."""
    made = with_users(hand_made(SHARED), "all", "all")
    found = by_name(results(made, tmp_path, "throughput"))
    total = 24 * FULL * 8 / 0.5 + 19 * FULL * 8 / 0.59
    assert found["throughput.group", "all"] == pytest.approx(total)
    assert found["throughput.user", "all"] == pytest.approx(total / 2)
    assert set(found) == {
        ("throughput", "a"),
        ("throughput", "b"),
        ("throughput.user", "all"),
        ("throughput.group", "all"),
    }


def test_flows_of_one_user_are_summed(tmp_path: Path) -> None:
    made = with_users(hand_made(SHARED), "all", "all")
    one = made.cell.flows[0].client
    flows = tuple(replace(flow, client=one) for flow in made.cell.flows)
    made.cell = replace(made.cell, flows=flows)
    measurement = load(made.cell, made.write(tmp_path))
    assert [len(user) for user in named(measurement, "all").users] == [2]
    found = by_name(computed.results(measurement, "goodput"))
    assert found["goodput.user", "all"] == found["goodput.group", "all"]


def test_a_user_without_a_rate_leaves_the_group_without_one(tmp_path: Path) -> None:
    made = with_users(hand_made(SHARED, warmup_ns=550 * MS), "all", "all")
    found = {(v.metric, v.flow): v for v in results(made, tmp_path, "goodput")}
    group = found["goodput.group", "all"]
    assert (group.value, group.reason) == (None, "the flow ended before the warm-up did")


def test_a_group_is_whole_whichever_of_its_flows_are_asked_for(tmp_path: Path) -> None:
    """Its name means the same in a file that measures one of its flows alone."""
    made = with_users(hand_made("aabab" * 10, file_bytes=20 * PAYLOAD), "all", "all")
    measurement = load(made.cell, made.write(tmp_path))
    for name, values in (
        ("goodput", ("goodput.user", "goodput.group")),
        ("throughput", ("throughput.user", "throughput.group")),
        ("fct", ("fct.group_mean", "fct.group_count", "fct.group_unfinished")),
    ):
        whole, part = (
            by_name(computed.results(measurement, name, *flows)) for flows in ((), ("a",))
        )
        assert (name if name != "fct" else "fct.mean", "b") not in part
        for value in values:
            assert part[value, "all"] == whole[value, "all"] is not None


def test_a_group_behind_shared_proxies_has_no_values_from_packets(tmp_path: Path) -> None:
    """Packets of the proxies' own connections are of no flow, so the sum would leave them out."""
    made = with_users(hand_made(SHARED), "all", "all")
    measurement = load(made.cell, made.write(tmp_path))
    ports = tuple(flow.port for flow in made.cell.flows)
    proxies: Any = SimpleNamespace(split_ports=ports, middle=None)
    shared = replace(measurement, cell=replace(made.cell, devices=(proxies,)))
    for name, known in (("throughput", False), ("goodput", True)):
        found = tuple(computed.results(measurement, name))
        seen = known_values(shared, MetricRequest(name=name), found)
        assert {(v.flow, v.value is not None) for v in seen} == {
            (flow, known) for flow in ("a", "b", "all")
        }


def test_without_users_there_are_no_groups(tmp_path: Path) -> None:
    found = by_name(results(hand_made(SHARED), tmp_path, "goodput"))
    assert {name for name, _ in found} == {"goodput"}


def test_unfairness_by_hand(tmp_path: Path) -> None:
    """Both are there from 0 to 0.50 s: 24 frames of a, 18 of b; the same by users and by flows."""
    made = with_users(hand_made(SHARED), "heavy", "light")
    measurement = load(made.cell, made.write(tmp_path))
    for pair in (("heavy", "light"), ("a", "b")):
        (found,) = computed.results(measurement, "unfairness", *pair)
        assert found.value == pytest.approx(24 / 18)
        (inverse,) = computed.results(measurement, "unfairness", *reversed(pair))
        assert inverse.value == pytest.approx(18 / 24)
    (same,) = computed.results(measurement, "unfairness", "a", "a")
    assert same.value == 1


def test_unfairness_is_of_a_user_not_of_a_group(tmp_path: Path) -> None:
    """Users a and c of one group: (a + c) / 2 over b."""
    made = with_users(hand_made("abc" + "aabc" * 30, flows=3), "many", "few", "many")
    measurement = load(made.cell, made.write(tmp_path))
    (found,) = computed.results(measurement, "unfairness", "many", "few")
    a, b, c = (float(f.ip_bytes(np.array([0, f.end_s]))[0]) for f in measurement.flows)
    assert found.value == pytest.approx((a + c) / 2 / b, rel=0.02)
    assert found.value == pytest.approx(1.5, rel=0.05)


def test_unfairness_after_the_warm_up(tmp_path: Path) -> None:
    """From 0.40 s to 0.50 s: 2 frames of a, 8 of b."""
    made = hand_made(SHARED, warmup_ns=400 * MS)
    (found,) = results(made, tmp_path, "unfairness", "a", "b")
    assert found.value == pytest.approx(2 / 8)


def test_unfairness_beside_an_absent_flow(tmp_path: Path) -> None:
    (found,) = results(hand_made(SHARED), tmp_path, "unfairness", "a", "gone")
    assert (found.value, found.reason) == (None, "gone: absent")


def test_unfairness_that_is_not_defined(tmp_path: Path) -> None:
    made = hand_made("a..." + "a" * 30 + "b", warmup_ns=100 * MS)
    (found,) = results(made, tmp_path / "one", "unfairness", "a", "b")
    assert (found.value, found.reason) == (None, "b got nothing, so the ratio has no limit")
    late: tuple[Flow, ...] = tuple(
        replace(flow, starts_ns=(start,))
        for flow, start in zip(made.cell.flows, (0, 900 * MS), strict=True)
    )
    made.cell = replace(made.cell, flows=late)
    (found,) = results(made, tmp_path / "two", "unfairness", "a", "b")
    assert found.reason == "a and b are never active at the same time"


def test_convergence_by_hand(tmp_path: Path) -> None:
    """From 0.05 s on: four slots for a alone, then equal ones; a window of two slots."""
    made = hand_made("a....b.... " + "aaaaaaaaab " * 4 + "ababababab " * 10 + "ab")
    options = {"over": 0.2}
    found = by_name(results(made, tmp_path, "convergence_time", **options))
    # The first window of equal slots begins at 0.5 s and ends at 0.7 s.
    assert found["convergence_time", None] == pytest.approx(0.7 - 0.05)
    assert found["convergence_time.reached", None] == 1
    assert found["convergence_time.held", None] == 1


def test_convergence_is_not_left_out_with_the_warm_up(tmp_path: Path) -> None:
    made = hand_made("ab" * 100, warmup_ns=1000 * MS)
    found = by_name(results(made, tmp_path, "convergence_time"))
    # The first data of b comes at 0.01 s, and the first whole slot at 0.1 s.
    assert found["convergence_time", None] == pytest.approx(1.1 - 0.01)


def test_sessions_that_do_not_converge_are_counted(tmp_path: Path) -> None:
    made = hand_made("aaab" * 60)
    found = {v.metric: v for v in results(made, tmp_path / "one", "convergence_time")}
    assert found["convergence_time"].value is None
    assert found["convergence_time"].reason.startswith("no window was fair in 2.3")
    assert found["convergence_time.reached"].value == 0
    wide = by_name(results(made, tmp_path / "two", "convergence_time", tolerance=0.5))
    assert wide["convergence_time.reached", None] == 1
    short = results(hand_made("ab" * 20), tmp_path / "three", "convergence_time")
    assert short[0].reason == "the sessions competed for less than one window of 1 s"


def test_windows_at_the_limit_are_fair_and_idle_ones_are_not() -> None:
    x = np.array([[55.0, 56, 0, 30], [45.0, 44, 0, 30]])
    assert fair_windows(x, 1, 0.1).tolist() == [True, False, False, True]
    assert fair_windows(x, 4, 0.1).tolist() == [True]
    three = np.array([[1.0, 1.2], [1.0, 1.0], [1.0, 0.8]])
    assert fair_windows(three, 1, 0.1).tolist() == [True, False]


def sampled(
    folder: Path, flow: str, samples: list[tuple[int, int, int, int]], late_ns: int = 0
) -> None:
    """Replace the samples of a flow: (ms, connection, cwnd, retransmits), each that much later."""
    import json

    file = folder / f"{flow}.server.ndjson"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    model = next(line for line in lines if line["event"] == "sample")
    others = [line for line in lines if line["event"] != "sample"]
    made = [
        {**model, "t_ns": t * MS + late_ns, "connection": c, "cwnd": cwnd, "retransmits": again}
        for t, c, cwnd, again in samples
    ]
    write_lines(file, [*others, *made])


def test_cwnd_is_the_sum_over_living_connections(tmp_path: Path) -> None:
    made = hand_made("ab" * 40, connections=(2, 1))
    folder = made.write(tmp_path)
    samples = [(100, 0, 10, 0), (200, 0, 20, 0), (300, 0, 30, 0), (350, 0, 31, 0)]
    sampled(folder, "a", [*samples, (200, 1, 5, 0), (400, 1, 7, 0)])
    measurement = load(made.cell, folder)
    course = METRIC["cwnd"].traces
    assert course is not None
    (trace, _) = course(measurement, MetricRequest(name="cwnd"))
    assert (trace.metric, trace.flow) == ("cwnd", "a")
    assert trace.t_s == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert trace.values.tolist() == [10, 25, 35, 7]
    found = by_name(computed.results(measurement, "cwnd", "a"))
    assert found["cwnd.mean", "a"] == pytest.approx(77 / 4)
    assert (found["cwnd.min", "a"], found["cwnd.max", "a"]) == (7, 35)
    assert found["cwnd.p50", "a"] == pytest.approx(17.5)
    (trace, _) = course(measurement, MetricRequest(name="cwnd", options={"every": 0.2}))
    assert (trace.t_s.tolist(), trace.values.tolist()) == (pytest.approx([0.2, 0.4]), [25, 7])


def test_cwnd_after_the_warm_up(tmp_path: Path) -> None:
    made = hand_made("ab" * 40, warmup_ns=250 * MS)
    folder = made.write(tmp_path)
    sampled(folder, "a", [(100, 0, 10, 0), (200, 0, 20, 0), (300, 0, 30, 0)])
    found = by_name(computed.results(load(made.cell, folder), "cwnd", "a"))
    assert found["cwnd.mean", "a"] == 30


def test_a_flow_without_samples_has_no_window(tmp_path: Path) -> None:
    made = hand_made("ab" * 40)
    folder = made.write(tmp_path)
    sampled(folder, "a", [])
    measurement = load(made.cell, folder)
    assert {v.reason for v in computed.results(measurement, "cwnd", "a")} == {
        "the sender has no sample of its window"
    }
    assert {v.reason for v in computed.results(measurement, "retransmissions", "a")} == {
        "the sender has no sample"
    }


def test_retransmissions_by_hand(tmp_path: Path) -> None:
    """3 and 2 more since the warm-up; of a's 40 frames 25 came after it."""
    made = hand_made("ab" * 40, connections=(2, 1), warmup_ns=300 * MS)
    folder = made.write(tmp_path)
    samples = [(100, 0, 10, 1), (300, 0, 20, 4), (500, 0, 9, 7), (400, 1, 5, 0), (500, 1, 5, 2)]
    sampled(folder, "a", samples)
    measurement = load(made.cell, folder)
    found = by_name(computed.results(measurement, "retransmissions", "a"))
    assert found["retransmissions", "a"] == 3 + 2
    # They come 5 ms before they leave: those that leave at 0.32, 0.34, ... 0.78 s.
    assert found["retransmissions.share", "a"] == pytest.approx(5 / 24)


@pytest.mark.parametrize("late_ns", [0, 1011, 40_000])
def test_samples_that_a_process_takes_a_little_late_are_those_that_were_due(
    tmp_path: Path, late_ns: int
) -> None:
    """Of several processes that wake up at once, all but the first are some microseconds late."""
    made = hand_made("ab" * 40, warmup_ns=300 * MS)
    folder = made.write(tmp_path)
    samples = [(100, 0, 10, 1), (200, 0, 20, 2), (300, 0, 30, 4), (400, 0, 40, 8), (500, 0, 50, 16)]
    sampled(folder, "a", samples, late_ns)
    measurement = load(made.cell, folder)
    course = METRIC["cwnd"].traces
    assert course is not None
    whole = measurement.within(Window(0.0))
    (trace, _) = course(whole, MetricRequest(name="cwnd"))
    assert trace.t_s == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert trace.values.tolist() == [10, 20, 30, 40, 50]
    found = by_name(computed.results(measurement, "retransmissions", "a"))
    assert found["retransmissions", "a"] == 16 - 4
    seen = measurement.within(Window(0.2, 0.4))
    found = by_name(computed.results(seen, "retransmissions", "a"))
    assert found["retransmissions", "a"] == 8 - 2
    assert by_name(computed.results(seen, "cwnd", "a"))["cwnd.mean", "a"] == 25


def test_what_policers_drop_was_sent(tmp_path: Path) -> None:
    """A policer in front of the bottleneck has dropped a fifth of 30 packets, and 24 came."""
    made = hand_made("ab" * 40, connections=(2, 1), warmup_ns=300 * MS)
    folder = made.write(tmp_path)
    sampled(folder, "a", [(300, 0, 20, 4), (500, 0, 9, 10)])
    policer: Any = SimpleNamespace(passed=lambda *_: 0.8)
    measurement = replace(load(made.cell, folder), devices={"policer": [policer]})
    found = by_name(computed.results(measurement, "retransmissions", "a"))
    assert found["retransmissions.share", "a"] == pytest.approx(6 / 30)


def test_packets_are_counted_between_the_samples_that_retransmissions_are(tmp_path: Path) -> None:
    """The warm-up ends at 0.39 s: frames count from the sample of 0.3 s on, that arrive from 0.315
    to 0.775 s.
    """
    made = hand_made("ab" * 40, warmup_ns=390 * MS)
    folder = made.write(tmp_path)
    sampled(folder, "a", [(100, 0, 10, 1), (200, 0, 20, 2), (300, 0, 30, 4), (400, 0, 40, 8)])
    found = by_name(computed.results(load(made.cell, folder), "retransmissions", "a"))
    assert found["retransmissions", "a"] == 4
    assert found["retransmissions.share", "a"] == pytest.approx(4 / 24)


def test_a_level_is_stationary_and_a_shift_is_not(tmp_path: Path) -> None:
    """The bits of a shift register of maximal length: white, -1 / 63 at each lag (Golomb 1967)."""
    bits = [1] * 6
    while len(bits) < 63:
        bits.append(bits[-6] ^ bits[-5])  # x^6 + x + 1

    def slots(least: int) -> str:
        return "".join("a" * (least + bit) + "b" * (10 - least - bit) for bit in bits)

    steady = by_name(results(hand_made(slots(5)), tmp_path / "s", "stationarity"))
    assert steady["stationarity.p", "a"] == pytest.approx(0.1)
    shift = hand_made(slots(8) + slots(2))
    moved = by_name(results(shift, tmp_path / "m", "stationarity"))
    assert moved["stationarity.p", "a"] == pytest.approx(0.01)
    assert (moved["stationarity.autocorrelation", "a"] or 0) > 0.5
    shift.cell = replace(shift.cell, warmup_ns=6_300 * MS)
    after = by_name(results(shift, tmp_path / "w", "stationarity"))
    assert after["stationarity.p", "a"] == pytest.approx(0.1), "the warm-up takes the shift away"


def test_too_short_a_series_is_said(tmp_path: Path) -> None:
    found = results(hand_made("ab" * 50), tmp_path, "stationarity", "a")
    assert {v.reason for v in found} == {"the throughput per slot: fewer than 30 values"}


def test_percentiles_of_the_queue_delay(tmp_path: Path) -> None:
    """Nine frames wait 5 ms, one 45 ms: linear interpolation between the last two."""
    found = by_name(results(crowded(), tmp_path, "queue_delay", "a"))
    ordered = [found[f"queue_delay.p{p}", "a"] for p in (5, 10, 25, 50, 75, 90, 95, 99)]
    assert ordered == sorted(n for n in ordered if n is not None)
    measurement = load(crowded().cell, tmp_path)
    flow = measurement.flows[0]
    delay = flow.queue.delay_s[flow.left]
    assert found["queue_delay.p90", "a"] == pytest.approx(np.percentile(delay, 90))
    assert PAYLOAD < FULL


def test_convergence_after_an_event(tmp_path: Path) -> None:
    """Equal until 0.5 s, then a alone in nine of ten frames until 1.0 s; windows of two slots."""
    made = hand_made("ababababab " * 5 + "aaaaaaaaab " * 5 + "ababababab " * 10 + "ab")
    request = MetricRequest(name="convergence_time", options={"over": 0.2})
    whole = load(made.cell, made.write(tmp_path))

    def found(begin_s: float | None, end_s: float = math.inf) -> Mapping[str, MetricValue]:
        seen = whole.within(Window(begin_s, end_s))
        return {v.metric: v for v in METRICS["convergence_time"].compute(seen, request)}

    after = found(0.5)
    # The first window of equal slots from 0.5 s on begins at 1.0 s and ends at 1.2 s.
    assert after["convergence_time"].value == pytest.approx(1.2 - 0.5)
    assert after["convergence_time.held"].value == 1
    never = found(0.5, 1.0)
    assert (never["convergence_time"].value, never["convergence_time.reached"].value) == (None, 0)
    # Without `from` it counts from the first data of b, the warm-up included.
    assert found(None, 0.6)["convergence_time"].value == pytest.approx(0.3 - 0.01)

"""Policers recomputed: buckets and re-echoes against sequences worked out by hand, and against
theory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from specs import compilation_of

from fairc.compiler import Cell
from fairc.compiler.plan import MetricRequest, Requests
from fairc.mechanisms.devices.policer.cell import Policer
from fairc.mechanisms.devices.policer.decisions import (
    ECN,
    LOSS,
    NOTHING,
    Bucket,
    CapturedPackets,
    Exposure,
    before,
    decide,
    probability,
    uniform,
)
from fairc.mechanisms.devices.policer.record import policers_of
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.measurement import load
from fairc.runtime.measurement.pcap import ACK, CWR, ECE, FIN, SYN, TCP, Feedback, Packets
from fairc.runtime.validity import judge
from fairc_fake.engine import FakeEngine

S = 10**9
US, BACK = (1, 80, 2, 4000), (1, 80, 2, 4000)


def policer(**changes: Any) -> Policer:
    given: dict[str, Any] = {
        "name": "p",
        "node": "h",
        "ingress": "eth0",
        "egress": "eth1",
        "rate": 2.0,
        "depth": 10.0,
        "harshness": "strict",
        "feedback": "none",
        "charge": "forwarded",
        "buckets": ("u",),
        "policed": (),
        "seed": 7,
        "source": "made.fexp:1",
    }
    return Policer(**(given | changes))


def levels(rule: Policer, arrivals: list[tuple[int, bool]]) -> list[tuple[float, bool]]:
    bucket = Bucket(rule, 0)
    decisions = [bucket.arrive(t_ns, echo) for t_ns, echo in arrivals]
    return [(level, dropped) for dropped, level in decisions]


@pytest.mark.parametrize(
    ("level", "soft", "mild", "strict"),
    [
        (10.0, 0.0, 0.0, 0.0),
        (1e-9, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 1.0),
        (-0.5, 0.05, 0.5, 1.0),
        (-1.0, 0.1, 1.0, 1.0),
        (-5.0, 0.5, 1.0, 1.0),
        (-12.0, 1.0, 1.0, 1.0),
    ],
)
def test_the_probability_is_that_of_the_definition(
    level: float, soft: float, mild: float, strict: float
) -> None:
    for harshness, expected in (("soft", soft), ("mild", mild), ("strict", strict)):
        assert probability(policer(harshness=harshness), level) == expected


def test_a_sequence_by_hand() -> None:
    """Full at first; a re-echo takes one; time fills at 2 tokens/s, to 10 at most."""
    arrivals = [(0, True), (0, True), (S // 4, False), (S // 4, True), (9 * S, False)]
    expected = [(level, False) for level in (10.0, 9.0, 8.5, 8.5, 10.0)]
    assert levels(policer(), arrivals) == expected


def test_strict_drops_all_from_an_empty_bucket_and_takes_nothing_for_it() -> None:
    arrivals = [(0, True)] * 12 + [(S // 2, False), (S // 2, True), (S // 2, False)]
    seen = levels(policer(), arrivals)
    assert seen[9:12] == [(1.0, False), (0.0, True), (0.0, True)]
    assert seen[12:] == [(1.0, False), (1.0, False), (0.0, True)]


def test_charging_on_arrival_takes_before_it_decides_and_has_a_floor() -> None:
    seen = levels(policer(charge="arrived"), [(0, True)] * 25)
    assert (seen[0], seen[8]) == ((9.0, False), (1.0, False))
    assert (seen[9], seen[19], seen[24]) == ((0.0, True), (-10.0, True), (-10.0, True))


def test_random_numbers_are_those_of_the_policer() -> None:
    """The same as in endpoints/src/policer/bucket.rs: whoever changes one must change the other."""
    numbers = [uniform(0, 0, 0), uniform(42, 3, 7), uniform(2**64 - 1, 99, 1_000_000)]
    assert numbers == [0.13870941014555427, 0.6686949404958634, 0.8312690680189808]


@pytest.mark.parametrize("harshness", ["soft", "mild", "strict"])
def test_tokens_are_taken_at_the_fill_rate(harshness: str) -> None:
    """100 re-echoes/s at 2 tokens/s: in the long run two of them pass a second (conservation).

    1,000 s fill 2,000 tokens, beside the 10 of the full bucket; the level ends where it may: soft,
    with a loss of 98 %, near -9.8.
    """
    rule = policer(harshness=harshness)
    seen = levels(rule, [(n * S // 100, True) for n in range(100_000)])
    taken = sum(not dropped for _, dropped in seen)
    assert taken == pytest.approx(2000 + 10 - seen[-1][0], abs=2)
    # P(drop) = 98 % at this level, so soft hovers about -9.8, mild about -0.98.
    expected = {"soft": -9.8, "mild": -0.98, "strict": 0.0}[harshness]
    late = [level for level, _ in seen[50_000:]]
    assert sum(late) / len(late) == pytest.approx(expected, abs=0.6)


def test_sequence_numbers_wrap() -> None:
    assert before(2**32 - 1, 0) and before(2**32 - 100, 50) and not before(0, 2**32 - 1)
    assert not before(5, 5)


def test_what_is_sent_again_exposes_a_loss() -> None:
    exposure = Exposure(policer())

    def sent(sequence: int, flags: int = ACK, payload: int = 100) -> int:
        return exposure.sent(US, 0, sequence, flags, payload)

    assert sent(999, SYN | ACK, 0) == NOTHING
    assert sent(999, SYN | ACK, 0) == LOSS
    assert [sent(1000), sent(1100), sent(1000)] == [NOTHING, NOTHING, LOSS]
    assert sent(1050, payload=300) == LOSS
    assert sent(1350) == NOTHING
    assert [sent(1450, payload=0), sent(1449, payload=0)] == [NOTHING, NOTHING]
    assert [sent(1450, ACK | FIN, 0), sent(1450, ACK | FIN, 0)] == [NOTHING, LOSS]
    assert sent(7, SYN | ACK, 0) == NOTHING


def test_classic_counts_a_cwr_only_after_an_ece() -> None:
    exposure = Exposure(policer(feedback="classic"))

    def sent(sequence: int, flags: int = 0) -> int:
        return exposure.sent(US, 0, sequence, ACK | flags, 100)

    assert sent(0, CWR) == NOTHING  # after a loss
    exposure.acknowledged(BACK, 100, ACK | SYN | ECE, ())
    assert sent(100, CWR) == NOTHING
    exposure.acknowledged(BACK, 100, ACK | ECE, ())
    assert [sent(200), sent(300, CWR), sent(400, CWR)] == [NOTHING, ECN, NOTHING]
    assert exposure.unexposed(1).tolist() == [0]
    exposure.acknowledged(BACK, 100, ACK | ECE, ())
    assert exposure.unexposed(1).tolist() == [1]


def test_accurate_exposes_every_mark_once_after_its_acknowledgement() -> None:
    exposure = Exposure(policer(feedback="accurate"))

    def sent(sequence: int, payload: int = 100) -> int:
        return exposure.sent(US, 0, sequence, ACK, payload)

    for number in range(3):
        assert sent(100 * number) == NOTHING
        exposure.marked(US, 100 * number, 100)
    assert sent(300) == NOTHING
    exposure.acknowledged(BACK, 199, ACK | ECE, ())
    assert [sent(400, 0), sent(300), sent(400), sent(500)] == [NOTHING, LOSS, ECN, NOTHING]
    assert exposure.unexposed(1).tolist() == [2]
    exposure.acknowledged(BACK, 200, ACK, ((200, 300),))
    assert [sent(600), sent(700), sent(800)] == [ECN, ECN, NOTHING]
    assert exposure.unexposed(1).tolist() == [0]


SPEC = """fexp 1
experiment policed {
  topology = access(
    rate: 4Mbit/s, rtt: 20ms, queue: red(limit: 100ms, min: 10%, max: 100%, pmax: 100%, ecn: on),
    policer: conex(rate: 4pkt/s, depth: 9pkt, harshness: mild, feedback: accurate),
  )
  users heavy { count = 1 }
  users light { count = 2 }
  flow heavy { users = heavy  count = 2  cca = cubic  workload = bulk }
  flow light { users = light  cca = cubic  workload = bulk }
  duration = 2s
  measure  = [policing, loss_rate]
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cell, Path]:
    """A cell that nothing is lost or marked in, without a network."""
    cell = next(iter(compilation_of(SPEC).cells()))
    result = FakeEngine().run(cell, tmp_path_factory.mktemp("cell"))
    assert result.error == ""
    return cell, result.artefacts


@pytest.fixture
def copied(made: tuple[Cell, Path], tmp_path: Path) -> tuple[Cell, Path]:
    """The same cell in a folder that can be changed."""
    cell, folder = made
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return cell, tmp_path


def packets(*rows: dict[str, int]) -> Packets:
    """Return TCP packets with these values; the rest is zero."""
    rows = tuple({"protocol": TCP} | row for row in rows)
    columns = ([row.get(field.name, 0) for row in rows] for field in fields(Packets))
    return Packets(*(np.array(column, np.int64) for column in columns))


def test_an_ece_after_the_last_packet_stays_unexposed(made: tuple[Cell, Path]) -> None:
    cell, _ = made
    (plan,) = cell.devices
    assert isinstance(plan, Policer)
    rule = replace(plan, feedback="classic")
    flows = {flow.name: flow for flow in cell.flows}
    ours = flows[rule.policed[1].flow]
    server = {"source": int(IPv4Address(ours.address)), "source_port": ours.port}
    client = {"destination": server["source"], "destination_port": ours.port}
    arrivals = packets(*({"time_ns": n * S, "sequence": n, **server} for n in range(3)))
    none = np.empty(0, np.int64)
    for flags, expected in ((ACK, 0), (ACK | ECE, 1)):
        back = packets({"time_ns": 9 * S, "flags": flags, **client})
        seen = CapturedPackets(back, Feedback(np.zeros(1, np.bool_), none, none, none))
        assert decide(rule, cell, arrivals, None, seen).unexposed.tolist() == [0, expected, 0]


def test_who_costs_nothing_pays_nothing(made: tuple[Cell, Path]) -> None:
    cell, folder = made
    measurement = load(cell, folder)
    assert judge(measurement) == ("valid", ())
    (one,) = policers_of(measurement)
    lost = one.decisions.echo > 0
    assert len(one.decisions) > 500 and not lost.any() and not one.decisions.dropped.any()
    assert {b: float(v[0]) for b, v in one.levels(np.array([1.0])).items()} == {0: 9, 1: 9, 2: 9}
    values = {
        (value.metric, value.flow): value.value
        for value in analyse(
            cell, folder, Requests(measure=(MetricRequest(name="policing"),))
        ).metrics
    }
    assert values["policing.tokens", "heavy-1"] == 0
    assert values["policing.level", "light-2"] == 9
    assert values["policing.empty", "heavy-1"] == 0
    assert values["policing.unexposed", "heavy-1"] == 0


LINE = {"t_ns": 5, "event": "packet", "number": 3, "bucket": 0, "echo": None, "level": 9.0}


def changed(kind: str, **fields: Any) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    def change(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [line | fields if line["event"] == kind else line for line in lines]

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: [*lines, LINE | {"dropped": True}], "for 1 of"),
        (lambda lines: [*lines, LINE | {"dropped": False}], "for 1 of"),
        (lambda lines: lines[:-1], "did not report what it had done"),
        (changed("policed", missed=3), "missed 3 packets"),
        (changed("policed", packets=10), "saw 10 of"),
        (changed("policed", event="error", message="no room"), "no room"),
    ],
)
def test_a_policer_that_did_otherwise_is_found_out(
    copied: tuple[Cell, Path],
    change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]],
    words: str,
) -> None:
    cell, folder = copied
    file = folder / f"{cell.devices[0].name}.policer.ndjson"
    lines = change([json.loads(line) for line in file.read_text().splitlines()])
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    verdict, reasons = judge(load(cell, folder))
    assert verdict != "valid"
    assert any(words in reason for reason in reasons), reasons


def test_times_far_from_the_captures_are_found_out(copied: tuple[Cell, Path]) -> None:
    cell, folder = copied
    file = folder / f"{cell.devices[0].name}.policer.times"
    times = np.frombuffer(file.read_bytes(), "<i8").copy()
    times[-1] += 5_000_000
    file.write_bytes(times.tobytes())
    verdict, reasons = judge(load(cell, folder))
    assert verdict == "invalid" and any("5 ms apart" in reason for reason in reasons), reasons

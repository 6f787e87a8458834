"""What is due while the flows run: in order of time, on time, and nothing after the end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cell_fakes import FakeClock, FakeNodes, S

from fairc.cell.clock import RealTime
from fairc.cell.document import Changes, Document
from fairc.cell.expansion import expand
from fairc.cell.schedule import AHEAD_NS, LinkChanges, Schedule
from fairc.compiler import Cell

Due = Iterator[tuple[int, int, object]]


@pytest.fixture
def document(golden_cell: Cell) -> Document:
    """The quickstart's."""
    return expand(golden_cell)


def carried_out(clock: FakeClock, *times_ns: list[int], until_ns: int) -> list[tuple[int, int]]:
    """Run a schedule to an end; return (due, when it was called) of each entry."""
    done: list[tuple[int, int]] = []

    def entries(number: int, times: list[int]) -> Iterator[tuple[int, int, object]]:
        for at_ns in times:
            yield at_ns, number, lambda at_ns=at_ns: done.append((at_ns, clock.now_ns()))

    schedule = Schedule(clock, *(entries(n, times) for n, times in enumerate(times_ns)))  # type: ignore[arg-type]
    for _ in range(1000):
        schedule.carry_out(until_ns)
        if clock.now_ns() >= until_ns:
            return done
        clock.wait([], schedule.wake_ns(until_ns))
    raise AssertionError("it wakes up all the time")


def test_entries_of_several_are_done_in_order_of_time() -> None:
    done = carried_out(FakeClock(), [2 * S, 3 * S, 9 * S], [1 * S, 3 * S, 4 * S], until_ns=5 * S)
    assert [at for at, _ in done] == [1 * S, 2 * S, 3 * S, 3 * S, 4 * S]
    assert all(at - when == AHEAD_NS for at, when in done), done


def test_what_is_due_at_the_end_or_later_is_not_done() -> None:
    assert [at for at, _ in carried_out(FakeClock(), [1 * S, 2 * S], until_ns=2 * S)] == [1 * S]


def test_a_wait_of_the_real_clock_ends_at_its_time_or_with_its_descriptor() -> None:
    clock, (read, write) = RealTime(), os.pipe()
    at_ns = clock.now_ns() + 5_000_000
    assert clock.wait([read], at_ns) == []
    assert at_ns <= clock.now_ns()
    os.write(write, b"!")
    assert clock.wait([read], clock.now_ns() + 600 * S) == [read]
    clock.sleep_until(0)  # it has passed
    os.close(read)
    os.close(write)


def test_changes_of_an_instant_are_handed_over_together_and_wait_for_it(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of the document; what MPTCP knows of paths comes behind the links."""
    monkeypatch.chdir(tmp_path)
    clock, orders = FakeClock(), list[tuple[int, int, list[tuple[str, list[str]]]]]()

    class Changer:
        def carry_out(
            self, at_ns: int, changes: list[tuple[str, list[str]]]
        ) -> list[tuple[int, int]]:
            orders.append((clock.now_ns(), at_ns, changes))
            clock.sleep_until(at_ns)
            return [(at_ns + n, at_ns + n + 1) for n in range(len(changes))]

        def end(self) -> None:
            pass

    class Nodes(FakeNodes):
        def changer(self, clock: object, names: object) -> Any:
            return Changer()

    def changes(node: str, interface: str, *lines: tuple[int, list[str]]) -> Changes:
        return {"node": node, "interface": interface, "repeat_ns": None, "lines": [*lines]}

    nodes = Nodes(document)
    made = LinkChanges(
        nodes,
        clock,
        10 * S,
        [
            changes("left", "paths", (S, ["mptcp endpoint add"])),
            changes("right", "right-eth0", (S, ["falls"]), (3 * S, ["rises"])),
            changes("left", "left-eth1", (S, ["stops"])),
        ],
    )
    schedule = Schedule(clock, made.due())
    while clock.now_ns() < 20 * S:
        schedule.carry_out(20 * S)
        clock.wait([], schedule.wake_ns(20 * S))
    made.end()
    assert orders == [
        (11 * S - AHEAD_NS, 11 * S, [("right", ["falls"]), ("left", ["stops"])]),
        (13 * S - AHEAD_NS, 13 * S, [("right", ["rises"])]),
    ]
    assert nodes.ran == [("left", ["ip", "-batch", "-"], ["mptcp endpoint add"])]
    log = [json.loads(line) for line in (tmp_path / "changes.ndjson").read_text().splitlines()]
    assert [(line["interface"], line["begin_ns"], line["t_ns"]) for line in log] == [
        ("right-eth0", S, S + 1),
        ("left-eth1", S + 1, S + 2),
        ("paths", S, S),
        ("right-eth0", 3 * S, 3 * S + 1),
    ]


def test_changes_come_again_and_are_written_down(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    clock, nodes = FakeClock(), FakeNodes(document)
    changes: Changes = {
        "node": "left",
        "interface": "left-eth1",
        "repeat_ns": 2 * S,
        "lines": [(0, ["one"]), (S, ["two"])],
    }
    made = LinkChanges(nodes, clock, epoch_ns=10 * S, changes=[changes])
    said = tmp_path / "tc"
    said.write_text("done\n" * 9)
    ((node, tc),) = nodes.started
    assert (node, tc.command) == ("left", ["tc", "-batch", "-"])
    tc.stdin, tc.stdout, tc.stderr = (tmp_path / "in").open("wb"), said.open("rb"), said.open("rb")
    schedule = Schedule(clock, made.due())
    while clock.now_ns() < 14 * S:
        schedule.carry_out(14 * S)
        clock.wait([], schedule.wake_ns(14 * S))
    made.end()
    for stream in (tc.stdin, tc.stdout, tc.stderr):
        stream.close()
    log = [json.loads(line) for line in (tmp_path / "changes.ndjson").read_text().splitlines()]
    assert [entry["at_ns"] for entry in log] == [0, S, 2 * S, 3 * S]
    assert {(entry["node"], entry["interface"]) for entry in log} == {("left", "left-eth1")}
    lines = (tmp_path / "in").read_text().splitlines()
    assert lines[::2] == ["one", "two", "one", "two"]

"""Links that change as a flow's controller enters a state: when they do, against the flow's own log
and the captures, and that nothing else differs before.
"""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from left_behind import flow_of
from specs import only_cell_of

from fairc.compiler import Cell
from fairc.compiler.plan import Interface
from fairc.runtime import validity
from fairc.runtime.engines.base import Engine, RawResult
from fairc.runtime.engines.guest_job import EPOCH_NS
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.pcap import parse

SPEC = """fexp 1
experiment entering {{
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: fifo(4bdp)) with {{
    link left -> right {{ {change} }}
  }}
  flow f {{ over = quic  cca = bbr3  workload = bulk }}
  duration = 3s
  measure  = [goodput]
}}
"""
MS = 10**6
CHANGE = "at enters(f, drain) { rate = 5Mbit/s  loss = 1% }"


def a_cell(change: str) -> Cell:
    return only_cell_of(SPEC.format(change=change))


@pytest.fixture(scope="module")
def runs(uml: Engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[RawResult, RawResult]:
    """The cell, run two times."""
    first, second = (uml.run(a_cell(CHANGE), tmp_path_factory.mktemp("entering")) for _ in range(2))
    assert not first.error and not second.error
    return first, second


@pytest.fixture(scope="module")
def seen(runs: tuple[RawResult, RawResult]) -> Measurement:
    return load(a_cell(CHANGE), runs[0].artefacts)


def entered_ns(folder: Path, state: str, from_ns: int = 0) -> int:
    """When the server's log has a state first."""
    lines = map(json.loads, (folder / "f.server.ndjson").read_text().splitlines())
    entries = (int(line["t_ns"]) for line in lines if line.get("state") == state)
    return min(entry_ns for entry_ns in entries if entry_ns >= from_ns)


def test_every_run_has_the_same_bytes(runs: tuple[RawResult, RawResult]) -> None:
    assert runs[0].sha256 == runs[1].sha256


def test_it_changes_after_the_entry_and_before_the_next_sample(
    runs: tuple[RawResult, RawResult], seen: Measurement
) -> None:
    """Both what the shaper and what the hop does, as is written down; the spacing of the frames
    that leave the queue says the same: 1514 bytes take 1.2 ms, and then 2.4 ms.
    """
    folder = runs[0].artefacts
    entry_ns = entered_ns(folder, "drain")
    done = [json.loads(line) for line in (folder / "changes.ndjson").read_text().splitlines()]
    assert len(done) == 2
    assert all(entry_ns < each["begin_ns"] <= each["t_ns"] < entry_ns + 10 * MS for each in done)
    left_s = flow_of(seen, "f").queue.left_s
    spacing_ms = 1e3 * np.diff(left_s)
    before = (left_s[1:] < entry_ns / 1e9) & (left_s[1:] > entry_ns / 1e9 - 0.05)
    after = (left_s[:-1] > entry_ns / 1e9 + 0.005) & (left_s[:-1] < entry_ns / 1e9 + 0.05)
    assert np.median(spacing_ms[before]) == pytest.approx(1.2112, rel=0.01)
    assert np.median(spacing_ms[after]) == pytest.approx(2.4224, rel=0.01)


def test_it_is_valid(seen: Measurement) -> None:
    assert validity.judge(seen) == ("valid", ())


def with_changes(cell: Cell, at_ns: int | None) -> Cell:
    """A cell with the same name whose links change at a time, or never."""

    def later(interface: Interface) -> Interface:
        changes = () if at_ns is None else interface.changes
        moved = (replace(one, at_ns=at_ns or 0, entering=None) for one in changes)
        return replace(interface, changes=tuple(moved))

    return replace(
        cell,
        nodes=tuple(
            replace(node, interfaces=tuple(map(later, node.interfaces))) for node in cell.nodes
        ),
    )


def until(capture: Path, end_ns: int) -> bytes:
    """The bytes of a capture up to a time, ns after 1970."""
    content, end = capture.read_bytes(), 24
    while end < len(content):
        seconds, nanoseconds, length, _ = struct.unpack_from("<4I", content, end)
        if seconds * 10**9 + nanoseconds > end_ns:
            break
        end += 16 + length
    return content[:end]


def test_until_the_entry_captures_have_the_same_bytes_as_where_it_comes_later(
    uml: Engine, runs: tuple[RawResult, RawResult], tmp_path: Path
) -> None:
    changed = runs[0].artefacts
    later = uml.run(with_changes(a_cell(CHANGE), 2999 * MS), tmp_path)
    assert not later.error
    captures = sorted(path.name for path in changed.glob("*.pcap"))
    assert len(captures) > 2
    for name in captures:
        before = until(changed / name, EPOCH_NS + entered_ns(changed, "drain"))
        assert len(before) > 5000
        assert before == until(later.artefacts / name, EPOCH_NS + entered_ns(changed, "drain"))
        assert (changed / name).read_bytes() != (later.artefacts / name).read_bytes()


def test_until_the_entry_captures_have_the_same_packets_as_without_the_change(
    uml: Engine, runs: tuple[RawResult, RawResult], tmp_path: Path
) -> None:
    """Its keys and the client's port are others: the kernel draws them, and without a program that
    changes links it draws less before.
    """
    changed = runs[0].artefacts
    plain = uml.run(with_changes(a_cell(CHANGE), None), tmp_path)
    assert not plain.error
    for path in changed.glob("*.pcap"):
        one, other = (
            parse((folder / path.name).read_bytes()).packets
            for folder in (changed, plain.artefacts)
        )
        known = one.time_ns <= EPOCH_NS + entered_ns(changed, "drain")
        number = int(known.sum())
        assert number > 50 and number < len(one)
        for column in ("time_ns", "frame_bytes", "ip_id"):
            assert (getattr(one, column)[known] == getattr(other, column)[:number]).all()
        assert other.time_ns[number] > EPOCH_NS + entered_ns(changed, "drain")


def test_a_later_entry_counts_where_it_says_so(uml: Engine, tmp_path: Path) -> None:
    cell = a_cell("at enters(f, probe_bw_up, from: 1500ms) { delay = 30ms }")
    run = uml.run(cell, tmp_path)
    assert not run.error
    (done,) = map(json.loads, (run.artefacts / "changes.ndjson").read_text().splitlines())
    assert done["at_ns"] == entered_ns(run.artefacts, "probe_bw_up", 1500 * MS) + 2 * MS


def test_a_state_that_is_never_entered_is_said(uml: Engine, tmp_path: Path) -> None:
    cell = a_cell("at enters(f, probe_rtt) { rate = 5Mbit/s }")
    run = uml.run(cell, tmp_path)
    assert not run.error and not (tmp_path / "first").exists(), "it ran once"
    verdict, reasons = validity.judge(load(cell, run.artefacts))
    assert verdict == "flagged"
    assert "never was in probe_rtt" in reasons[0]


def test_another_instant_than_that_of_the_log_is_found(
    runs: tuple[RawResult, RawResult], tmp_path: Path
) -> None:
    for path in runs[0].artefacts.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    log = tmp_path / "f.server.ndjson"
    lines = log.read_text().splitlines(keepends=True)
    entry = next(n for n, line in enumerate(lines) if '"drain"' in line)
    log.write_text("".join(lines[:entry] + lines[entry + 1 :]))
    verdict, reasons = validity.judge(load(a_cell(CHANGE), tmp_path))
    assert verdict == "invalid"
    assert any("the first run of the cell was another one" in reason for reason in reasons)


def test_a_run_that_differs_from_its_first_fails(
    uml: UmlEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run lacks a sample: as if another one had taught the instant."""
    once, turns = UmlEngine._once, list[Cell]()

    def changed(self: UmlEngine, cell: Cell, *others: object) -> object:
        ended = once(self, cell, *others)  # type: ignore[arg-type]
        if not turns:
            log = next(tmp_path.glob("*/f.server.ndjson"))
            lines = log.read_text().splitlines(keepends=True)
            number = next(n for n, line in enumerate(lines) if '"sample"' in line)
            log.write_text("".join(lines[:number] + lines[number + 1 :]))
        turns.append(cell)
        return ended

    monkeypatch.setattr(UmlEngine, "_once", changed)
    run = uml.run(a_cell(CHANGE), tmp_path)
    assert len(turns) == 2
    assert "the second run differs before the flow enters drain" in run.error

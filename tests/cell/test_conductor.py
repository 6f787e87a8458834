"""When a cell ends, and why: with nodes that start nothing."""

from __future__ import annotations

import io
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cell_fakes import FakeClock, FakeNodes, FakeProcess, S, empty
from specs import only_cell_of

from fairc.cell import conductor, programs
from fairc.cell.clock import RealTime, VirtualTime
from fairc.cell.document import Document
from fairc.cell.expansion import expand
from fairc.cell.nodes import Failed
from fairc.cell.schedule import Schedule
from fairc.compiler import Cell

ENDS = ("cubic.server", "bbr.server", "cubic.client", "bbr.client")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where the cell writes."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def waiting(golden_cell: Cell, **document: Any) -> tuple[conductor.Cell, FakeClock]:
    """Return a cell whose programs have been started, and its clock, at the epoch."""
    clock = FakeClock()
    made = expand(golden_cell)
    made.update(document)  # type: ignore[typeddict-item]
    cell = conductor.Cell(made, clock, "")
    for name in ("monitor", *ENDS):
        cell.processes.start(name, FakeProcess([name], None, None, None))
    return cell, clock


def end(cell: conductor.Cell, name: str, status: int = 0) -> Callable[[], None]:
    process = cell.processes.running[name]
    assert isinstance(process, FakeProcess)
    return lambda: process.end(status)


@pytest.mark.parametrize(
    ("document", "ends_ns", "ended_by", "ended_ns"),
    [
        ({"stop": "all"}, (3 * S, 5 * S), "finished", 5 * S),
        ({"stop": "first"}, (3 * S, 5 * S), "first", 3 * S),
        ({"deadline_ns": 4 * S}, (3 * S, 5 * S), "deadline", 4 * S),
        ({"duration_ns": 4 * S}, (3 * S, 5 * S), "duration", 4 * S),
        ({"duration_ns": 7 * S}, (3 * S, 5 * S), "duration", 7 * S),
        ({"duration_ns": 7 * S, "deadline_ns": 6 * S}, (3 * S, 5 * S), "deadline", 6 * S),
        ({"duration_ns": 4 * S, "deadline_ns": 4 * S}, (9 * S, 9 * S), "deadline", 4 * S),
    ],
)
def test_what_ends_a_cell(
    golden_cell: Cell,
    document: dict[str, Any],
    ends_ns: tuple[int, int],
    ended_by: str,
    ended_ns: int,
) -> None:
    cell, clock = waiting(golden_cell, **document)
    clock.at = [(ends_ns[0], end(cell, "bbr.client")), (ends_ns[1], end(cell, "cubic.client"))]
    assert cell.wait_for_end(0, Schedule(clock)) == ended_by
    assert ended_ns <= clock.now_ns() <= 1.01 * ended_ns


@pytest.mark.parametrize("name", ["cubic.server", "bbr.client", "monitor"])
def test_a_program_that_fails_ends_the_cell_with_its_last_words(
    golden_cell: Cell, folder: Path, name: str
) -> None:
    empty(folder, name)
    cell, clock = waiting(golden_cell)
    clock.at = [(S, end(cell, name, 1))]
    with pytest.raises(Failed, match=f"^{name} ended with exit status 1: it says why"):
        cell.wait_for_end(0, Schedule(clock))


def test_a_monitor_that_ends_by_itself_is_a_failure(golden_cell: Cell, folder: Path) -> None:
    empty(folder, "monitor")
    cell, clock = waiting(golden_cell)
    clock.at = [(S, end(cell, "monitor"))]
    with pytest.raises(Failed, match="monitor"):
        cell.wait_for_end(0, Schedule(clock))


class Started(FakeProcess):
    """A program of the endpoints: a capture listens, all others end on SIGTERM."""

    def __init__(self, command: Any, stdin: Any, stdout: Any, stderr: Any) -> None:
        super().__init__(command, stdin, stdout, stderr)
        if command[1] == "capture":
            self.stdout = io.BytesIO(b'{"event": "capturing"}\n{"event": "captured"}\n')


def test_a_whole_cell(golden_cell: Cell, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the network to cell.json: what is started, in which order, where, and how it is
    ended.
    """
    (folder / "fairc-endpoints").write_text("")
    (folder / "fairc-endpoints").chmod(0o755)
    document = expand(golden_cell, epoch_ns=100 * S)
    nodes, clock = FakeNodes(document), FakeClock()
    monkeypatch.setattr("cell_fakes.FakeProcess", Started)
    monkeypatch.setattr(programs, "Local", nodes["left"].popen)
    monkeypatch.setattr(conductor, "VirtualTime", lambda epoch_ns: clock)
    monkeypatch.setattr(conductor, "available_ccas", list)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(clock, "epoch_ns", lambda lead_ns: 100 * S)

    def finish() -> None:
        for _, process in nodes.started:
            if process.command[1].endswith("-client"):
                process.end()

    clock.at = [(120 * S, finish)]
    assert conductor.conduct(document, lambda: nodes, str(folder)) == 0
    cell = json.loads((folder / "cell.json").read_text())
    assert (cell["ended_by"], cell["epoch_ns"], cell["ended_ns"]) == ("finished", 100 * S, 20 * S)
    assert set(cell["processes"].values()) == {0} and cell["notes"] == []
    roles = [process.command[1] for _, process in nodes.started]
    assert roles == ["capture"] * 4 + ["monitor"] + ["tcp-server"] * 2 + ["tcp-client"] * 2
    assert [name for name, _ in nodes.started][5:] == ["server"] * 2 + ["client"] * 2
    assert all(
        (signal.SIGTERM in process.signals)
        == (process.command[1] in ("capture", "monitor", "tcp-server"))
        for _, process in nodes.started
    )
    shown = [name for name, command, _ in nodes.ran if command[:2] == ["tc", "-s"]]
    assert len(shown) == 2 * len(document["network"]["nodes"])
    assert {"system.json", "ping.json", "qdisc-before.json", "qdisc-after.json"} <= {
        path.name for path in folder.iterdir()
    }


class Deaf(Started):
    """One that does not end on SIGTERM, if it is a server."""

    def send_signal(self, sig: int) -> None:
        if sig == signal.SIGTERM and self.command[1] == "tcp-server":
            self.signals.append(sig)
        else:
            super().send_signal(sig)


def test_one_that_does_not_end_on_sigterm_is_killed_before_the_captures_end(
    golden_cell: Cell, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would go on sending while the queues drain, and leave them in no known state."""
    (folder / "fairc-endpoints").write_text("")
    (folder / "fairc-endpoints").chmod(0o755)
    document = expand(golden_cell, epoch_ns=100 * S)
    document["duration_ns"] = 20 * S
    nodes, clock = FakeNodes(document), FakeClock()
    order: list[tuple[str, int]] = []
    send = Deaf.send_signal

    def noted(one: Deaf, sig: int) -> None:
        order.append((one.command[1], sig))
        send(one, sig)

    monkeypatch.setattr(Deaf, "send_signal", noted)
    monkeypatch.setattr("cell_fakes.FakeProcess", Deaf)
    monkeypatch.setattr(programs, "Local", nodes["left"].popen)
    monkeypatch.setattr(conductor, "VirtualTime", lambda epoch_ns: clock)
    monkeypatch.setattr(conductor, "available_ccas", list)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(clock, "epoch_ns", lambda lead_ns: 100 * S)
    assert conductor.conduct(document, lambda: nodes, str(folder)) == 0
    cell = json.loads((folder / "cell.json").read_text())
    assert cell["notes"] == [f"{name}.server did not end on SIGTERM" for name in ("cubic", "bbr")]
    assert order.index(("tcp-server", signal.SIGKILL)) < order.index(("capture", signal.SIGTERM))


def test_a_node_that_refuses_is_a_failed_cell(
    golden_cell: Cell, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "fairc-endpoints").write_text("")
    (folder / "fairc-endpoints").chmod(0o755)
    document: Document = expand(golden_cell)
    nodes = FakeNodes(document)
    nodes.refuses = "qdisc"
    monkeypatch.setattr(conductor, "available_ccas", list)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert conductor.conduct(document, lambda: nodes, str(folder)) == 1
    cell = json.loads((folder / "cell.json").read_text())
    assert cell["ended_by"] == "failed"
    assert cell["notes"] == ["server: tc -s -j qdisc show: refused"]


def test_every_cell_begins_at_the_same_time_of_a_virtual_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[int] = []
    monkeypatch.setattr(RealTime, "wait", lambda clock, _, until_ns: slept.append(until_ns))
    assert VirtualTime(600 * S).epoch_ns(lead_ns=2 * S) == 600 * S
    assert slept == [598 * S]


PEP = """fexp 1
experiment satellite {
  topology = geo(pep: split, loss: 5%)
  flow f { cca = cubic  workload = file(1MB) }
  measure = [goodput]
}
"""


class Proxy(FakeProcess):
    """A proxy that says some time after its start that it is ready, or never."""

    opens_ns: int | None = None
    clock: FakeClock

    def __init__(self, command: Any, **streams: Any) -> None:
        super().__init__(command, **streams)
        out, name = streams["stdout"], f"{command[1]}"
        if self.opens_ns is None:
            os.write(streams["stderr"].fileno(), f"{name}: first\n{name}: it timed out\n".encode())
            return
        copy = os.dup(out.fileno())

        def open_connection() -> None:
            if self.returncode is None:
                os.write(copy, b'{"event":"ready"}\n')
            os.close(copy)

        self.clock.at.append((self.clock.time_ns + self.opens_ns, open_connection))


def proxies_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, opens_ns: int | None, epoch_ns: int | None
) -> tuple[conductor.Cell, FakeNodes, FakeClock]:
    """Return a cell with proxies that get ready so late."""
    (folder / "fairc-endpoints").write_text("")
    (folder / "fairc-endpoints").chmod(0o755)
    document = expand(only_cell_of(PEP), epoch_ns=epoch_ns)
    nodes, clock = FakeNodes(document), FakeClock()
    monkeypatch.setattr(Proxy, "opens_ns", opens_ns)
    monkeypatch.setattr(Proxy, "clock", clock, raising=False)
    monkeypatch.setattr("cell_fakes.FakeProcess", Proxy)
    if epoch_ns is not None:

        def begin_ns(lead_ns: int) -> int:
            clock.sleep_until(epoch_ns - lead_ns)
            return epoch_ns

        monkeypatch.setattr(clock, "epoch_ns", begin_ns)
    return conductor.Cell(document, clock, str(folder)), nodes, clock


@pytest.mark.parametrize("opens_ns", [S, 20 * S, 200 * S])
@pytest.mark.parametrize("epoch_ns", [None, 600 * S])
def test_proxies_have_the_time_that_their_handshakes_need(
    folder: Path, monkeypatch: pytest.MonkeyPatch, opens_ns: int, epoch_ns: int | None
) -> None:
    """In virtual time they start once, long before; in real time again, with twice the time."""
    cell, nodes, clock = proxies_of(folder, monkeypatch, opens_ns, epoch_ns)
    programs = cell._open_proxies(nodes)
    lead_ns = cell.document["lead_ns"]
    assert clock.time_ns == programs.epoch_ns - lead_ns
    if epoch_ns is not None:
        assert (programs.epoch_ns, len(nodes.started)) == (epoch_ns, 2)
        return
    patience_ns, starts = cell.document["patience_ns"], 1
    while patience_ns < opens_ns:
        patience_ns, starts = 2 * patience_ns, starts + 1
    assert len(nodes.started) == 2 * starts
    ended = [process.signals for _, process in nodes.started]
    assert ended == [[signal.SIGKILL]] * (2 * starts - 2) + [[]] * 2


@pytest.mark.parametrize("epoch_ns", [None, 600 * S])
def test_a_proxy_that_never_gets_ready_says_what_it_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, epoch_ns: int | None
) -> None:
    cell, nodes, _ = proxies_of(folder, monkeypatch, None, epoch_ns)
    said = r"satellite\.terminal is not ready after \d{3} s: pep-terminal: it timed out$"
    with pytest.raises(Failed, match=said):
        cell._open_proxies(nodes)

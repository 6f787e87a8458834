"""iperf3 in the virtual machine: what it moves, when it begins, and that it is the same every
time.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from documents import program
from kept_cells import run_alone

from fairc.compiler import Cell
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import Measurement
from fairc.runtime.validity import judge

ENGINE = UmlEngine
SPEC = """fexp 1
experiment iperf3 {
  topology = bottleneck(rate: 1Mbit/s, rtt: 20ms, queue: fifo(100ms))
  flow down { cca = cubic  count = 2  start = 0s  workload = iperf3(time: 1s, window: 300kB) }
  flow up   { from = client  to = server  cca = bbr  rate = 500kbit/s  start = 6s  stop = 7s  workload = iperf3(reverse: off) }
  flow udp  { over = udp  rate = 800kbit/s  start = 8s  workload = iperf3(time: 1s) }
  flow file { cca = reno  start = 8s  workload = file(10kB) }
  measure = [goodput, datagrams]
}
"""


def test_the_cell_is_valid(measured: Measurement) -> None:
    assert judge(measured) == ("valid", ())


def test_every_flow_moves_what_the_link_takes(measured: Measurement) -> None:
    told = {flow.name: flow.endpoints for flow in measured.flows}
    assert {name: each.completed for name, each in told.items()} == {
        "down": True,
        "up": False,
        "udp": True,
        "file": True,
    }
    # A second at the link's rate, less what the queue and the begin of a second hold back.
    assert 0.8 < told["down"].progress.total * 8 / 1e6 < 1
    # IP bytes at 500 kbit/s, and the first ten segments, which are not paced.
    assert 0.4 < told["up"].progress.total * 8 / 1e6 < 0.62
    assert told["udp"].progress.total * 8 / 1e6 == pytest.approx(0.785, abs=0.03)
    assert told["down"].ccas == {"cubic"} and told["up"].ccas == {"bbr"}


def test_streams_begin_when_they_should(measured: Measurement) -> None:
    for flow in measured.flows:
        assert flow.start_s - flow.plan.start_ns * 1e-9 == pytest.approx(0, abs=0.015)


def test_sockets_have_the_window_that_was_asked_for(folder: Path) -> None:
    start = json.loads((folder / "down.server.json").read_text())["start"]
    assert (start["sock_bufsize"], start["sndbuf_actual"]) == (300_000, 600_000)


def test_the_program_ran_as_it_is_written(cell: Cell, folder: Path) -> None:
    up = next(flow for flow in cell.flows if flow.name == "up")
    command = program(cell, up, "client")[1]["command"]
    assert " ".join(command) == (
        "iperf3 --client 10.0.0.1 --congestion bbr --length 4096 --fq-rate 482666 --time 0"
        " --connect-timeout 30000 --version4 --port 5002 --interval 0.1 --json"
    )
    start = json.loads((folder / "up.client.json").read_text())["start"]
    assert start["connecting_to"] == {"host": "10.0.0.1", "port": 5002}
    assert start["test_start"]["reverse"] == 0


def test_another_run_gives_the_same_bytes(cell: Cell, folder: Path, tmp_path: Path) -> None:
    again = run_alone(UmlEngine(), cell, tmp_path)
    for file in sorted(folder.iterdir()):
        assert (again.artefacts / file.name).read_bytes() == file.read_bytes(), file.name

"""Split connections on a satellite link, in the virtual machine: what they change, and what not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from left_behind import events
from specs import only_cell_of

from fairc.mechanisms.devices.pep.cell import Pep
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.validity import judge

SPEC = """fexp 1
experiment split {
  topology = geo(pep: split(connections: 2))
  flow page { cca = bbr    start = 0s  workload = load(page(600kB), client: plain, http: h3, loads: 2, idle: 1s) }
  flow file { cca = cubic  initial_window = 32pkt  start = 0s  workload = file(1MB) }
  measure = [goodput]
}
"""


def test_it_is_valid(measured: Measurement) -> None:
    assert judge(measured) == ("valid", ())


def test_tcp_is_split_and_quic_is_not(folder: Path, measured: Measurement) -> None:
    split = events(folder, "satellite.gateway", "joined")
    page = measured.flows[0].endpoints
    assert sorted(page.transports.values()) == ["quic", "tcp"]
    assert len(split) == 2  # the first load, and the file


def test_the_terminal_answers_the_handshake(measured: Measurement) -> None:
    """TLS still crosses the satellite, and QUIC's handshake does; TCP's takes the 1 ms to the
    terminal.
    """
    first, second = measured.flows[0].endpoints.loads
    assert first.secure_start_s and first.connect_start_s and first.connect_end_s
    assert first.secure_start_s - first.connect_start_s == pytest.approx(1e-3, abs=5e-4)
    assert first.connect_end_s - first.connect_start_s == pytest.approx(0.78, abs=0.03)
    assert second.connect_start_s and second.connect_end_s
    assert second.connect_end_s - second.connect_start_s == pytest.approx(0.755, abs=0.01)


def test_the_middle_has_no_slow_start(measured: Measurement) -> None:
    """1 MB is 80 ms of the link at the window of a BDP; from 10 packets on it takes seven round
    trips.
    """
    done = measured.flows[1].endpoints
    assert done.end_s is not None
    assert done.end_s < 3.0


def test_the_server_sees_the_address_of_the_client(folder: Path, measured: Measurement) -> None:
    accepted = events(folder, "page.server", "accepted")
    client = measured.cell.flows[0].client_address
    assert {str(event["peer"]).partition(":")[0] for event in accepted} == {client}


LOSSY = """fexp 1
experiment lossy {
  topology = geo(pep: split, loss: loss(both: 20%)) with {
    link gateway -> terminal { down from 0s to 1s }
  }
  flow file { cca = cubic  workload = file(100kB) }
  duration = 60s
  measure  = [fct]
}
"""
DEAD = """fexp 1
experiment dead {
  topology {
    node server, client
    router gateway, terminal
    link server -- gateway, terminal -- client { rate = 1Gbit/s }
    link gateway -> terminal { rate = 25Mbit/s  delay = 300ms  loss = 99.99% }
    link terminal -> gateway { rate = 5Mbit/s  delay = 300ms }
    pep satellite { terminal = terminal  gateway = gateway  mode = split }
  }
  flow file { cca = cubic  workload = file(100kB) }
  duration = 5s
  measure  = [goodput]
}
"""


def test_proxies_wait_for_handshakes_that_lose_packets(engine: Engine, tmp_path: Path) -> None:
    """Two of three exchanges fail, for each of the connections of the pool; an outage that begins
    with the cell comes after that.
    """
    cell = only_cell_of(LOSSY)
    result = engine.run(cell, tmp_path)
    assert result.error == ""
    assert judge(load(cell, result.artefacts)) == ("valid", ())
    (pep,) = cell.devices
    assert isinstance(pep, Pep)
    pool = pep.pool
    for end in ("terminal", "gateway"):
        (ready,) = events(result.artefacts, f"satellite.{end}", "ready")
        assert ready["connections"] >= pool
        assert ready["t_ns"] < -1e9


def test_a_link_that_carries_nothing_is_said(engine: Engine, tmp_path: Path) -> None:
    result = engine.run(only_cell_of(DEAD), tmp_path)
    assert re.search(
        r"satellite.terminal is not ready after 300 s: no connection to the gateway .*: "
        r"Connection timed out",
        result.error,
    )

"""Split connections on a satellite link, in the virtual machine: what they change, and what not."""

from __future__ import annotations

from pathlib import Path

import pytest
from left_behind import events

from fairc.runtime.measurement import Measurement
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

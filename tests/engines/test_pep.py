"""Split connections over a satellite link, beside one that is not, in the real kernel: what they
change, and what not.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import kept_cells
import pytest
from left_behind import events
from specs import compilation_of, only_cell_of

from fairc.mechanisms.devices.pep.cell import Pep
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.validity import judge

FILE_BYTES, RATE_BPS, RTT_S, GROUND_S = 10_000_000, 25e6, 0.75, 0.03
PACKET_BYTES, PAYLOAD_BYTES, INITIAL_WINDOW = 1500, 1448, 10
STEP_NS = 100_000_000  # between samples
BESIDE = """fexp 1
experiment satellite {
  topology = geo(pep: mode)
  sweep { mode = [none, split] }
  flow file { cca = cubic  workload = file(10MB) }
  measure  = [goodput]
}
"""
SPEC = """fexp 1
experiment split {
  topology = geo(pep: split(connections: 2))
  flow page { cca = bbr    start = 0s  workload = load(page(600kB), client: plain, http: h3, loads: 2, idle: 1s) }
  flow file { cca = cubic  initial_window = 32pkt  start = 0s  workload = file(1MB) }
  measure = [goodput]
}
"""


@pytest.fixture(scope="module")
def folders(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """The artefacts of both cells of `BESIDE`, by whether the connection is split."""
    return {
        bool(cell.devices): kept_cells.artefacts(engine, cell, tmp_path_factory.mktemp("cell"))
        for cell in compilation_of(BESIDE).cells()
    }


def seconds(folder: Path, first: str, last: str) -> float:
    """Return the time between two events of the client."""
    (begin,), (end,) = (events(folder, "file.client", event) for event in (first, last))
    return float(end["t_ns"] - begin["t_ns"]) / 1e9


def test_all_bytes_come(folders: dict[bool, Path]) -> None:
    for folder in folders.values():
        (done,) = events(folder, "file.client", "done")
        assert done["bytes"] == FILE_BYTES
    for end in ("terminal", "gateway"):
        (closed,) = events(folders[True], f"satellite.{end}", "closed")
        assert (closed["error"], closed["down_bytes"]) == (None, FILE_BYTES)


def test_the_handshake_is_answered_at_home(folders: dict[bool, Path]) -> None:
    assert seconds(folders[True], "opened", "connected") < 0.01 < RTT_S
    assert seconds(folders[False], "opened", "connected") >= RTT_S


def test_the_middle_has_no_slow_start(folders: dict[bool, Path]) -> None:
    """The link is full from the first byte on: size / rate, one round trip, and a start on the
    ground.

    Without proxies slow start doubles the window each round trip until it is a BDP (papers of the
    study: log2(BDP / IW) round trips).
    """
    full_s = 8 * FILE_BYTES * PACKET_BYTES / PAYLOAD_BYTES / RATE_BPS
    split_s = seconds(folders[True], "opened", "done")
    assert RTT_S + full_s <= split_s <= RTT_S + full_s + 8 * GROUND_S
    bdp_bytes = RATE_BPS * RTT_S / 8
    rounds = math.log2(bdp_bytes / (INITIAL_WINDOW * PACKET_BYTES))
    plain_s = seconds(folders[False], "opened", "done")
    # While the window doubles, a BDP goes through; the handshake takes a round trip more.
    expected_s = 2 * RTT_S + rounds * RTT_S + full_s - 8 * bdp_bytes / RATE_BPS
    assert plain_s == pytest.approx(expected_s, rel=0.1)
    assert plain_s > split_s + 4 * RTT_S


def test_the_gateway_takes_no_more_than_two_windows_ahead(folders: dict[bool, Path]) -> None:
    """What the server has got rid of, less what the terminal has: in the gateway, or under way (a
    third).
    """
    (ready,) = events(folders[True], "satellite.gateway", "ready")
    window_bytes = ready["window_packets"] * ready["mss"]
    arrived = {
        line["t_ns"] // STEP_NS: line
        for line in events(folders[True], "satellite.gateway", "sample")
    }
    ahead = [
        line["bytes_acked"] - arrived[line["t_ns"] // STEP_NS]["bytes_acked"]
        for line in events(folders[True], "file.server", "sample")
        if line["t_ns"] // STEP_NS in arrived
    ]
    assert window_bytes < max(ahead) < 3.5 * window_bytes


def test_the_window_is_that_of_the_link(folders: dict[bool, Path]) -> None:
    for end in ("terminal", "gateway"):
        (ready,) = events(folders[True], f"satellite.{end}", "ready")
        (joined,) = events(folders[True], f"satellite.{end}", "joined")
        assert joined["window_packets"] >= ready["window_packets"]
        assert ready["t_ns"] < 0


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
    folder = kept_cells.artefacts(engine, cell, tmp_path)
    assert judge(load(cell, folder)) == ("valid", ())
    (pep,) = cell.devices
    assert isinstance(pep, Pep)
    pool = pep.pool
    for end in ("terminal", "gateway"):
        (ready,) = events(folder, f"satellite.{end}", "ready")
        assert ready["connections"] >= pool
        assert ready["t_ns"] < -1e9


def test_a_link_that_carries_nothing_is_said(engine: Engine, tmp_path: Path) -> None:
    result = engine.run(only_cell_of(DEAD), tmp_path)
    assert re.search(
        r"satellite.terminal is not ready after 300 s: no connection to the gateway .*: "
        r"Connection timed out",
        result.error,
    )

"""A split connection over a satellite link, beside one that is not, in the real kernel."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from specs import compilation_of

from fairc.runtime.engines.uml import UmlEngine

FILE_BYTES, RATE_BPS, RTT_S, GROUND_S = 10_000_000, 25e6, 0.75, 0.03
PACKET_BYTES, PAYLOAD_BYTES, INITIAL_WINDOW = 1500, 1448, 10
STEP_NS = 100_000_000  # between samples
SPEC = """fexp 1
experiment satellite {
  topology = geo(pep: mode)
  sweep { mode = [none, split] }
  flow file { cca = cubic  workload = file(10MB) }
  measure  = [goodput]
}
"""


Events = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Events]:
    """What the programs of both cells wrote, by whether the connection is split."""
    engine = UmlEngine()
    engine.prepare()
    try:
        written = {}
        for cell in compilation_of(SPEC).cells():
            result = engine.run(cell, tmp_path_factory.mktemp("cell"))
            assert result.error == ""
            written[bool(cell.devices)] = _events(result.artefacts)
        return written
    finally:
        engine.close()


def _events(folder: Path) -> Events:
    return {
        path.stem: [json.loads(line) for line in path.read_text().splitlines()]
        for path in folder.glob("*.ndjson")
    }


def _of(events: Events, program: str, event: str) -> list[dict[str, Any]]:
    return [line for line in events[program] if line["event"] == event]


def _seconds(events: Events, first: str, last: str) -> float:
    (begin,), (end,) = (_of(events, "file.client", event) for event in (first, last))
    return float(end["t_ns"] - begin["t_ns"]) / 1e9


def test_all_bytes_come(cells: dict[bool, Events]) -> None:
    for events in cells.values():
        (done,) = _of(events, "file.client", "done")
        assert done["bytes"] == FILE_BYTES
    for end in ("terminal", "gateway"):
        (closed,) = _of(cells[True], f"satellite.{end}", "closed")
        assert (closed["error"], closed["down_bytes"]) == (None, FILE_BYTES)


def test_the_handshake_is_answered_at_home(cells: dict[bool, Events]) -> None:
    assert _seconds(cells[True], "opened", "connected") < 0.01 < RTT_S
    assert _seconds(cells[False], "opened", "connected") >= RTT_S


def test_the_middle_has_no_slow_start(cells: dict[bool, Events]) -> None:
    """The link is full from the first byte on: size / rate, one round trip, and a start on the
    ground.

    Without proxies slow start doubles the window each round trip until it is a BDP (papers of the
    study: log2(BDP / IW) round trips).
    """
    full_s = 8 * FILE_BYTES * PACKET_BYTES / PAYLOAD_BYTES / RATE_BPS
    split_s = _seconds(cells[True], "opened", "done")
    assert RTT_S + full_s <= split_s <= RTT_S + full_s + 8 * GROUND_S
    bdp_bytes = RATE_BPS * RTT_S / 8
    rounds = math.log2(bdp_bytes / (INITIAL_WINDOW * PACKET_BYTES))
    plain_s = _seconds(cells[False], "opened", "done")
    # While the window doubles, a BDP goes through; the handshake takes a round trip more.
    expected_s = 2 * RTT_S + rounds * RTT_S + full_s - 8 * bdp_bytes / RATE_BPS
    assert plain_s == pytest.approx(expected_s, rel=0.1)
    assert plain_s > split_s + 4 * RTT_S


def test_the_gateway_takes_no_more_than_two_windows_ahead(cells: dict[bool, Events]) -> None:
    """What the server has got rid of, less what the terminal has: in the gateway, or under way (a
    third).
    """
    (ready,) = _of(cells[True], "satellite.gateway", "ready")
    window_bytes = ready["window_packets"] * ready["mss"]
    arrived = {
        line["t_ns"] // STEP_NS: line for line in _of(cells[True], "satellite.gateway", "sample")
    }
    ahead = [
        line["bytes_acked"] - arrived[line["t_ns"] // STEP_NS]["bytes_acked"]
        for line in _of(cells[True], "file.server", "sample")
        if line["t_ns"] // STEP_NS in arrived
    ]
    assert window_bytes < max(ahead) < 3.5 * window_bytes


def test_the_window_is_that_of_the_link(cells: dict[bool, Events]) -> None:
    for end in ("terminal", "gateway"):
        (ready,) = _of(cells[True], f"satellite.{end}", "ready")
        (joined,) = _of(cells[True], f"satellite.{end}", "joined")
        assert joined["window_packets"] >= ready["window_packets"]
        assert ready["t_ns"] < 0

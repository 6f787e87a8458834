"""The time that hosts take for a packet, in the real kernel: what tc reads back, and what packets
go through.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairc.cell.expansion import lower
from fairc.cell.links import TRANSMITTER_PACKETS, lower_name
from fairc.compiler import Cell
from fairc.compiler.plan import Capture
from fairc.runtime import validity
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.pcap import Packets, parse
from fairc.runtime.validity import random_delays

BOUND_NS = 2_000_000
SPEC = """fexp 1
experiment processing {
  topology = bottleneck(rate: 5Mbit/s, rtt: 20ms, queue: fifo(20pkt), access: 100Gbit/s)
  hosts { processing = uniform(0us, 2ms) }
  flow tcp { cca = cubic  workload = bulk  start = 0s }
  flow udp { over = udp  rate = 1Mbit/s  workload = bulk  start = 0s }
  duration = 6s
  measure  = [goodput]
}
"""
ABOVE = "client.server.server-eth0"


@pytest.fixture(scope="module")
def folder(engine: Engine, cell: Cell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artefacts of the cell, with one more capture: what the server's link sends, before the
    delay.
    """
    above = Capture(
        name=ABOVE,
        node="server",
        interface="server-eth0",
        direction="out",
        point="client",
        queue=cell.flows[0].bottleneck,
    )
    watched = replace(cell, captures=(*cell.captures, above))
    result = engine.run(watched, tmp_path_factory.mktemp("cell"))
    assert result.error == ""
    return result.artefacts


def packets(folder: Path, name: str) -> Packets:
    return parse((folder / f"{name}.pcap").read_bytes()).packets


def test_the_set_up_is_as_planned_and_part_of_the_base_rtt(cell: Cell, folder: Path) -> None:
    measured: Measurement = load(cell, folder)
    assert validity.judge(measured) == ("valid", ())
    # Two hosts, 1 ms each on average, standard deviation 0.58 ms each, ten pings.
    pings = measured.flows[0].pings
    assert pings is not None
    assert float(pings.rtts_s.mean()) == pytest.approx(0.022, abs=1.2e-3)


def test_tc_reads_back_what_the_plan_says(cell: Cell, folder: Path) -> None:
    before, after = (
        json.loads((folder / f"qdisc-{when}.json").read_text()) for when in ("before", "after")
    )
    assert len(lower(cell)) == 2
    for (node, upper), (planned,) in lower(cell).items():
        (netem,) = [q for q in before[node] if q["dev"] == lower_name(upper)]
        assert netem["options"]["delay"]["delay"] == pytest.approx(1e-3)
        assert netem["options"]["delay"]["jitter"] == pytest.approx(1e-3)
        assert netem["options"]["seed"] == planned.seed
        assert netem["options"]["limit"] == TRANSMITTER_PACKETS
        assert "rate" in netem["options"], "which keeps the order"
        (netem,) = [q for q in after[node] if q["dev"] == lower_name(upper)]
        assert (netem["drops"], netem["requeues"]) == (0, 0)
        assert netem["packets"] > 500
        (shaper,) = [q for q in after[node] if q["dev"] == upper and q.get("root")]
        assert shaper["kind"] == "htb", "a packet waits for its link first"
    assert json.loads((folder / "system.json").read_text())["processing"] == {"bound_ns": BOUND_NS}


def test_packets_take_a_uniform_time_and_keep_their_order(cell: Cell, folder: Path) -> None:
    above, below = packets(folder, ABOVE), packets(folder, "entry.left.left-eth1.left-eth0")
    count = min(len(above.time_ns), len(below.time_ns))
    assert len(above.time_ns) - count < 50, "what was under way at the end"
    for column in ("ip_bytes", "source_port", "sequence"):
        assert (getattr(above, column)[:count] == getattr(below, column)[:count]).all()
    begin_ns = int(above.time_ns[0])
    sent_s, arrived_s = (
        (p.time_ns[:count] - begin_ns).astype(np.float64) * 1e-9 for p in (above, below)
    )
    took = arrived_s - sent_s
    assert took.min() >= 0 and took.max() < 2.1e-3
    (planned,) = lower(cell)["server", "server-eth0"]
    found = random_delays.compare(planned, sent_s, arrived_s)
    assert found.packets > 1000
    assert found.plausible(1e-6), found
    alone = np.diff(sent_s, prepend=-1.0) > BOUND_NS * 1e-9
    assert alone.sum() > 200
    error_s = BOUND_NS * 1e-9 / 12**0.5 / float(np.sqrt(alone.sum()))
    assert float(took[alone].mean()) == pytest.approx(1e-3, abs=4 * error_s)


def test_gaps_of_a_constant_rate_source_vary(cell: Cell, folder: Path) -> None:
    above = packets(folder, ABOVE)
    udp = above.protocol == 17
    gaps_s = np.diff(above.time_ns[udp]) * 1e-9
    nominal_s = 1500 * 8 / 1e6
    # The server's link is shared with TCP: a packet waits for some frames of 1514 bytes at 100
    # Mbit/s.
    assert 0.5 * nominal_s - 1.5e-3 < gaps_s.min() and gaps_s.max() < 1.5 * nominal_s + 1.5e-3
    assert float(gaps_s.std()) == pytest.approx(nominal_s / 12**0.5, rel=0.12)
    error_s = nominal_s / 12**0.5 / float(np.sqrt(len(gaps_s)))
    assert float(gaps_s.mean()) == pytest.approx(nominal_s, abs=4 * error_s)

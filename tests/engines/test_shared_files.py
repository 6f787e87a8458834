"""What users bring and ask for, end to end in one cell: a logged recording halved, a distribution
from zero, loads by the clock, delays of datagrams, the end of slow start.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from computed import by_name
from specs import only_cell_of

from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import load

SPEC = """fexp 1
experiment shared {
  topology {
    node server, client
    router left, right
    link server -- left { rate = 100Mbit/s  delay = 2ms }
    link left -> right { rate = trace("log.csv", missing: hold) / 2  delay = 10ms  queue = fifo(100ms) }
    link right -> left { rate = 10Mbit/s  delay = 10ms }
    link right -- client { rate = 100Mbit/s  delay = 3ms }
  }
  flow call { over = udp  rate = 100kbit/s  workload = bulk(packet: 200B)  start = 0s }
  flow site { cca = cubic  start = 0s  workload = load(page(20kB), client: plain, http: h1, loads: 3, every: 1s) }
  flow fill { cca = reno  start = 2500ms  workload = bulk }
  flow d { cca = cubic  start = 0s  stop = 2s  workload = requests(size: empirical("sizes.csv"), every: 100ms) }
  duration = 5s
  measure  = [one_way_delay, startup.time(every: 10ms)]
}
"""


def test_what_users_bring_and_ask_for(engine: Engine, tmp_path: Path) -> None:
    rows = "12:00:00,16\n12:00:02,-\n12:00:04,16\n"
    (tmp_path / "log.csv").write_text(f"time,rate_mbps\n{rows}")
    (tmp_path / "sizes.csv").write_text("size [B], cdf [%]\n0, 0\n2000, 50\n9000, 100\n")
    cell = only_cell_of(SPEC, str(tmp_path / "file.fexp"))
    result = engine.run(cell, tmp_path)
    assert result.error == ""
    measurement = load(cell, result.artefacts)
    flows = {flow.name: flow for flow in measurement.flows}

    begins = [page.begin_s for page in flows["site"].endpoints.loads]
    assert [b - a for a, b in pairwise(begins)] == pytest.approx([1, 1], abs=0.001)

    delay = by_name(measurement, "one_way_delay", "call")
    # 214 B over 100, 8 and 100 Mbit/s, and 15 ms; then behind a full queue of 100 ms at 8 Mbit/s.
    alone_s = 0.015 + 214 * 8 * (2 / 100e6 + 1 / 8e6)
    least, largest = delay["one_way_delay.min"], delay["one_way_delay.max"]
    assert least is not None and largest is not None
    assert alone_s <= least < alone_s + 50e-6, "processing of 10 us for each packet and host"
    assert alone_s + 0.09 < largest < alone_s + 0.105
    arrived = flows["call"].endpoints.reports["received"][0]["packets"]
    transits = flows["call"].endpoints.transits
    assert transits is not None and len(transits.transit_s) == arrived

    ends = by_name(measurement, "startup", "fill")
    # Reno leaves slow start with the first loss, above the 20 packets of the path and the 66 queued.
    assert ends["startup.by_loss"] == 1
    cwnd, time_s = ends["startup.cwnd"], ends["startup.time"]
    assert cwnd is not None and 86 <= cwnd <= 180
    assert time_s is not None and 0.1 < time_s < 1.5

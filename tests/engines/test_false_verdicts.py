"""Cells of the real kernel whose captures leave open what a queue did, and in which it did nothing wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from specs import only_cell_of

from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.pcap import RST
from fairc.runtime.validity.buffers import buffer
from fairc.runtime.validity.captures import captures
from fairc.runtime.validity.order import queue_order

ADSL = """fexp 1
topology adsl() {
  node server, client
  router isp, modem
  link server -- isp { rate = 100Mbit/s  delay = 10ms }
  link isp -> modem { rate = 8Mbit/s  delay = 10ms  queue = fifo(64pkt) }
  link modem -> isp { rate = 1Mbit/s  delay = 10ms  queue = fifo(64pkt) }
  link modem -- client { rate = 100Mbit/s }
}
experiment adsl {
  topology = adsl()
  flow down { from = server  to = client  cca = cubic  workload = bulk }
  flow up   { from = client  to = server  cca = cubic  workload = bulk }
  duration = 20s
  measure = [goodput, queue_delay]
}
"""

SENDERS = 24
INCAST = f"""fexp 1
topology incast() {{
  node {", ".join(f"s{n}" for n in range(SENDERS))}, client
  router switch
  link {", ".join(f"s{n} -- switch" for n in range(SENDERS))} {{ rate = 1Gbit/s  delay = 100us }}
  link switch -> client {{ rate = 100Mbit/s  delay = 100us  queue = fifo(64pkt) }}
  link client -> switch {{ rate = 100Mbit/s  delay = 100us }}
}}
experiment incast {{
  topology = incast()
  hosts {{ processing = off }}
{"".join(f"  flow f{n} {{ from = s{n}  to = client  cca = reno  start = 1s  workload = file(200kB) }}{chr(10)}" for n in range(SENDERS))}
  measure = [goodput, fct]
}}
"""


def measured(text: str, folder: Path) -> Measurement:
    cell = only_cell_of(text, "module.fexp")
    engine = UmlEngine()
    engine.prepare()
    result = engine.run(cell, folder)
    engine.close()
    assert result.error == ""
    return load(cell, result.artefacts)


def reasons(measurement: Measurement) -> list[str]:
    checks = (buffer, queue_order, captures)
    return [finding.reason for check in checks for finding in check(measurement)]


def test_resets_that_a_full_queue_drops(tmp_path: Path) -> None:
    """A download's client ends by a reset beside an upload: the kernel answers late segments by equal resets."""
    measurement = measured(ADSL, tmp_path)
    assert reasons(measurement) == []
    (queue,) = (q for q in measurement.queues if q.place[0] == "modem")
    resets = queue.entered.flags & RST > 0
    assert (queue.through.lost & resets).sum() > 5
    assert (~queue.through.lost & resets).sum() > 5
    assert queue.through.certain.all()
    # Which ones were dropped: those that came while 64 waited, so never more than that wait.
    assert queue.largest_backlog()[0] == 64


def test_packets_that_come_from_many_interfaces_at_once(tmp_path: Path) -> None:
    measurement = measured(INCAST, tmp_path)
    assert reasons(measurement) == []
    (queue,) = measurement.queues
    _, together = np.unique(queue.entered.time_ns, return_counts=True)
    assert together.max() >= SENDERS
    assert queue.through.lost.sum() > 100
    assert queue.largest_backlog()[0] == 64


@pytest.mark.parametrize("limit", [60, 68])
def test_another_limit_is_found_in_such_cells(tmp_path: Path, limit: int) -> None:
    """The same cell, judged by the limit that its queue did not have."""
    measurement = measured(ADSL, tmp_path)
    (queue,) = (q for q in measurement.queues if q.place[0] == "modem")
    assert queue.interface.queue is not None
    planned = queue.interface.queue.model_copy(update={"limit_packets": limit})
    object.__setattr__(queue, "interface", queue.interface.model_copy(update={"queue": planned}))
    (reason,) = reasons(measurement)
    assert ("more than its limit of 60" if limit == 60 else "that had room") in reason

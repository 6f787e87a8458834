"""Roles that stay in the kernel: the same packets at the same times as roles that every segment
wakes up.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from specs import only_cell_of

from fairc.compiler import Cell
from fairc.runtime.engines import guest_job
from fairc.runtime.engines.base import Engine

SPEC = """fexp 1
experiment roles {{
  topology = bottleneck(rate: {rate}, rtt: 50ms, queue: fifo(2bdp), loss: {loss})
  hosts {{ receive_buffer = 1MB }}  # while a larger window still grows, what reads it acknowledges
  flow one {{ cca = {cca}  workload = bulk }}
  flow two {{ cca = {cca}  workload = file(600kB) }}
  duration = 5s
  measure = [goodput]
}}
"""
WAKING = 'import os; os.environ["FAIRC_WAKE_PER_SEGMENT"] = "1"\n'


def left_by(engine: Engine, cell: Cell, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    result = engine.run(cell, folder)
    assert result.error == "", result.console
    names = [*result.artefacts.glob("*.pcap"), result.artefacts / "one.client.ndjson"]
    return {path.name: path.read_bytes() for path in names}


@pytest.mark.parametrize(
    ("cca", "rate", "loss"),
    [
        ("reno", "10Mbit/s", "0.1%"),
        ("cubic", "10Mbit/s", "0.1%"),
        ("bbr", "10Mbit/s", "0.1%"),
        ("cubic", "100Mbit/s", "0.01%"),
    ],
)
def test_receivers_in_the_kernel_leave_the_wire_as_it_was(
    engine: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cca: str,
    rate: str,
    loss: str,
) -> None:
    cell = only_cell_of(SPEC.format(cca=cca, rate=rate, loss=loss))
    staying = left_by(engine, cell, tmp_path / "staying")
    monkeypatch.setattr(guest_job, "PROGRAM", f"{WAKING}\n{guest_job.PROGRAM}")
    woken = left_by(engine, cell, tmp_path / "woken")
    # The variable has reached the client: its attempt to take what is not there costs 1 us at its
    # stop.
    assert staying.pop("one.client.ndjson") != woken.pop("one.client.ndjson")
    assert len(staying) == 3
    # Some thousand packets each, and not all of the delivered ones are those that entered.
    assert all(len(packets) > 100_000 for packets in staying.values())
    assert len(set(map(len, staying.values()))) > 1
    assert {name: staying[name] == woken[name] for name in woken} == dict.fromkeys(staying, True)

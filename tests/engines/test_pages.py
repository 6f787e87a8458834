"""Page loads over 4G without a browser, in the virtual machine: h2 and h3, valid, twice the
same.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kept_cells import run_alone

from fairc.compiler import Cell
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.loads import PageLoad
from fairc.runtime.validity import judge

SPEC = """fexp 1
experiment pages {
  topology = 4g
  flow web {
    cca = bbr  start = 0s
    workload = load(page(html: 20kB, objects: 4 of 30kB, depth: 2), client: plain, http: h3, loads: 3, idle: 500ms)
  }
  measure = [goodput]
}
"""


def connect_s(load: PageLoad) -> float:
    assert load.connect_start_s is not None and load.connect_end_s is not None
    return load.connect_end_s - load.connect_start_s


def test_loads_are_complete_and_over_what_was_asked_for(measured: Measurement) -> None:
    loads = measured.flows[0].endpoints.loads
    assert [(load.protocol, load.status, load.error) for load in loads] == [
        ("h2", 200, ""),
        ("h3", 200, ""),
        ("h3", 200, ""),
    ]
    assert all(sum(r.bytes for r in load.resources) == 140_000 for load in loads)


def test_it_is_valid(measured: Measurement) -> None:
    assert judge(measured) == ("valid", ())


def test_quic_connects_a_round_trip_earlier(measured: Measurement) -> None:
    """TCP and TLS take a round trip each, QUIC has both in one: 160 ms and 80 ms, and some
    bytes.
    """
    first, *others = measured.flows[0].endpoints.loads
    assert connect_s(first) == pytest.approx(0.165, abs=0.01)
    assert [connect_s(load) for load in others] == pytest.approx([0.085, 0.085], abs=0.01)


def test_what_a_script_names_comes_after_it(measured: Measurement) -> None:
    for load in measured.flows[0].endpoints.loads:
        begun = {r.path: r.start_s for r in load.resources}
        ended = {r.path: r.response_end_s for r in load.resources}
        assert begun["/2.png"] >= (ended["/1.js"] or 0) > (ended["/"] or 0) > 0


def test_it_runs_twice_the_same(cell: Cell, folder: Path, tmp_path: Path) -> None:
    again = run_alone(UmlEngine(), cell, tmp_path)
    for name in ("web.client.ndjson", "web.server.ndjson"):
        assert (again.artefacts / name).read_bytes() == (folder / name).read_bytes()
    ended = [
        json.loads((f / "cell.json").read_text())["ended_ns"] for f in (folder, again.artefacts)
    ]
    assert ended[0] == ended[1]

"""Page loads: metrics, tables, archives and verdicts, by cases worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from madeweb import (
    PAGE,
    PER_LOAD,
    analysed,
    load_event,
    two_loads,
    values,
    web_cell,
)
from storedcells import of

from fairc.mechanisms.workloads.load.cell import LoadWorkload
from fairc.runtime.measurement import load
from fairc.runtime.measurement.artefacts import ArtefactError
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.measurement.slow_start import slow_start_s
from fairc.runtime.metrics.cpu import busy_share
from fairc.runtime.repetitions.summaries import summarise
from fairc.runtime.store import tables
from fairc.runtime.store.columns import Stored


def test_the_times_of_a_load_count_from_connect_start(tmp_path: Path) -> None:
    made = two_loads()
    made.loads[0].update(fcp_ns=155_000_000, lcp_ns=305_000_000)
    found = values(analysed(made, tmp_path))
    assert found[("plt", 1)] == pytest.approx(0.295)
    assert found[("ttr", 1)] == pytest.approx(0.045)
    assert found[("connect", 1)] == pytest.approx(0.015)
    assert (found[("fcp", 1)], found[("lcp", 1)]) == pytest.approx((0.150, 0.300))
    assert found[("plt", 2)] == pytest.approx(0.295)
    assert found[("fcp", 2)] is None  # nothing was painted
    # TCP: 100 + 3 x 1400 bytes of the stream, one segment twice; QUIC: (1000 + 1172) + 2 x 28 of
    # IP.
    assert (found[("sequence", 1)], found[("sequence", 2)]) == (4300, 2228)
    assert found[("cpu", 1)] == pytest.approx(0.1)  # as the monitor of made-up cells says


def test_a_connection_without_a_start_began_with_the_fetch(tmp_path: Path) -> None:
    """Chromium left it out of two of some hundred loads over a satellite, and told the end."""
    made = two_loads()
    told = values(analysed(made, tmp_path / "told"))
    page = made.loads[1]["resources"][0]
    early_s = (made.loads[1]["connect_start_ns"] - page["start_ns"]) / 1e9
    made.loads[1].update(connect_start_ns=None, secure_start_ns=None)
    page["connect_start_ns"] = None
    found = values(analysed(made, tmp_path / "untold"))
    assert found[("plt", 2)] == pytest.approx(told[("plt", 2)] + early_s)
    made.loads[1].update(connect_end_ns=None)
    with pytest.raises(ArtefactError, match="did not fail, and has no connect_start_s"):
        analysed(made, tmp_path / "neither")


def test_what_a_connection_received_over_time(tmp_path: Path) -> None:
    made = two_loads()
    (flow,) = load(made.cell, made.write(tmp_path)).flows
    over_tcp, over_quic = (flow.received_in(one) for one in flow.endpoints.loads)
    (curve,) = over_tcp
    np.testing.assert_allclose(curve.t_s, [0.025, 0.050, 0.055, 0.060, 0.085])
    assert curve.bytes.tolist() == [100, 1500, 2900, 2900, 4300]
    (curve,) = over_quic
    assert (curve.transport, curve.bytes.tolist()) == ("quic", [1028, 2228])


def test_without_the_capture_at_the_client_there_is_no_sequence(tmp_path: Path) -> None:
    analysis = analysed(two_loads(captured=False), tmp_path)
    reasons = {value.reason for value in analysis.metrics if value.metric == "sequence"}
    assert reasons == {"no packet of the load was captured at the client"}


def test_the_browsers_own_time_stands_beside_the_loads(tmp_path: Path) -> None:
    made = two_loads()
    own = load_event(1, "h3", 4000, event="own-time")
    del own["load"]
    made.client = [own]
    analysis = analysed(made, tmp_path)
    assert {value.load for value in analysis.metrics} == {1, 2}
    rows = analysis.series["loads"]
    assert rows["load"] == [0, 1, 2]
    assert rows["plt_s"][0] == pytest.approx(0.295)
    assert rows["slow_start_s"][0] is None


def test_a_failed_load_has_its_reason_and_no_value(tmp_path: Path) -> None:
    made = two_loads()
    failed = load_event(
        2,
        "h3",
        1300,
        error="ERR_QUIC_HANDSHAKE_FAILED",
        protocol=None,
        status=None,
        connect_start_ns=None,
        response_start_ns=None,
        load_event_end_ns=None,
        resources=[],
    )
    made.loads = [made.loads[0], failed]
    analysis = analysed(made, tmp_path)
    second = {value.metric: value for value in analysis.metrics if value.load == 2}
    assert set(second) == set(PER_LOAD)
    assert all(value.value is None for value in second.values())
    assert second["plt"].reason == "the load failed: ERR_QUIC_HANDSHAKE_FAILED"
    # An outcome: the cell is as valid as before.
    assert not [reason for reason in analysis.reasons if "load" in reason]
    assert analysis.series["loads"]["error"] == ["", "ERR_QUIC_HANDSHAKE_FAILED"]
    assert analysis.flows[0].completed is False


def test_slow_start_in_theory() -> None:
    """25 Mbit/s x 750 ms are 2.34 MB, 48 windows of 32 frames: log2(48.4) x 750 ms = 4.2 s."""
    cell = web_cell(rate_bps=25_000_000, delay_ns=375_000_000)
    assert slow_start_s(cell, cell.flows[0], "h2") == pytest.approx(4.197, abs=0.001)
    split = web_cell(rate_bps=25_000_000, delay_ns=375_000_000, split=True)
    assert slow_start_s(split, split.flows[0], "h2") is None
    assert slow_start_s(split, split.flows[0], "h3") == pytest.approx(4.197, abs=0.001)
    small = web_cell(rate_bps=1_000_000, delay_ns=25_000_000)  # a BDP of 6.25 kB, a window of 48 kB
    assert slow_start_s(small, small.flows[0], "h3") == 0


def test_cpu_apportions_slots_that_reach_over_a_border(tmp_path: Path) -> None:
    made = two_loads()
    folder = made.write(tmp_path)
    slots = [(100, 10), (200, 50), (300, 100), (400, 0)]  # ms, busy ms of 100
    lines = [{"t_ns": t * 10**6, "busy_ns": b * 10**6, "total_ns": 10**8} for t, b in slots]
    (folder / "monitor.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    busy = load(made.cell, folder).busy
    # Half of the first slot, all of the second and third: (5 + 50 + 100) / 250.
    assert busy_share(busy, 0.05, 0.3) == pytest.approx(0.62)
    assert busy_share(busy, 0.0, 0.4) == pytest.approx(0.4)
    assert busy_share(busy, 7.0, 8.0) is None


def test_tables_of_loads_and_objects(tmp_path: Path) -> None:
    made = two_loads()
    analysis = analysed(made, tmp_path / "cell")
    result = CellResult(
        cell=made.cell.id,
        key="k",
        status="ok",
        verdict="valid",
        virtual_s=1.0,
        wall_s=1.0,
        engine="fake",
        image="none",
        flows=analysis.flows,
        metrics=analysis.metrics,
        conditions=analysis.conditions,
        series=tables.write_series(tmp_path / "cell", analysis.series),
    )
    stored = Stored(made.cell, result, tmp_path / "cell")
    tables.write(tmp_path, (), [stored])
    with tables.connect(tmp_path) as connection:
        loads = connection.execute(
            "SELECT load, wanted, protocol, status, error, client, plt_s, fcp_s, objects,"
            " bytes, split"
            " FROM loads ORDER BY load"
        ).fetchall()
        objects = connection.execute(
            "SELECT load, object, path, bytes, connect_end_s IS NULL FROM resources ORDER BY ALL"
        ).fetchall()
        last = connection.execute(
            "SELECT load, transport, max(bytes) FROM sequences GROUP BY ALL ORDER BY load"
        ).fetchall()
        numbered = connection.execute(
            "SELECT DISTINCT typeof(load), load, protocol FROM metrics WHERE metric = 'plt'"
            " ORDER BY load"
        ).fetchall()
    plt = pytest.approx(0.295)
    assert loads == [
        (1, "h2", "h2", 200, "", "plain", plt, None, 2, 9000, False),
        (2, "h3", "h3", 200, "", "plain", plt, None, 2, 9000, False),
    ]
    assert objects == [
        (n, i, one.path, one.bytes, i == 1) for n in (1, 2) for i, one in enumerate(PAGE)
    ]
    assert last == [(1, "tcp", 4300.0), (2, "quic", 2228.0)]
    assert numbered == [("INTEGER", 1, "h2"), ("INTEGER", 2, "h3")]
    # Loads of one cell are never in one group.
    rows = summarise(of(tmp_path, ()), "plt", by=())
    assert [(row["by"], row["n"]) for row in rows] == [({"load": "1"}, 1), ({"load": "2"}, 1)]
    # Without `by`, what tells the first load over HTTP/3 from the later ones is shown.
    rows = summarise(of(tmp_path, ()), "plt")
    assert [(row["by"]["load"], row["by"]["protocol"]) for row in rows] == [
        ("1", "h2"),
        ("2", "h3"),
    ]
    rows = summarise(
        of(tmp_path, ()), "plt", by=("protocol",), where=lambda n: n["protocol"] == "h3"
    )
    assert [row["by"] for row in rows] == [{"protocol": "h3", "load": "2"}]


# What HAR 1.2 says must be there (sections 3.1 to 3.16); optional fields are left out here.
REQUIRED: dict[str, dict[str, Any]] = {
    "log": {"version": str, "creator": dict, "entries": list},
    "creator": {"name": str, "version": str},
    "browser": {"name": str, "version": str},
    "pages": {"startedDateTime": str, "id": str, "title": str, "pageTimings": dict},
    "entries": {
        "startedDateTime": str,
        "time": (int, float),
        "request": dict,
        "response": dict,
        "cache": dict,
        "timings": dict,
    },
    "request": {
        "method": str,
        "url": str,
        "httpVersion": str,
        "cookies": list,
        "headers": list,
        "queryString": list,
        "headersSize": int,
        "bodySize": int,
    },
    "response": {
        "status": int,
        "statusText": str,
        "httpVersion": str,
        "cookies": list,
        "headers": list,
        "content": dict,
        "redirectURL": str,
        "headersSize": int,
        "bodySize": int,
    },
    "content": {"size": int, "mimeType": str},
    "timings": {"send": (int, float), "wait": (int, float), "receive": (int, float)},
}


def check_har(name: str, document: dict[str, Any]) -> None:
    """Assert that a part of an archive has what it must have, and so on for its parts."""
    for key, kind in REQUIRED[name].items():
        assert isinstance(document.get(key), kind), f"{name}.{key}"
    for key, value in document.items():
        for part in value if isinstance(value, list) else [value]:
            if key in REQUIRED and isinstance(part, dict):
                check_har(key, part)


def test_archives_are_har(tmp_path: Path) -> None:
    files = analysed(two_loads(), tmp_path).files
    assert sorted(files) == ["a.load-1.har", "a.load-2.har"]
    document = json.loads(files["a.load-1.har"])
    check_har("log", document["log"])
    log = document["log"]
    assert log["version"] == "1.2"
    (page,) = log["pages"]
    assert page["pageTimings"] == {"onContentLoad": -1, "onLoad": 300.0}
    first, second = log["entries"]
    assert {entry["pageref"] for entry in log["entries"]} == {page["id"]}
    assert first["request"]["url"] == "https://web.fairc:5001/"
    assert first["timings"] == {
        "blocked": 5.0,
        "dns": -1,
        "connect": 15.0,
        "send": 0.0,
        "wait": 30.0,
        "receive": 100.0,
    }
    assert second["timings"]["connect"] == -1
    for entry in log["entries"]:
        assert entry["time"] == sum(t for t in entry["timings"].values() if t >= 0)
    # 1,600,000,000 s after 1970, and the second load began 1.3 s later.
    assert page["startedDateTime"] == "2020-09-13T12:26:40.000000+00:00"
    later = json.loads(files["a.load-2.har"])["log"]
    assert later["pages"][0]["startedDateTime"] == "2020-09-13T12:26:41.300000+00:00"
    assert later["entries"][0]["request"]["httpVersion"] == "HTTP/3.0"


def test_the_archive_of_a_failed_load_tells_why(tmp_path: Path) -> None:
    made = two_loads()
    made.loads = [made.loads[0], load_event(2, "h3", 1300, error="timed out", resources=[])]
    log = json.loads(analysed(made, tmp_path).files["a.load-2.har"])["log"]
    check_har("log", log)
    assert (log["pages"][0]["comment"], log["entries"]) == ("timed out", [])


def test_the_page_is_what_the_plan_says() -> None:
    workload = web_cell().flows[0].workload
    assert isinstance(workload, LoadWorkload)
    assert workload.page == PAGE

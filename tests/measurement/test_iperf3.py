"""Flows of iperf3: what its JSON and the captures come to, on a recorded cell."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from left_behind import flow_of
from specs import compilation_of

from fairc.compiler.plan import MetricRequest, Requests, parse_cell
from fairc.mechanisms.workloads.iperf3.record import read
from fairc.mechanisms.workloads.registry import WORKLOADS
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.engines import host
from fairc.runtime.formatting import quantity
from fairc.runtime.measurement import ArtefactError, Measurement, load
from fairc.runtime.measurement.artefacts import Artefacts
from fairc.runtime.validity import judge
from fairc_fake.engine import FakeEngine

RECORDED = Path(__file__).parent / "recorded" / "iperf3"
NEWER = RECORDED / "3.18"
CELL = parse_cell((RECORDED / "plan-cell.json").read_bytes())


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A copy of the artefacts, with the empty files that are not kept."""
    folder = tmp_path / "artefacts"
    shutil.copytree(RECORDED / "artefacts", folder)
    for flow in CELL.flows:
        for side in ("server", "client"):
            for kind in ("err", "ndjson"):
                (folder / f"{flow.name}.{side}.{kind}").touch()
    return folder


@pytest.fixture
def measured(raw: Path) -> Measurement:
    return load(CELL, raw)


def document(name: str, folder: Path = RECORDED / "artefacts") -> Any:
    return json.loads((folder / f"{name}.json").read_text())


def test_the_recorded_cell_is_valid(measured: Measurement) -> None:
    assert judge(measured) == ("valid", ())


def test_bytes_are_those_that_the_receiver_counted(measured: Measurement) -> None:
    for name in ("down", "udp"):
        wanted = document(f"{name}.client")["end"]["sum_received"]["bytes"]
        assert flow_of(measured, name).endpoints.progress.total == wanted > 0


def test_a_server_whose_client_was_stopped_tells_its_last_interval_once(
    measured: Measurement,
) -> None:
    intervals = document("up.server")["intervals"]
    assert intervals[-1] == intervals[-2]  # as it prints it
    told = sum(i["streams"][0]["bytes"] for i in intervals[:-1])
    assert flow_of(measured, "up").endpoints.progress.total == told
    # What came after that interval is in its sum alone, without a time.
    assert 0 <= document("up.server")["end"]["sum_received"]["bytes"] - told < 5 * 1448


def test_a_test_ends_by_itself_or_is_stopped(measured: Measurement) -> None:
    ends = {flow.name: flow.endpoints.end_s for flow in measured.flows}
    assert {flow.name: flow.endpoints.completed for flow in measured.flows} == {
        "down": True,
        "up": False,
        "udp": True,
    }
    assert ends["down"] == pytest.approx(1.09, abs=0.01)  # two round trips and a second
    assert ends["udp"] == pytest.approx(6.02, abs=0.001)  # a second and half a round trip
    assert ends["up"] is not None and ends["up"] <= 4.0
    assert all(not flow.endpoints.errors for flow in measured.flows)


def test_samples_are_what_the_sender_reported(measured: Measurement) -> None:
    samples = flow_of(measured, "down").endpoints.samples
    told = [stream for i in document("down.server")["intervals"] for stream in i["streams"]]
    assert len(samples.t_s) == len(told) == 22
    assert sorted(samples.rtt_s) == pytest.approx(sorted(s["rtt"] * 1e-6 for s in told))
    assert sorted(samples.cwnd_packets) == sorted(s["snd_cwnd"] / 1448 for s in told)
    again = sum(samples.retransmits[samples.connection == n][-1] for n in (0, 1))
    assert again == sum(s["retransmits"] for s in told) > 0
    assert np.isnan(samples.min_rtt_s).all()
    assert not len(flow_of(measured, "udp").endpoints.samples.t_s)


def test_its_clock_is_that_of_the_captures(measured: Measurement) -> None:
    """At the end of each interval the client has counted what had been delivered by then."""
    flow = flow_of(measured, "udp")
    came_s = flow.queue.seconds(flow.queue.delivered)[flow.queue.delivered.payload_bytes == 1472]
    ((times, counted),) = flow.endpoints.progress.reports
    assert len(times) == 11
    assert counted[-1] == 34 * 1472
    for at_s, size in zip(times[1:], counted[1:], strict=True):
        assert abs(size / 1472 - (came_s <= at_s).sum()) <= 1


def test_its_clock_begins_when_the_server_says_so(measured: Measurement) -> None:
    """TEST_START is the third byte of the control connection, after those that ask for parameters
    and streams; each of them has a packet of its own.
    """
    flow = flow_of(measured, "udp")
    packets = flow.queue.delivered
    said = (packets.source_port == flow.plan.port) & (packets.protocol == 6)
    begun_s = flow.queue.seconds(packets)[said & (packets.payload_bytes == 1)][2]
    ((times, _),) = flow.endpoints.progress.reports
    told = [i["streams"][0]["end"] for i in document("udp.client")["intervals"]]
    assert times[1:] == pytest.approx([begun_s + end for end in told], abs=5e-6)


def test_a_stream_begins_with_its_first_data(measured: Measurement) -> None:
    down, up = flow_of(measured, "down"), flow_of(measured, "up")
    rtt_s = 0.04
    for flow, rounds in ((down, 2.0), (up, 2.5)):
        first = flow.endpoints.first_byte_s
        assert first is not None
        assert 0 < first - flow.start_s - rounds * rtt_s < 0.04  # packets wait for each other
        assert -0.001 < flow.start_s - flow.plan.start_ns * 1e-9 < 0.01


def test_datagrams_have_the_jitter_that_the_client_told(measured: Measurement) -> None:
    (received,) = flow_of(measured, "udp").endpoints.reports["received"]
    told = document("udp.client")["end"]["streams"][0]["udp"]
    assert received["jitter_us"] == pytest.approx(told["jitter_ms"] * 1e3)
    assert (received["packets"], received["lost"], received["reordered"]) == (34, 0, 0)


def test_lost_datagrams_are_counted(raw: Path) -> None:
    made = document("udp.client")
    made["intervals"][3]["streams"][0]["lost_packets"] = 2
    made["intervals"][5]["streams"][0]["lost_packets"] = 1
    (raw / "udp.client.json").write_text(json.dumps(made))
    values = {v.metric: v for v in metrics(raw, "datagrams")}
    assert values["datagrams.lost"].value == 3 / 34
    assert values["datagrams.duplicates"].value is None
    assert values["datagrams.duplicates"].reason == "iperf3 does not count them"


def metrics(raw: Path, name: str) -> tuple[Any, ...]:
    return analyse(CELL, raw, Requests(measure=(MetricRequest(name=name),))).metrics


def test_what_iperf3_does_not_tell_has_a_reason(raw: Path) -> None:
    reasons = {(v.flow, v.metric): v.reason for v in metrics(raw, "srtt") if v.value is None}
    assert reasons["down", "srtt.min"] == "its sender does not report it"
    assert ("down", "srtt.mean") not in reasons


@pytest.mark.parametrize(("kind", "flow"), [("tcp", "down"), ("udp", "udp")])
def test_the_json_of_3_18_is_read_as_well(raw: Path, kind: str, flow: str) -> None:
    for side in ("client", "server"):
        shutil.copy(NEWER / f"{kind}.{side}.json", raw / f"{flow}.{side}.json")
    told = flow_of(load(CELL, raw), flow).endpoints
    newer = document(f"{kind}.client", NEWER)
    assert newer["start"]["version"] == "iperf 3.18"
    # Its threads go on for a moment after the last interval.
    assert told.progress.total == pytest.approx(newer["end"]["sum_received"]["bytes"], rel=1e-3)
    assert told.completed
    if kind == "tcp":
        assert told.ccas == {"reno"}
        assert len(told.samples.t_s) == 22
        assert np.isfinite(told.samples.rtt_s).all() and np.isfinite(told.samples.retransmits).all()
    else:
        (received,) = told.reports["received"]
        assert received["packets"] == newer["end"]["sum_received"]["packets"]
        assert received["jitter_us"] == pytest.approx(newer["end"]["sum"]["jitter_ms"] * 1e3)


def test_one_that_never_reported_makes_the_cell_invalid(raw: Path) -> None:
    (raw / "down.client.json").write_text("")
    (raw / "down.client.err").write_text("iperf3: error - Connection timed out\n")
    measurement = load(CELL, raw)
    flow = flow_of(measurement, "down")
    assert not flow.endpoints.completed and flow.endpoints.progress.total == 0
    verdict, reasons = judge(measurement)
    assert verdict == "invalid"
    assert (
        "iperf3, client of flow down: it printed nothing: iperf3: error - Connection timed out"
    ) in reasons
    assert "the client of flow down did not report how 2 of 2 connections ended" in str(reasons)


def test_one_that_hung_until_it_was_stopped_is_told(raw: Path) -> None:
    made = document("down.client")
    made["error"] = "interrupt - the client has terminated"
    (raw / "down.client.json").write_text(json.dumps(made))
    measurement = load(CELL, raw)
    verdict, (reason,) = judge(measurement)
    assert verdict == "flagged"
    assert reason.startswith("iperf3 of flow down did not finish: it was stopped")
    assert not flow_of(measurement, "down").endpoints.completed


def test_one_that_was_killed_is_told(raw: Path) -> None:
    said = "it did not end within 1 s of SIGTERM, and was killed"
    remark = {"t_ns": 16 * 10**9, "event": "remark", "message": said}
    (raw / "down.server.ndjson").write_text(json.dumps(remark) + "\n")
    expected = ("flagged", (f"iperf3, server of flow down: {said}",))
    assert judge(load(CELL, raw)) == expected


def test_a_test_that_failed_is_told(raw: Path) -> None:
    made = json.dumps(document("down.client"))
    late = "iperf3: error - unable to send control message: Broken pipe"
    (raw / "down.client.json").write_text(f"{made}\n{late}\n")
    verdict, reasons = judge(load(CELL, raw))
    assert (verdict, reasons) == ("invalid", (f"iperf3, client of flow down: {late}",))


def test_another_cca_is_found_out(raw: Path) -> None:
    made = document("down.server")
    made["end"]["sender_tcp_congestion"] = "reno"
    (raw / "down.server.json").write_text(json.dumps(made))
    assert "flow down used cubic, reno, not cubic" in str(judge(load(CELL, raw)))


def test_a_late_program_is_found_out(raw: Path) -> None:
    first = replace(CELL.flows[0], starts_ns=(-20_000_000, -20_000_000))
    made = replace(CELL, flows=(first, *CELL.flows[1:]))
    found = [r for r in judge(load(made, raw))[1] if " started " in r]
    assert len(found) == 1 and found[0].startswith("flow down started 2")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"start": {}, "intervals": 1, "end": {}}',
        '{"start": 1, "intervals": [], "end": 1}',
    ],
)
def test_what_iperf3_did_not_print_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.client.json").write_text(text)
    with pytest.raises(ArtefactError, match=r"a\.client\.json is not what iperf3 prints"):
        read(Artefacts(tmp_path), "a.client")


def test_a_report_without_numbers_is_refused(raw: Path) -> None:
    made = document("udp.client")
    made["intervals"][0]["streams"][0]["bytes"] = "many"
    (raw / "udp.client.json").write_text(json.dumps(made))
    with pytest.raises(ArtefactError, match="'bytes' that is not a number"):
        load(CELL, raw)


def test_the_fake_engine_invents_what_iperf3_prints(tmp_path: Path) -> None:
    made = FakeEngine().run(CELL, tmp_path)
    assert made.error == ""
    measurement = load(CELL, made.artefacts)
    assert [f.endpoints.completed for f in measurement.flows] == [True, False, True]
    assert all(f.endpoints.progress.total > 0 for f in measurement.flows)


def test_the_host_is_asked_for_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert host.missing_of(CELL) == ["iperf3"]
    assert host.missing_of(replace(CELL, flows=())) == []


def test_the_host_is_asked_for_a_browser_and_what_drives_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (cell,) = compilation_of(
        "fexp 1\nexperiment x {\n  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)\n"
        "  flow web { cca = cubic  workload = load(page(html: 20kB), client: chromium) }\n"
        "  measure = [plt]\n}\n"
    ).cells()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(host, "selenium", lambda: None)
    assert host.missing_of(cell) == ["chromium", "chromium-driver", "python3-selenium"]
    monkeypatch.setattr(host, "selenium", lambda: "/usr/bin/python3")
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert host.missing_of(cell) == []


def test_the_report_says_in_words_what_a_test_is() -> None:
    sentence = WORKLOADS["iperf3"].sentence
    assert sentence is not None
    for flow, words in zip(CELL.flows, ("iperf3 for 1 s", "iperf3", "iperf3 for 1 s"), strict=True):
        assert sentence(flow.workload, quantity).replace("\u202f", " ") == words

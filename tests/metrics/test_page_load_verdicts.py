"""Page loads: which cells are invalid or fail, and what makes an outcome."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from madeweb import (
    EVERYTHING,
    MadeWeb,
    analysed,
    load_event,
    two_loads,
    web_cell,
)

from fairc.compiler.plan import Requests
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.analysis.conditions import conditions
from fairc.runtime.measurement import ArtefactError, load


def test_another_protocol_than_planned_is_a_wrong_set_up(tmp_path: Path) -> None:
    made = two_loads()
    error = "h2 was used, not h3"
    made.loads = [made.loads[0], load_event(2, "h3", 1300, protocol="h2", error=error)]
    analysis = analysed(made, tmp_path)
    assert analysis.verdict == "invalid"
    assert "flow a: load 2 used h2, not h3" in str(analysis.reasons)


def test_another_client_than_planned_is_a_wrong_set_up(tmp_path: Path) -> None:
    made = two_loads(client="chromium")
    made.loads = [{**one, "client": "plain"} for one in made.loads]
    words = "flow a: pages were loaded by plain, not by chromium"
    assert words in analysed(made, tmp_path).reasons


def test_a_client_that_is_stopped_is_an_outcome_and_one_that_vanishes_is_not(
    tmp_path: Path,
) -> None:
    made = two_loads()
    made.loads = made.loads[:1]
    folder = made.write(tmp_path)
    analysis = analyse(made.cell, folder, Requests(measure=tuple(EVERYTHING)))
    assert (analysis.verdict, analysis.flows[0].end_s) == ("flagged", None)
    words = "flow a: 1 of 2 loads were reported"
    assert f"{words}: its client was stopped before the others" in str(analysis.reasons)
    file = folder / "a.client.ndjson"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))  # without `done`
    analysis = analyse(made.cell, folder, Requests(measure=tuple(EVERYTHING)))
    assert analysis.verdict == "invalid"
    assert f"{words}, and its client did not report why" in str(analysis.reasons)


def test_another_number_of_loads_than_told_fails_the_cell(tmp_path: Path) -> None:
    made = two_loads()
    made.client = [{"t_ns": 1, "event": "done", "loads": 7}]
    with pytest.raises(ArtefactError, match="7 loads have ended, 2 are there"):
        analysed(made, tmp_path)


def test_the_server_has_the_parameters_of_the_plan(tmp_path: Path) -> None:
    made = two_loads()
    quic = {"cca": "bbr", "parameters": {"gain": 2}}
    made.server = [{"t_ns": -1, "event": "listening", "cca": "bbr", "quic": quic}]
    analysis = analysed(made, tmp_path)
    (reason,) = analysis.reasons
    assert reason.startswith(
        "flow a has QUIC parameters of {'gain': 2}, not of {}: its server runs"
    )
    assert analysis.verdict == "invalid"


def test_all_loads_failed_is_flagged_and_counts(tmp_path: Path) -> None:
    made = two_loads()
    made.loads = [{**one, "error": "timed out"} for one in made.loads]
    analysis = analysed(made, tmp_path)
    assert analysis.reasons == ("flow a: every load failed; the first: timed out",)
    assert analysis.verdict == "flagged"


def test_a_plain_client_keeps_its_schedule_and_a_browser_need_not(tmp_path: Path) -> None:
    late = [load_event(1, "h2", 0), load_event(2, "h3", 1320)]
    made = two_loads()
    made.loads = late
    assert "flow a started 20.0 ms late" in str(analysed(made, tmp_path / "p").reasons)
    browser = two_loads(client="chromium")
    browser.loads = [{**one, "client": "chromium"} for one in late]
    assert analysed(browser, tmp_path / "b").verdict == "valid"


@pytest.mark.parametrize("client", ["plain", "chromium"])
def test_a_browser_keeps_the_processor_busy(client: Any, tmp_path: Path) -> None:
    made = two_loads(client=client)
    folder = made.write(tmp_path)
    lines = [{"t_ns": 10**8 * n, "busy_ns": 95 * 10**6, "total_ns": 10**8} for n in range(1, 40)]
    (folder / "monitor.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    verdict = analyse(made.cell, folder, Requests(measure=tuple(EVERYTHING))).verdict
    assert verdict == {"plain": "flagged", "chromium": "valid"}[client]


def test_what_h2_and_h3_differ_in(tmp_path: Path) -> None:
    made = two_loads(split=True)
    found = conditions(load(made.cell, made.write(tmp_path)))
    told = {(row.transport, row.condition): row.value for row in found}
    assert told[("tcp", "handshake")] == "2 round trips: of TCP, then of TLS 1.3"
    assert told[("quic", "handshake")] == "1 round trip, including TLS 1.3"
    assert told[("tcp", "split connection")].startswith("by a PEP: 3 connections")
    assert told[("quic", "split connection")] == "none: end to end"
    assert (told[("tcp", "pacing")], told[("quic", "pacing")]) == ("off", "on")
    assert told[("quic", "initial window")] == "32 packets"
    # What is not over both is not told of both.
    only = MadeWeb(web_cell(protocols=("h2",)), [load_event(1, "h2", 0)])
    over = {row.transport for row in conditions(load(only.cell, only.write(tmp_path / "only")))}
    assert over == {"tcp"}


def changed(**changes: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda lines: lines[0].update(changes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changed(load=2), "load 1 is missing, or is reported twice"),
        (changed(load="one"), "has no integer 'load'"),
        (changed(wanted="h3"), "load 1 was to use h3, not h2 as planned"),
        (changed(resources=7), "load 1 has no list 'resources'"),
        (changed(resources=[]), "load 1 did not fail, and has no resources"),
        (changed(plt=1, load_event_end_ns=None), "did not fail, and has no load_event_end_s"),
        (changed(response_start_ns=6_000_000), "response_start is before"),
        (changed(fcp_ns="soon"), "has no number 'fcp_ns'"),
        (changed(bytes=-1), "has a 'bytes' that is not a number: -1"),
        (changed(version=None), "has no text 'version'"),
        (changed(local_ports="80"), "'local_ports'"),
        (lambda lines: lines[0]["resources"][1].pop("start_ns"), "/1.png has no number 'start_ns'"),
        (lambda lines: lines.append({**lines[1], "load": 3}), "that is loaded less often"),
    ],
)
def test_broken_loads_fail_the_cell(
    change: Callable[[list[dict[str, Any]]], object], words: str, tmp_path: Path
) -> None:
    made = two_loads()
    loads = [dict(one) for one in made.loads]
    change(loads)
    made.loads = loads
    with pytest.raises(ArtefactError, match=r"a\.client\.ndjson") as caught:
        analysed(made, tmp_path)
    assert words in str(caught.value)


@pytest.mark.parametrize("side", ["client", "server"])
def test_a_file_that_is_cut_off_fails_the_cell(side: str, tmp_path: Path) -> None:
    made = two_loads()
    file = made.write(tmp_path) / f"a.{side}.ndjson"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(ArtefactError, match=rf"a\.{side}\.ndjson, line . is not JSON"):
        analyse(made.cell, tmp_path, Requests(measure=tuple(EVERYTHING)))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"event": "sample", "connection": 7}, "connection 7 was sampled, but not accepted"),
        (
            {"event": "accepted", "connection": 2, "transport": "sctp"},
            "a connection over 'sctp' was accepted",
        ),
    ],
)
def test_a_server_that_makes_no_sense_fails_the_cell(
    line: dict[str, Any], words: str, tmp_path: Path
) -> None:
    made = two_loads()
    made.server = [{"t_ns": 1, **line}]
    with pytest.raises(ArtefactError, match=words):
        analysed(made, tmp_path)

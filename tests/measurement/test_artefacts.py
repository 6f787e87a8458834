"""Missing and broken artefacts are errors in words that name the file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from madeartefacts import Made, crowded, write_lines
from madecell import MS, made_cell

from fairc.compiler.plan import MetricRequest, Requests
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.measurement import ArtefactError, load
from fairc.runtime.measurement.series import SERIES

NEEDED = [
    "cell.json",
    "ping.json",
    "monitor.ndjson",
    "qdisc-before.json",
    "qdisc-after.json",
    "a.client.ndjson",
    "b.server.ndjson",
    "entry-r1-eth0.pcap",
    "exit-r1-eth2.pcap",
    "exit-r1-eth2.ndjson",
    "delivered-h-eth1.pcap",
]


@pytest.fixture(scope="module")
def made() -> Made:
    return crowded()


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_file(made: Made, tmp_path: Path, name: str) -> None:
    made.write(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ArtefactError, match=f"{name} is missing"):
        load(made.cell, tmp_path)


@pytest.mark.parametrize("name", NEEDED)
@pytest.mark.parametrize("rubbish", [b"", b"\xff\x00{", b"[" * 100_000, b"null", b"{}", b"[[1]]"])
def test_rubbish_is_refused_or_judged_but_never_a_crash(
    made: Made, tmp_path: Path, name: str, rubbish: bytes
) -> None:
    made.write(tmp_path)
    (tmp_path / name).write_bytes(rubbish)
    try:
        verdict = analyse(
            made.cell, tmp_path, Requests(measure=(MetricRequest(name="rtt"),))
        ).verdict
    except ArtefactError as error:
        assert name in str(error)
    else:
        assert verdict != "valid"


def test_a_folder_in_place_of_a_file(made: Made, tmp_path: Path) -> None:
    made.write(tmp_path)
    (tmp_path / "ping.json").unlink()
    (tmp_path / "ping.json").mkdir()
    with pytest.raises(ArtefactError, match=r"ping\.json cannot be read"):
        load(made.cell, tmp_path)


def test_another_cells_artefacts(made: Made, tmp_path: Path) -> None:
    made.write(tmp_path)
    with pytest.raises(ArtefactError, match="is of cell 0123456789abcdef, not of ffff"):
        load(replace(made.cell, id="ffff"), tmp_path)


def test_a_script_that_failed(made: Made, tmp_path: Path) -> None:
    made.write(tmp_path)
    document = json.loads((tmp_path / "cell.json").read_text())
    document |= {"ended_by": "failed", "notes": ["r1: tc: unknown qdisc"]}
    (tmp_path / "cell.json").write_text(json.dumps(document))
    with pytest.raises(ArtefactError, match="script failed: r1: tc: unknown qdisc"):
        load(made.cell, tmp_path)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([{"event": "done"}], "line 1 is not an object with t_ns"),
        (
            [{"t_ns": 5, "event": "done", "connection": 0}],
            "a done at t_ns 5 has no integer 'bytes'",
        ),
        (
            [
                {"t_ns": 1, "event": "first-byte", "connection": 0},
                {"t_ns": 2, "event": "progress", "connection": 0, "bytes": 9},
                {"t_ns": 3, "event": "done", "connection": 0, "bytes": 8},
            ],
            "the bytes of connection 0 decrease",
        ),
        (
            [{"t_ns": 2, "event": "done", "connection": 0, "bytes": 9}],
            "connection 0 has bytes, but no first-byte",
        ),
    ],
)
def test_events_that_cannot_be(
    made: Made, tmp_path: Path, lines: list[dict[str, object]], words: str
) -> None:
    made.write(tmp_path)
    write_lines(tmp_path / "a.client.ndjson", lines)
    with pytest.raises(ArtefactError, match=words):
        load(made.cell, tmp_path)


def test_the_connections_of_a_flow_are_summed(tmp_path: Path) -> None:
    """Two connections; the flow has begun with the first data of either and ends with the last."""
    cell = made_cell(connections=2, flows=1)
    made = Made(cell, [], 1_000 * MS)
    made.write(tmp_path)
    events = [
        (100, "first-byte", 1, None),
        (200, "progress", 0, 0),
        (200, "progress", 1, 500),
        (250, "first-byte", 0, None),
        (300, "progress", 0, 100),
        (300, "progress", 1, 900),
        (350, "done", 1, 1000),
        (400, "done", 0, 1000),
    ]
    write_lines(
        tmp_path / "a.client.ndjson",
        [
            {"t_ns": t * MS, "event": e, "connection": c} | ({} if b is None else {"bytes": b})
            for t, e, c, b in events
        ],
    )
    flow = load(cell, tmp_path).flows[0]
    assert flow.endpoints.first_byte_s == pytest.approx(0.1)
    assert flow.end_s == pytest.approx(0.4)
    assert flow.endpoints.completed
    at = np.array([0.0, 0.1, 0.15, 0.2, 0.3, 0.35, 0.4, 0.9])
    expected = [0, 0, 250, 500, 1000, 1550, 2000, 2000]
    assert flow.endpoints.progress.at(at).tolist() == pytest.approx(expected)
    edges = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert flow.active(edges).tolist() == [False, True, True, True, False]


def test_a_flow_with_an_open_connection_lasts_to_the_end(tmp_path: Path) -> None:
    cell = made_cell(connections=2, flows=1)
    Made(cell, [], 1_000 * MS).write(tmp_path)
    write_lines(
        tmp_path / "a.client.ndjson",
        [
            {"t_ns": MS, "event": "first-byte", "connection": 0},
            {"t_ns": 2 * MS, "event": "done", "connection": 0, "bytes": 5},
        ],
    )
    flow = load(cell, tmp_path).flows[0]
    assert flow.endpoints.end_s is None
    assert flow.end_s == pytest.approx(1.0)
    assert flow.endpoints.unended == 1
    assert not flow.endpoints.completed


def test_series(made: Made, tmp_path: Path) -> None:
    series = analyse(made.cell, made.write(tmp_path / "raw"), Requests()).series
    assert [*series] == ["slots", "samples", "queues"]  # tables without rows are left out
    slots, queues = series["slots"], series["queues"]
    number = len(queues["t_s"])
    assert [*slots["flow"]] == ["a"] * number + ["b"] * number
    assert [*slots["slot"]] == [*range(number)] * 2
    assert {*queues["queue"]} == {"r1/r1-eth2"}
    assert np.isnan(series["samples"]["pacing_bps"]).all()
    for name, columns in series.items():
        assert [*columns] == [column.name for column in SERIES[name].columns[1:]]

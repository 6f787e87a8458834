"""Metrics of applications by hand: transfers, videos, datagrams."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from computed import results, values
from madeartefacts import Made, hand_made
from madecell import MS, PAYLOAD

from fairc.mechanisms.workloads.video.cell import VideoWorkload
from fairc.runtime.measurement import load
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.metrics.fct import percentile


def test_completion_times_of_files(tmp_path: Path) -> None:
    """Two connections of 3 frames each: done 30 ms and 60 ms after their start."""
    made = hand_made("aaaaaa", flows=1, connections=2, file_bytes=3 * PAYLOAD)
    made.packets = [
        replace(p, sent=replace(p.sent, connection=p.number // 3)) for p in made.packets
    ]
    found = values(made, tmp_path, "fct")
    assert found["fct.mean", "a"] == pytest.approx((0.02 + 0.05) / 2)
    assert found["fct.p50", "a"] == pytest.approx(0.035)
    assert found["fct.p95", "a"] is None, "two values do not tell it from the longest"
    assert (found["fct.count", "a"], found["fct.unfinished", "a"]) == (2, 0)


@pytest.mark.parametrize(
    ("transfers", "p95", "p99"), [(1, False, False), (19, False, False), (20, True, False)]
)
def test_percentiles_need_enough_transfers(
    tmp_path: Path, transfers: int, p95: bool, p99: bool
) -> None:
    made = hand_made("a" * transfers, flows=1, connections=transfers, file_bytes=PAYLOAD)
    made.packets = [replace(p, sent=replace(p.sent, connection=p.number)) for p in made.packets]
    found = {v.metric: v for v in results(load(made.cell, made.write(tmp_path)), "fct")}
    assert (found["fct.p95"].value is not None, found["fct.p99"].value is not None) == (p95, p99)
    assert found["fct.p99"].reason == f"too few transfers for a 99th percentile: {transfers}"
    if p95:  # done at 0, 10, ... 190 ms
        assert found["fct.p95"].value == pytest.approx(0.19 * 0.95)


def test_transfers_that_did_not_end_are_counted_and_shown(tmp_path: Path) -> None:
    made = hand_made("aaaaaa", flows=1, connections=2, file_bytes=3 * PAYLOAD)
    folder = made.write(tmp_path)
    file = folder / "a.client.ndjson"
    file.write_text(file.read_text().replace('"done"', '"stopped"'))
    found = {v.metric: v for v in results(load(made.cell, folder), "fct")}
    assert (found["fct.count"].value, found["fct.unfinished"].value) == (0, 2)
    assert found["fct.mean"].value is None
    assert found["fct.p99"].reason == "no transfer was completed, 2 were started"


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(0, 1.0), (25, 1.75), (50, 2.5), (60, 2.8), (75, None), (99, None), (100, None)],
)
def test_a_percentile_counts_what_never_ended_as_infinite(
    percent: int, expected: float | None
) -> None:
    """1, 2, 3 s and one for ever: ranks 0 to 3, the last of which takes part above two thirds."""
    found = percentile(np.array([1.0, 2.0, 3.0]), 1, percent)
    assert found == (None if expected is None else pytest.approx(expected))
    if found is None:
        return
    with_largest = np.percentile([1.0, 2.0, 3.0, 1e9], percent)
    assert found == pytest.approx(float(with_largest))


@pytest.mark.parametrize("of_users", [True, False])
def test_flows_are_told_together(tmp_path: Path, of_users: bool) -> None:
    """20 transfers of two users, or of two flows of an index: percentiles are over all of them."""
    made = hand_made("ab" * 10, connections=10, file_bytes=PAYLOAD)
    made.packets = [replace(p, sent=replace(p.sent, connection=p.number)) for p in made.packets]
    flows = tuple(
        replace(f, users="all") if of_users else replace(f, declared="all") for f in made.cell.flows
    )
    made.cell = replace(made.cell, flows=flows)
    folder = made.write(tmp_path)
    file = folder / "b.client.ndjson"
    lines = file.read_text().splitlines()
    ends = [n for n, line in enumerate(lines) if '"done"' in line]
    for n in ends[-6:]:
        lines[n] = lines[n].replace('"done"', '"stopped"')
    file.write_text("\n".join(lines) + "\n")
    found = {(v.metric, v.flow): v for v in results(load(made.cell, folder), "fct")}
    counts = [
        found[f"fct.{name}", of].value
        for name, of in (
            ("count", "a"),
            ("unfinished", "a"),
            ("count", "b"),
            ("unfinished", "b"),
            ("group_count", "all"),
            ("group_unfinished", "all"),
        )
    ]
    assert counts == [10, 0, 4, 6, 14, 6]
    # b alone has half of its transfers; of both together 14 of 20 ended.
    assert found["fct.p50", "b"].value is None
    assert found["fct.p50", "b"].reason == "it is infinite: 6 of 10 transfers were not completed"
    assert found["fct.group_p50", "all"].value is not None
    assert found["fct.group_p75", "all"].reason.startswith("it is infinite: 6 of 20")
    a, b = found["fct.mean", "a"].value, found["fct.mean", "b"].value
    assert a is not None and b is not None
    assert found["fct.group_mean", "all"].value == pytest.approx((10 * a + 4 * b) / 14)


def test_a_bulk_flow_has_no_completion_time(tmp_path: Path) -> None:
    measurement = load((made := hand_made("abab")).cell, made.write(tmp_path))
    assert {v.reason for v in results(measurement, "fct")} == {"no flow has transfers with an end"}
    named = results(measurement, "fct", "a")
    assert {(v.flow, v.reason) for v in named} == {("a", "the flow has no transfers with an end")}


def plays(made: Made, *moments: tuple[float, str, int]) -> Callable[[Path], None]:
    """Make flow a one of videos; return what writes its player's events: (s, event, connection)."""
    video = VideoWorkload(
        bitrate_bps=10**6,
        length_ns=60 * 10**9,
        burst_ns=0,
        chunk_bytes=65_536,
        factor=1.25,
        play_ns=2_200 * MS,
        stall_ns=400 * MS,
        send_buffer_bytes=2_000_000,
    )
    a, *others = made.cell.flows
    made.cell = replace(made.cell, flows=(replace(a, workload=video), *others))

    def write(folder: Path) -> None:
        with (folder / "a.client.ndjson").open("a") as lines:
            for t_s, event, connection in moments:
                line = {"t_ns": round(t_s * 1e9), "event": event, "connection": connection}
                lines.write(json.dumps(line) + "\n")

    return write


def of_videos(made: Made, folder: Path, write: Callable[[Path], None]) -> dict[str, MetricValue]:
    write(made.write(folder))
    measurement = load(made.cell, folder)
    names = ("qoe", "stalls", "startup")
    found = [v for name in names for v in results(measurement, name)]
    return {v.metric: v for v in found if not v.metric.startswith("startup.")}


def test_the_quality_of_a_flow_is_the_mean_of_its_videos(tmp_path: Path) -> None:
    """One video without a stall; one with a stall of 0.3 s, and one that lasts 0.2 s at the end."""
    made = hand_made("ab" * 50, connections=(2, 1))
    write = plays(
        made,
        *((0.1, "playing", 0), (0.9, "played", 0)),
        *((0.2, "playing", 1), (0.3, "stalled", 1), (0.6, "playing", 1), (0.8, "stalled", 1)),
    )
    found = of_videos(made, tmp_path, write)
    assert {v.flow for v in found.values()} == {"a"}
    second = 3.5 * np.exp(-(0.15 * 0.25 + 0.19) * 2) + 1.5
    assert found["qoe"].value == pytest.approx((5 + second) / 2)
    assert found["stalls.count"].value == 1
    assert found["stalls.time"].value == pytest.approx(0.5 / 2)
    assert found["startup"].value == pytest.approx(0.15)


def test_a_video_that_never_started_leaves_nothing_to_average(tmp_path: Path) -> None:
    made = hand_made("ab" * 50, connections=(2, 1))
    found = of_videos(made, tmp_path, plays(made, (0.1, "playing", 0)))
    assert {v.value for v in found.values()} == {None}
    assert {v.reason for v in found.values()} == {"1 of 2 videos never started"}


def test_videos_are_asked_of_flows_that_play_them(tmp_path: Path) -> None:
    made = hand_made("abab")
    measurement = load(made.cell, made.write(tmp_path))
    (named,) = results(measurement, "qoe", "b")
    assert (named.flow, named.reason) == ("b", "the flow plays no videos")


def test_datagrams_by_hand(tmp_path: Path) -> None:
    made = hand_made("ab" * 5, transports=("udp", "tcp"))
    folder = made.write(tmp_path)
    line = {
        "t_ns": 10**9,
        "event": "received",
        "connection": 0,
        "bytes": 10**6,
        "packets": 40,
        "lost": 10,
        "reordered": 6,
        "duplicates": 2,
        "overflowed": 0,
        "jitter_us": 20_000.5,
    }
    with (folder / "a.client.ndjson").open("a") as lines:
        lines.write(json.dumps(line) + "\n")
    found = {v.metric: v.value for v in results(load(made.cell, folder), "datagrams")}
    assert found == pytest.approx(
        {
            "datagrams.lost": 10 / 50,
            "datagrams.reordered": 6 / 40,
            "datagrams.duplicates": 2 / 40,
            "datagrams.jitter": 0.0200005,
        }
    )

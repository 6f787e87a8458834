"""Plans with `media`: recordings, groups, encoders, and the descriptions of both ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from specs import compilation_of, experiment_of, only_cell_of

from fairc.cell.model import Cell
from fairc.dsl import load, read
from fairc.mechanisms.workloads.media.cell import MediaWorkload

SPEC = """fexp 1
experiment e {{
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms)
  flow a {{ {over}  workload = media({media}) }}
  duration = 10s
  measure = [frame_delay]
}}
"""


def _media(cell: Cell) -> MediaWorkload:
    workload = cell.flows[0].workload
    assert isinstance(workload, MediaWorkload)
    return workload


def _with_recording(folder: Path, rows: str, over: str = "over = udp") -> Path:
    (folder / "frames.csv").write_text(rows)
    file = folder / "e.fexp"
    file.write_text(SPEC.format(over=over, media='recording: "frames.csv"'))
    return file


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        ("bytes,key\n9000,1\n3000,0\n8000,1\n", (-9000, 3000, -8000)),
        ("9000\n3000\n8000\n", (-9000, 3000, 8000)),
        ("key;size\n1;900\n0;300\n", (-900, 300)),
    ],
)
def test_a_recording_has_sizes_and_key_frames(
    tmp_path: Path, rows: str, sizes: tuple[int, ...]
) -> None:
    experiment, found = load(read(_with_recording(tmp_path, rows)))
    assert [d.message for d in found.errors] == []
    assert experiment is not None
    cell = only_cell_of(
        SPEC.format(over="over = udp", media='recording: "frames.csv"'), str(tmp_path / "e.fexp")
    )
    video = _media(cell).video
    assert video is not None and video.recorded == sizes
    assert video.rate_bps == round(8 * 30 * sum(map(abs, sizes)) / len(sizes))


@pytest.mark.parametrize("rows", [10_001, 1_000_000])
def test_a_recording_is_not_longer_than_an_argument(tmp_path: Path, rows: int) -> None:
    _, found = load(read(_with_recording(tmp_path, "3000\n" * rows)))
    (error,) = found.errors
    assert error.code == "too-many" and f"{rows:,}" in error.message
    assert error.span is not None


def test_ends_are_told_what_each_does() -> None:
    text = SPEC.format(
        over="over = quic  cca = bbr", media="audio: 80B, video: 1Mbit/s, streams: group"
    )
    cell = only_cell_of(text)
    flow, media = cell.flows[0], _media(cell)
    assert (media.carried, media.datagram_bytes) == ("group", None)
    server, client = (media.program(flow, cell, side) for side in ("server", "client"))
    assert (server["role"], client["role"]) == ("media-server", "media-client")
    assert server["description"]["sends"] and not client["description"]["sends"]
    assert server["description"]["cca"]["name"] == "bbr"
    assert server["description"]["stop_ns"] == 10**10


def test_repetitions_draw_their_own_frames() -> None:
    text = SPEC.format(over="over = udp", media="video: 1Mbit/s").replace(
        "duration", "repeat = 2\n  duration"
    )
    one, other = (_media(cell) for cell in compilation_of(text).cells())
    assert one.seed != other.seed
    assert (one.carried, one.datagram_bytes) == ("packets", 1228)


@pytest.mark.parametrize(
    ("media", "drawn"),
    [
        ("video: 1Mbit/s, sizes: model", True),
        ("video: 1Mbit/s, sizes: fixed", False),
        ("audio: 80B", False),
    ],
)
def test_only_frames_of_the_model_are_drawn(media: str, drawn: bool) -> None:
    experiment = experiment_of(SPEC.format(over="over = udp", media=media))
    (configuration,) = experiment.configurations()
    (flow,) = configuration.scenario.flows
    assert flow.workload.is_drawn is drawn

"""Media over an idle path, over a lossy one, and through a link that is too slow, in the real
kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from computed import by_name
from kept_cells import artefacts
from left_behind import flow_of
from numpy.typing import NDArray
from specs import only_cell_of

from fairc.runtime import validity
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.frames import Frames, Kind, Way

NEAR_S = 2e-6
"""Each reading of the clock takes a nanosecond, and the delay line counts whole ones."""


def _measured(engine: Engine, folder: Path, text: str) -> Measurement:
    cell = only_cell_of(text)
    measured = load(cell, artefacts(engine, cell, folder))
    assert validity.judge(measured) == ("valid", ())
    return measured


def _frames(measured: Measurement, way: Way = "down", kind: Kind = "video") -> Frames:
    return flow_of(measured, "call").endpoints.frames[way, kind]


def _values(measured: Measurement, metric: str, **options: float | str) -> dict[str, float | None]:
    return by_name(measured, metric, "call", **options)


IDLE = """fexp 1
experiment idle {{
  topology {{
    node server, client
    router r
    link server -- r {{ rate = 100Mbit/s }}
    link r -- client {{ rate = 10Mbit/s  delay = 20ms }}
  }}
  hosts {{ processing = off }}
  flow call {{
    {over}  start = 0s
    workload = media({media})
  }}
  duration = 4s
  measure  = [frame_delay]
}}
"""
# 1.2 Mbit/s at 30/s: 5000 B a frame, a key frame twice as much, the 59 others 58/59 of it.
VIDEO = "audio: 80B, video: 1.2Mbit/s, key: 2, sizes: fixed, both: on"
KEY_BYTES, OTHER_BYTES = 10_000, 4_915


def _packets(frame_bytes: int) -> list[int]:
    """Frames of Ethernet of a frame of media: 1188 B of it at most in each packet, about equally
    many, and 12 + 8 + 20 + 14 bytes of headers.
    """
    count = math.ceil(frame_bytes / 1188)
    edges = [frame_bytes * n // count for n in range(count + 1)]
    return [b - a + 54 for a, b in pairwise(edges)]


def _down_s(packets: list[int]) -> float:
    """The last bit of a burst from the server to the client: the first link is the faster one, so
    it delays by its first packet, and the second one sends all of them.
    """
    return 8 * packets[0] / 100e6 + sum(8 * size for size in packets) / 10e6 + 0.02


def _up_s(packets: list[int]) -> float:
    """The same from the client: the second link only adds the time of the last packet."""
    return sum(8 * size for size in packets) / 10e6 + 0.02 + 8 * packets[-1] / 100e6


@pytest.fixture(scope="module")
def idle(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Measurement:
    """A call over UDP that nothing delays."""
    return _measured(
        engine, tmp_path_factory.mktemp("idle"), IDLE.format(over="over = udp", media=VIDEO)
    )


@pytest.mark.parametrize(("way", "taken_s"), [("down", _down_s), ("up", _up_s)])
def test_a_frame_takes_its_transmissions_and_the_propagation(
    idle: Measurement, way: Way, taken_s: Callable[[list[int]], float]
) -> None:
    video = _frames(idle, way)
    assert set(video.bytes[video.key].tolist()) == {KEY_BYTES}
    assert set(video.bytes[~video.key].tolist()) == {OTHER_BYTES}
    audio = _frames(idle, way, "audio")
    assert set(audio.bytes.tolist()) == {80}
    # Frames of audio are captured with those of video every 100 ms, and lie ahead of them.
    shares = np.isin(np.round(video.captured_s, 6), np.round(audio.captured_s, 6))
    found = video.delay_s[~video.key & video.there & ~shares]
    assert len(found) > 70
    assert found == pytest.approx(taken_s(_packets(OTHER_BYTES)), abs=NEAR_S)
    # Both key frames are behind one of audio, of 134 B, in the order of its packets.
    packets = _packets(KEY_BYTES)
    ahead_s = taken_s([134, *packets])
    assert video.delay_s[video.key] == pytest.approx(ahead_s, abs=NEAR_S)
    quiet = audio.there.copy()
    for captured_s in video.captured_s:  # what a frame of video may delay
        quiet &= ~((audio.captured_s > captured_s - 1e-3) & (audio.captured_s < captured_s + 0.02))
    assert quiet.sum() > 30
    assert audio.delay_s[quiet] == pytest.approx(taken_s([134]), abs=NEAR_S)


def test_frames_are_captured_on_their_schedule(idle: Measurement) -> None:
    video, audio = _frames(idle), _frames(idle, kind="audio")
    assert video.captured_s == pytest.approx(np.arange(120) / 30, abs=1e-9)
    assert audio.captured_s == pytest.approx(np.arange(200) * 0.02, abs=1e-9)
    assert np.flatnonzero(video.key).tolist() == [0, 60]


def test_captures_say_the_same_as_the_ends(idle: Measurement) -> None:
    """The last packet of each frame of video leaves the bottleneck with its last bit; its
    propagation comes on top.
    """
    call = flow_of(idle, "call")
    left = call.queue.left
    bytes_, left_s = left.frame_bytes[call.left], call.queue.seconds(left)[call.left]
    video = _frames(idle)
    of_video = bytes_ != 134
    counts = [len(_packets(size)) for size in video.bytes.tolist()]
    last = np.cumsum(counts) - 1
    came = video.there
    whole_s = left_s[of_video][last[: came.sum()]] + 0.02
    # A capture sees a packet as its transmission begins.
    whole_s += 8 * bytes_[of_video][last[: came.sum()]] / 10e6
    assert video.arrived_s[came] == pytest.approx(whole_s, abs=NEAR_S)


def test_the_metrics_are_those_of_the_frames(idle: Measurement) -> None:
    video = _frames(idle)
    delay = _values(idle, "frame_delay")
    assert delay["frame_delay.mean"] == pytest.approx(video.delay_s[video.there].mean())
    assert delay["frame_delay.max"] == pytest.approx(_down_s(_packets(KEY_BYTES)), abs=2e-4)
    assert delay["frame_delay.late"] == 0
    assert _values(idle, "frame_delay", deadline=0.026)["frame_delay.late"] == pytest.approx(
        2 / 120, abs=1e-3
    )
    lost = _values(idle, "frames")
    assert (lost["frames.lost"], lost["frames.count"], lost["frames.groups"]) == (0, 120, 2)
    assert _values(idle, "freezes")["freezes.count"] == 0
    rate = _values(idle, "media_rate")["media_rate.sent"]
    assert rate == pytest.approx(8 * (2 * KEY_BYTES + 118 * OTHER_BYTES) / 4, rel=1e-9)


@pytest.mark.parametrize(
    ("over", "streams"),
    [
        ("cca = cubic", ""),
        ("over = quic  cca = cubic", ""),
        ("over = quic  cca = bbr", ", streams: group"),
        ("over = quic  cca = cubic", ", streams: datagram"),
    ],
)
def test_every_transport_carries_every_frame_of_an_idle_path(
    engine: Engine, tmp_path: Path, over: str, streams: str
) -> None:
    """Nothing is lost, and nothing waits for longer than a window and a round trip."""
    media = "audio: 80B, video: 600kbit/s, key: 2, sizes: fixed, both: on" + streams
    measured = _measured(engine, tmp_path, IDLE.format(over=over, media=media))
    ways: tuple[Way, ...] = ("down", "up")
    kinds: tuple[Kind, ...] = ("audio", "video")
    for way in ways:
        for kind in kinds:
            found = _frames(measured, way, kind)
            settled = (found.captured_s > 1) & (found.captured_s < 3.9)
            assert settled.sum() > 80
            assert found.there[settled].all()
            assert found.delay_s[settled].min() > 0.02
            assert found.delay_s[settled].max() < 0.1


LOSSY = """fexp 1
experiment lossy {
  topology = bottleneck(rate: 20Mbit/s, rtt: 20ms, loss: 2%, queue: fifo(500pkt))
  flow call { over = udp  start = 0s  workload = media(audio: 80B, video: 1.2Mbit/s, group: 1s) }
  duration = 120s
  measure  = [frames]
}
"""


@pytest.fixture(scope="module")
def lossy(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Measurement:
    """Two minutes with losses of 2 %, and frames as in RFC 8593."""
    return _measured(engine, tmp_path_factory.mktemp("lossy"), LOSSY)


def test_a_frame_is_lost_with_any_of_its_packets(lossy: Measurement) -> None:
    """1 - 0.98^n for n packets, within four standard deviations."""
    audio = _frames(lossy, kind="audio")
    old = audio.captured_s < 119
    share = 1 - audio.there[old].mean()
    assert share == pytest.approx(0.02, abs=4 * math.sqrt(0.02 * 0.98 / old.sum()))
    video = _frames(lossy)
    old = video.captured_s < 119
    packets = np.ceil(video.bytes[old] / 1188)
    expected = 1 - 0.98**packets
    deviation = math.sqrt((expected * (1 - expected)).sum()) / old.sum()
    found = _values(lossy, "frames")
    assert found["frames.lost"] == pytest.approx(expected.mean(), abs=4 * deviation)
    groups = {int(g) for g in video.group[old & ~video.there]}
    assert found["frames.groups_lost"] == pytest.approx(len(groups) / 120, abs=0.02)


def _laplace(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution function of RFC 8593, section 5.3, with the scale of its table 1."""
    below = 0.5 * np.exp(-np.abs(x) / 0.15)
    return np.where(x < 0, below, 1 - below)


def test_sizes_and_intervals_have_the_distribution_of_rfc_8593(lossy: Measurement) -> None:
    """Kolmogorov and Smirnov's distance is at most 1.95 / sqrt(n) with 99.9 %."""
    video = _frames(lossy)
    mean = 1.2e6 / 8 / 30
    expected = np.where(video.key, 5.0, 25 / 29) * mean
    sizes = video.bytes / expected - 1
    intervals = np.diff(video.captured_s) * 30 - 1
    for found in (sizes, intervals):
        ordered, count = np.sort(found), len(found)
        steps = np.arange(count + 1) / count
        places = _laplace(ordered)
        distance = max((places - steps[:-1]).max(), (steps[1:] - places).max())
        assert count > 3000
        assert distance < 1.95 / math.sqrt(count)
    assert abs(np.corrcoef(sizes[:-1], sizes[1:])[0, 1]) < 4 / math.sqrt(len(sizes))


SLOW = """fexp 1
experiment slow {
  topology = bottleneck(rate: 1Mbit/s, rtt: 40ms, queue: fifo(1bdp))
  flow call {
    over = quic  cca = cubic  start = 0s
    workload = media(audio: 80B, video: 2Mbit/s, sizes: fixed, group: 500ms, key: 2,
                     streams: group, cancel: 300ms)
  }
  duration = 20s
  measure  = [frames]
}
"""


def test_what_is_late_is_cancelled_and_the_next_group_begins_anew(
    engine: Engine, tmp_path: Path
) -> None:
    measured = _measured(engine, tmp_path, SLOW)
    video, audio = _frames(measured), _frames(measured, kind="audio")
    settled = video.captured_s < 19
    found = _values(measured, "frames")
    assert found["frames.groups_cancelled"] == pytest.approx(1, abs=0.1)
    # Nothing of the video waits for longer than that, and then takes a window and some losses.
    there = video.there
    assert 0 < there.sum() < settled.sum() / 2
    assert np.percentile(video.delay_s[there], 90) < 0.3 + 0.3
    # All of a group that is cancelled is gone from the first frame that is; each begins by itself.
    for group in np.unique(video.group[settled]):
        came = there[video.group == group]
        assert (np.diff(came.astype(int)) <= 0).all()
    # Audio goes first, and is never cancelled.
    early = audio.captured_s < 18
    assert audio.there[early].all() and not audio.cancelled.any()


def test_an_encoder_follows_what_its_transport_can_carry(engine: Engine, tmp_path: Path) -> None:
    text = SLOW.replace("video: 2Mbit/s,", "video: 2Mbit/s, lowest: 100kbit/s,")
    measured = _measured(engine, tmp_path, text)
    video = _frames(measured)
    late = (video.captured_s > 5) & (video.captured_s < 19)
    rate = 8 * video.bytes[late].sum() / 14
    assert 0.2e6 < rate < 1.1e6
    assert video.there[late].mean() > 0.6
    assert len(np.unique(video.bytes[late])) > 5


@pytest.mark.parametrize("over", ["over = quic  cca = cubic", "cca = cubic"])
def test_a_ladder_has_the_rates_of_its_steps(engine: Engine, tmp_path: Path, over: str) -> None:
    text = SLOW.replace("over = quic  cca = cubic", over)
    begin, end = text.index("media("), text.index(")", text.index("media(")) + 1
    media = """media(video: 2.4Mbit/s, ladder: [240kbit/s, 600kbit/s, 1.2Mbit/s, 2.4Mbit/s],
                     sizes: fixed, key: 1)"""
    measured = _measured(engine, tmp_path, text[:begin] + media + text[end:])
    video = _frames(measured)
    assert set(video.bytes.tolist()) <= {1_000, 2_500, 5_000, 10_000}
    changed = np.flatnonzero(np.diff(video.bytes)) + 1
    assert len(changed) > 0, "a slow start does not stay"
    assert video.key[changed].all()
    assert np.diff(video.captured_s[changed]).min(initial=1) >= 0.2 - 1e-6

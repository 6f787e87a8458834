"""What the endpoints wrote, as columns: samples over each transport, videos, requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from madeartefacts import QUIC_SAMPLE, TCP_SAMPLE, crowded, hand_made
from madecell import MS, PAYLOAD

from fairc.runtime.measurement import ArtefactError, load
from fairc.runtime.measurement.applications import Video, requests, videos
from fairc.runtime.measurement.samples import STATES, Samples, read
from fairc.runtime.measurement.transits import RECORD

FILE = "a.client.ndjson"
S = 10**9


def sampled(transport: str, *samples: dict[str, Any]) -> Samples:
    events = [{"t_ns": n * MS, "connection": 0, **sample} for n, sample in enumerate(samples)]
    return read(events, transport, "a.server.ndjson")


def test_packets_in_flight_are_those_that_the_kernel_counts() -> None:
    """packets_out - (sacked_out + lost_out) + retrans_out (include/net/tcp.h)."""
    found = sampled("tcp", TCP_SAMPLE, {**TCP_SAMPLE, "retrans_out": 0, "sacked": 0, "lost": 0})
    assert found.in_flight_packets.tolist() == [9 - 3 - 2 + 1, 9]
    assert found.cwnd_packets.tolist() == [10, 10]
    assert found.packet_bytes.tolist() == [1448, 1448]


def test_samples_of_before_sacked_was_written_do_not_tell_what_is_in_flight() -> None:
    old = {k: v for k, v in TCP_SAMPLE.items() if k not in ("sacked", "retrans_out")}
    found = sampled("tcp", old)
    assert np.isnan(found.in_flight_packets[0])
    assert found.rtt_s.tolist() == [0.08]


def test_windows_of_quic_are_in_its_packets() -> None:
    found = sampled("quic", QUIC_SAMPLE, {**QUIC_SAMPLE, "mtu": 1200, "flow_limited_us": None})
    assert found.cwnd_packets.tolist() == [10, 14_520 / 1200]
    assert found.in_flight_packets.tolist() == [5, 7_260 / 1200]
    assert found.rwnd_limited_s[0] == 0
    assert np.isnan(found.rwnd_limited_s[1])
    assert np.isnan(found.sndbuf_limited_s).all()
    assert np.isnan(found.pacing_bps).all()


def test_the_model_of_a_cca_is_read_where_there_is_one() -> None:
    model = {"state": "probe_rtt", "cycle": 3, "max_bw_bps": 10**7, "path_min_rtt_us": 40_000}
    bound = {"inflight_longterm_bytes": 50_000, "alpha_ppm": 250_000}
    found = sampled(
        "quic", QUIC_SAMPLE, {**QUIC_SAMPLE, **model}, {**QUIC_SAMPLE, **model, **bound}
    )
    assert np.isnan(found.model_state[0])
    assert [STATES[int(state)] for state in found.model_state[1:]] == ["probe_rtt", "probe_rtt"]
    assert found.probe_cycle[1:].tolist() == [3, 3]
    assert found.max_bw_bps[1] == 10**7
    assert found.model_min_rtt_s[1] == pytest.approx(0.04)
    assert np.isnan(found.longterm_bytes[1])
    assert found.longterm_bytes[2] == 50_000
    assert np.isnan(found.alpha[1])
    assert found.alpha[2] == pytest.approx(0.25)
    with pytest.raises(ArtefactError, match="unknown state 'asleep'"):
        sampled("quic", {**QUIC_SAMPLE, "state": "asleep"})


def test_bbr_of_a_kernel_says_its_model_over_tcp() -> None:
    model = {"state": "probe_bw_up", "max_bw_bps": 10**7, "path_min_rtt_us": 40_000}
    found = sampled("tcp", {**TCP_SAMPLE, **model, "inflight_shortterm_bytes": 9_000}, TCP_SAMPLE)
    assert STATES[int(found.model_state[0])] == "probe_bw_up"
    assert (found.max_bw_bps[0], found.shortterm_bytes[0]) == (10**7, 9_000)
    assert found.model_min_rtt_s[0] == pytest.approx(0.04)
    assert np.isnan(found.longterm_bytes).all()
    assert np.isnan(found.model_state[1])
    assert np.isnan(sampled("tcp", TCP_SAMPLE).model_state).all()


@pytest.mark.parametrize(("transport", "sample"), [("tcp", TCP_SAMPLE), ("quic", QUIC_SAMPLE)])
def test_a_field_that_is_needed_is_missed(transport: str, sample: dict[str, Any]) -> None:
    for key in ("rtt_us", "mss" if transport == "tcp" else "mtu"):
        with pytest.raises(ArtefactError, match=f"no integer '{key}'"):
            sampled(transport, {k: v for k, v in sample.items() if k != key})
        with pytest.raises(ArtefactError, match=f"no integer '{key}'"):
            sampled(transport, {**sample, key: None})


def test_a_cell_of_every_transport_is_read(tmp_path: Path) -> None:
    made = crowded(transports=("quic", "udp"))
    a, b = load(made.cell, made.write(tmp_path)).flows
    assert set(a.endpoints.samples.cwnd_packets.tolist()) == {10}
    assert len(b.endpoints.samples.t_s) == 0
    assert a.endpoints.ccas == {"cubic"}
    assert not b.endpoints.ccas


@pytest.mark.parametrize(
    ("sent", "arrived_ms", "end_s"),
    [(4, (20, 40), 0.04), (3, (20, 40), 0.09), (4, (), 0.09)],
    ids=["all sent", "stopped", "nothing came"],
)
def test_a_file_over_udp_ends_with_the_last_datagram_that_comes(
    tmp_path: Path, sent: int, arrived_ms: tuple[int, ...], end_s: float
) -> None:
    """Its client waits for what is lost: 3 s, or until it is stopped."""
    made = hand_made("aaaaaaaaaa", flows=1, transports=("udp",), file_bytes=4 * PAYLOAD)
    folder = made.write(tmp_path)
    rows = np.array([(ms * MS, 5 * MS) for ms in arrived_ms], RECORD)
    (folder / "a.client.transits").write_bytes(rows.tobytes())
    logged = {"event": "logged", "file": "a.client.transits", "records": len(rows)}
    written = {
        "a.client.ndjson": [
            {"t_ns": 20 * MS, "event": "first-byte", "connection": 0},
            {"t_ns": 90 * MS, "event": "stopped", "connection": 0, "bytes": 2 * PAYLOAD},
            {"t_ns": 90 * MS, **logged},
        ],
        "a.server.ndjson": [
            {"t_ns": 40 * MS, "event": "sent", "connection": 0, "bytes": sent * PAYLOAD}
        ],
    }
    for name, events in written.items():
        (folder / name).write_text("".join(f"{json.dumps(event)}\n" for event in events))
    (flow,) = load(made.cell, folder).flows
    assert flow.end_s == pytest.approx(end_s)
    assert not flow.endpoints.completed


def moments(*named: tuple[float, str], connection: int = 0) -> list[dict[str, Any]]:
    return [{"t_ns": round(t * S), "event": event, "connection": connection} for t, event in named]


def watched(*named: tuple[float, str], until_s: float = 100.0) -> Video:
    (video,) = videos(moments(*named), {0: 1.0}, until_s, FILE)
    return video


def test_a_video_without_a_stall() -> None:
    video = watched((1.5, "playing"), (31.5, "played"))
    assert (video.startup_s, video.stalls_s, video.ended) == (0.5, (), True)
    assert video.qoe == 5.0


def test_stalls_and_the_quality_that_they_leave() -> None:
    """N = 2 stalls of 3 s and 1 s, L = 2 s: 3.5 exp(-(0.3 + 0.19) 2) + 1.5."""
    video = watched(
        (2, "playing"), (10, "stalled"), (13, "playing"), (20, "stalled"), (21, "playing")
    )
    assert video.stalls_s == ((10, 13), (20, 21))
    assert video.stalled_s == 4
    assert video.qoe == pytest.approx(3.5 * np.exp(-(0.15 * 2 + 0.19) * 2) + 1.5)
    assert not video.ended


def test_a_stall_at_the_end_counts_until_then() -> None:
    video = watched((2, "playing"), (10, "stalled"), until_s=14.5)
    assert video.stalls_s == ((10, 14.5),)
    assert video.stalled_s == 4.5


def test_what_is_after_the_end_is_not_counted() -> None:
    video = watched((2, "playing"), (10, "stalled"), (12, "playing"), until_s=11.0)
    assert video.stalls_s == ((10, 11),)
    assert watched((12, "playing"), until_s=11.0).started_s is None


def test_a_video_that_never_started_has_no_quality() -> None:
    video = watched()
    assert (video.startup_s, video.qoe, video.stalls_s) == (None, None, ())


@pytest.mark.parametrize(
    "wrong",
    [
        [(1, "stalled")],
        [(1, "played")],
        [(1, "playing"), (2, "playing")],
        [(1, "playing"), (2, "stalled"), (3, "played")],
        [(1, "playing"), (2, "played"), (3, "playing")],
    ],
)
def test_an_order_that_no_player_has_is_refused(wrong: list[tuple[float, str]]) -> None:
    with pytest.raises(ArtefactError, match=f"{FILE}: connection 0 is '{wrong[-1][1]}'"):
        watched(*wrong)


def test_videos_of_several_connections_are_told_apart() -> None:
    events = moments((3, "playing"), (9, "stalled")) + moments((2, "playing"), connection=1)
    first, second, third = videos(events, {0: 0.0, 1: 1.0, 2: 0.0}, 10.0, FILE)
    assert (first.startup_s, first.stalled_s) == (3, 1)
    assert (second.startup_s, second.stalled_s) == (1, 0)
    assert third.started_s is None
    with pytest.raises(ArtefactError, match="was never opened"):
        videos(moments((1, "playing"), connection=7), {0: 0.0}, 10.0, FILE)


def fetched(number: int, opened_s: float, done_s: float, size: int = 1000) -> dict[str, Any]:
    return {
        "t_ns": round(done_s * S),
        "connection": 0,
        "request": number,
        "bytes": size,
        "opened_ns": round(opened_s * S),
    }


def test_requests_are_in_order_of_their_start() -> None:
    begun = {"t_ns": 9 * S, "connection": 0, "request": 2, "opened_ns": S // 2, "bytes": 7}
    asked = {"t_ns": 9 * S, "connection": 0, "requests": 3, "late_us": 1500}
    found = requests([fetched(1, 0.5, 0.75), fetched(0, 0.25, 2.0, 5)], [begun], [asked], FILE)
    assert found.number.tolist() == [0, 1, 2]
    assert found.start_s.tolist() == [0.25, 0.5, 0.5]
    np.testing.assert_equal(found.duration_s, [1.75, 0.25, np.nan])
    assert found.bytes.tolist() == [5, 1000, 7]
    assert found.late_s.tolist() == [0.0015]
    assert found.transfers.duration_s.tolist() == [1.75, 0.25]
    assert found.transfers.unfinished_s.tolist() == [0.5]


def no_end(event: dict[str, Any]) -> None:
    event["t_ns"] = 0


def no_size(event: dict[str, Any]) -> None:
    del event["bytes"]


@pytest.mark.parametrize(
    ("change", "words"), [(no_end, "before it was begun"), (no_size, "no integer 'bytes'")]
)
def test_broken_requests(change: Callable[[dict[str, Any]], None], words: str) -> None:
    event = fetched(0, 0.5, 1.0)
    change(event)
    with pytest.raises(ArtefactError, match=words):
        requests([event], [], [], FILE)

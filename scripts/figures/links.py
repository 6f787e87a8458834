"""One figure for each word of links: what goes in, what comes out, against its model.

A figure reads the packets of the flow of its own name in `links.fexp`, and the numbers that its
model takes are those of the link there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from fairc.mechanisms.devices.policer.record import buckets_of
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.queues import QueueRecord

Floats = NDArray[np.floating]

END_S = 12.0
MODEL = {"color": "#d1495b", "linewidth": 1.4, "label": "model"}
SEEN = {"color": "#30638e", "linestyle": "none", "marker": ".", "markersize": 3}
SENT = {"color": "#9aa5b1", "linewidth": 1.4, "label": "in"}
MOST_POINTS = 200  # of a figure: more are no clearer, and larger


@dataclass(frozen=True)
class Figure:
    """The effect of a word on packets.

    word: a key of links or of hosts, or another word. caption: of its image. draw: draws it. cell:
    the experiment that it shows.
    """

    word: str
    caption: str
    draw: Callable[[Measurement, Axes], None]
    cell: str = "links"


def queue_of(measured: Measurement, name: str) -> QueueRecord:
    """Return the bottleneck of a flow."""
    return next(flow.queue for flow in measured.flows if flow.name == name)


def behind(queue: QueueRecord) -> tuple[Floats, Floats]:
    """Return when packets had been sent and how long they then took, s; of those that arrived."""
    found = queue.behind.found >= 0
    arrived_s = queue.seconds(queue.delivered)[queue.behind.found[found]]
    return queue.sent_s[found], arrived_s - queue.sent_s[found]


def few(*columns: NDArray[Any]) -> list[NDArray[Any]]:
    """Return every nth row, MOST_POINTS at most."""
    step = math.ceil(len(columns[0]) / MOST_POINTS)
    return [column[::step] for column in columns]


def per_bin(times_s: Floats, weights: Floats, length_s: float) -> tuple[Floats, Floats]:
    """Return the middles of bins (s) and the sum of the weights in each, divided by its length."""
    edges = np.arange(0, END_S + length_s / 2, length_s)
    sums, _ = np.histogram(times_s, edges, weights=weights)
    return (edges[:-1] + edges[1:]) / 2, sums / length_s


def over_time(axes: Axes, what: str) -> None:
    """Name the axes of a figure over time."""
    axes.set(xlabel="time (s)", ylabel=what, xlim=(0, END_S))


def rate(measured: Measurement, axes: Axes) -> None:
    queue = queue_of(measured, "rate")
    t_s, in_bps = per_bin(queue.seconds(queue.entered), 8.0 * queue.entered.frame_bytes, 0.2)
    _, out_bps = per_bin(queue.left_s, 8.0 * queue.left.frame_bytes, 0.2)
    axes.plot(t_s, in_bps / 1e6, **SENT)
    axes.plot([0, 3, 9, END_S], [4, 4, 1, 1], **MODEL)
    axes.plot(t_s, out_bps / 1e6, **SEEN, label="out")
    axes.set_ylim(0)
    over_time(axes, "Mbit/s of frames")


def delay(measured: Measurement, axes: Axes) -> None:
    sent_s, took_s = few(*behind(queue_of(measured, "delay")))
    model_s = np.linspace(0, END_S, 1201)
    declared = 10 + 60 * np.clip((model_s - 3) / 3, 0, 1)
    declared[(model_s >= 7) & ((model_s - 7) % 3 < 1)] = 100
    axes.plot(model_s, declared, **MODEL)
    axes.plot(sent_s, took_s * 1e3, **SEEN, label="packets")
    axes.set_ylim(0)
    over_time(axes, "delay (ms)")


def down(measured: Measurement, axes: Axes) -> None:
    queue = queue_of(measured, "down")
    found = queue.behind.found >= 0
    ones = np.ones(len(queue.left))
    t_s, sent = per_bin(queue.sent_s, ones, 0.1)
    _, arrived = per_bin(queue.sent_s[found], ones[found], 0.1)
    axes.plot(t_s, sent, **SENT)
    up = np.where((t_s >= 2) & ((t_s - 2) % 4 < 0.5), 0.0, 100.0)
    axes.plot(t_s, up, drawstyle="steps-mid", **MODEL)
    axes.plot(t_s, arrived, **SEEN, label="out")
    axes.set_ylim(0, 140)
    over_time(axes, "packets/s, by when sent")


def jitter(measured: Measurement, axes: Axes) -> None:
    _, took_s = behind(queue_of(measured, "jitter"))
    took_ms = np.sort(took_s) * 1e3
    share = (np.arange(len(took_ms)) + 0.5) / len(took_ms)
    model_ms = np.linspace(24, 56, 200)
    normal = [0.5 * (1 + math.erf((ms - 40) / (4 * math.sqrt(2)))) for ms in model_ms]
    axes.plot(model_ms, normal, **MODEL)
    axes.plot(*few(took_ms, share), **SEEN, label="packets")
    axes.set(xlabel="delay (ms)", ylabel="share of packets below")


def loss(measured: Measurement, axes: Axes) -> None:
    lost = queue_of(measured, "loss").behind.lost.astype(int)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], lost, [0]))))
    lengths = edges[1::2] - edges[::2]
    longest = np.arange(1, 16)
    axes.semilogy(longest, 0.75 ** (longest - 1.0), **MODEL)
    seen = np.array([(lengths >= length).mean() for length in longest])
    axes.semilogy(longest[seen > 0], seen[seen > 0], **{**SEEN, "markersize": 6}, label="losses")
    axes.set(xlabel="packets lost in a row, at least", ylabel="share of bursts")


def reorder(measured: Measurement, axes: Axes) -> None:
    sent_s, took_s = behind(queue_of(measured, "reorder"))
    early = took_s < 0.010
    axes.axhline(20, **MODEL)
    axes.axhline(0, **{**MODEL, "label": None})
    axes.plot(*few(sent_s, took_s * 1e3), **SEEN, label="packets")
    axes.set_ylim(-2, 30)
    axes.set_title(f"{early.mean():.1%} overtake; declared 5%", fontsize=9)
    over_time(axes, "delay (ms)")


def duplicate(measured: Measurement, axes: Axes) -> None:
    queue = queue_of(measured, "duplicate")
    copies_s = np.sort(queue.seconds(queue.delivered.select(queue.behind.strangers)))
    sent = np.searchsorted(queue.sent_s, copies_s)
    total = np.linspace(0, len(queue.left), 100)
    deviation = np.sqrt(total * 0.05 * 0.95)
    axes.fill_between(
        total, 0.05 * total - 2 * deviation, 0.05 * total + 2 * deviation, color="#f3d2d6"
    )
    axes.plot(total, 0.05 * total, **MODEL)
    axes.plot(sent, np.arange(1, len(sent) + 1), **SEEN, label="copies")
    axes.set(xlabel="packets sent", ylabel="copies", ylim=(0, None))


def corrupt(measured: Measurement, axes: Axes) -> None:
    queue = queue_of(measured, "corrupt")
    sent = np.flatnonzero(queue.behind.lost) + 1
    total = np.linspace(0, len(queue.left), 100)
    deviation = np.sqrt(total * 0.05 * 0.95)
    axes.fill_between(
        total, 0.05 * total - 2 * deviation, 0.05 * total + 2 * deviation, color="#f3d2d6"
    )
    axes.plot(total, 0.05 * total, **MODEL)
    axes.plot(sent, np.arange(1, len(sent) + 1), **SEEN, label="broken")
    axes.set(xlabel="packets sent", ylabel="broken packets", ylim=(0, None))


def nat(measured: Measurement, axes: Axes) -> None:
    queue = queue_of(measured, "nat")
    for name, label, colour in (("nat", "QUIC", "#30638e"), ("kernel", "TCP", "#edae49")):
        flow = next(flow for flow in measured.flows if flow.name == name)
        ours = queue.delivered.source_port == flow.plan.port
        t_s = queue.seconds(queue.delivered)[ours]
        total = np.cumsum(queue.delivered.frame_bytes[ours]) / 1e6
        axes.plot(*few(t_s, total), **{**SEEN, "color": colour}, label=label)
    for number, at_s in enumerate((4, 8)):
        axes.axvline(at_s, **MODEL if number == 0 else {**MODEL, "label": None})
    axes.set_ylim(0)
    over_time(axes, "MB behind the link")


def packets(measured: Measurement, axes: Axes) -> None:
    queue = queue_of(measured, "packets")
    number = np.arange(1, len(queue.left) + 1)
    for which, line in enumerate((3, 4, 7, 12, 13, 14, 20, 28, 29, 37)):
        axes.axvline(line, **MODEL if which == 0 else {**MODEL, "label": None})
    came = queue.behind.found >= 0
    axes.plot(number, queue.left_s, linestyle="none", marker="x", color="#9aa5b1", label="in")
    axes.plot(number[came], queue.left_s[came], **{**SEEN, "markersize": 7}, label="out")
    axes.set(xlabel="number of the packet", ylabel="time (s)", xlim=(0, 42), ylim=(0, 9))


def sojourns(measured: Measurement, axes: Axes) -> None:
    queue = queue_of(measured, "sojourns")
    lost = queue.behind.lost.astype(int)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], lost, [0]))))
    begin, end = edges[::2], np.minimum(edges[1::2], len(lost) - 1)
    lasted_ms = np.sort(queue.left_s[end] - queue.left_s[begin]) * 1e3
    above = 1 - (np.arange(len(lasted_ms)) + 0.5) / len(lasted_ms)
    model_ms = np.linspace(0, 80, 100)
    axes.semilogy(model_ms, np.exp(-model_ms / 16), **MODEL)
    axes.semilogy(lasted_ms, above, **{**SEEN, "markersize": 5}, label="bursts")
    axes.set(xlabel="time of losses (ms)", ylabel="share of bursts above", xlim=(0, 80))


def shaper(measured: Measurement, axes: Axes) -> None:
    queue = queue_of(measured, "shaper")
    near = (queue.left_s > 3.9) & (queue.left_s < 5.5)
    came = (queue.arrival_s > 3.9) & (queue.arrival_s < 5.5)
    first_s = queue.arrival_s[came].min()
    total = np.cumsum(queue.left.frame_bytes[came]) / 1e3
    axes.step((queue.arrival_s[came] - first_s) * 1e3, total, **SENT, where="post")
    t_ms = np.linspace(0, 1000, 200)
    most = np.minimum(60 + 2e6 * t_ms / 8e6, total[-1])
    axes.plot(t_ms, most, **MODEL)
    out = np.cumsum(queue.left.frame_bytes[near]) / 1e3
    axes.plot(*few((queue.left_s[near] - first_s) * 1e3, out), **SEEN, label="out")
    axes.set(xlabel="time (ms after the first)", ylabel="kB of frames", xlim=(-20, 1000))


def queue(measured: Measurement, axes: Axes) -> None:
    step = queue_of(measured, "queue")
    tos = step.left.tos & 3
    capable = (tos != 0) & np.isfinite(step.arrival_s)
    # Without the packet itself, which is not there any more if it left at once.
    waiting = np.maximum(step.backlog_packets(step.arrival_s[capable]) - 1, 0)
    marked = tos[capable] == 3
    lengths = np.unique(waiting)
    shares = [marked[waiting == length].mean() for length in lengths]
    axes.step([0, 8, 8, lengths.max()], [0, 0, 1, 1], **MODEL)
    axes.plot(lengths, shares, **{**SEEN, "markersize": 6}, label="packets")
    axes.set(xlabel="packets that wait ahead of it", ylabel="share marked")


def policer(measured: Measurement, axes: Axes) -> None:
    (bucket,) = buckets_of(measured)
    arrival_s, sizes = bucket.arrival_s, bucket.packets.frame_bytes
    exits = queue_of(measured, "policer")
    axes.plot(arrival_s, np.cumsum(sizes) / 1e3, **SENT)
    axes.plot(arrival_s, np.cumsum(np.where(bucket.dropped, 0, sizes)) / 1e3, **MODEL)
    entered = np.cumsum(exits.entered.frame_bytes) / 1e3
    axes.plot(*few(exits.seconds(exits.entered), entered), **SEEN, label="out")
    over_time(axes, "kB of frames")


def _ecn(measured: Measurement, axes: Axes, name: str) -> None:
    record = queue_of(measured, name)
    before, after = record.left.tos & 3, record.delivered.tos & 3
    bottom = np.zeros(2)
    for values, label, color in (
        ((0,), "not ECN-capable", "#9aa5b1"),
        ((1, 2), "ECN-capable", "#30638e"),
        ((3,), "marked (CE)", "#edae49"),
    ):
        shares = np.array([np.isin(side, values).mean() for side in (before, after)])
        axes.barh(["in", "out"], 100 * shares, left=100 * bottom, color=color, label=label)
        bottom += shares
    axes.invert_yaxis()
    axes.set(xlabel="packets (%)", xlim=(0, 100))


def dscp(measured: Measurement, axes: Axes) -> None:
    record = queue_of(measured, "dscp")
    bottom = np.zeros(2)
    for value, label, color in (
        (46, "EF", "#edae49"),
        (34, "AF41", "#30638e"),
        (0, "CS0", "#9aa5b1"),
    ):
        shares = np.array(
            [(side.tos >> 2 == value).mean() for side in (record.left, record.delivered)]
        )
        axes.barh(["in", "out"], 100 * shares, left=100 * bottom, color=color, label=label)
        bottom += shares
    axes.invert_yaxis()
    axes.set(xlabel="packets (%)", xlim=(0, 100))


def bleach(measured: Measurement, axes: Axes) -> None:
    _ecn(measured, axes, "bleach")


def mark(measured: Measurement, axes: Axes) -> None:
    _ecn(measured, axes, "mark")


def transmit(measured: Measurement, axes: Axes) -> None:
    for number, (name, colour) in enumerate((("frames", "#30638e"), ("bucket", "#edae49"))):
        record = queue_of(measured, name)
        found = record.behind.found >= 0
        arrived_s = record.seconds(record.delivered)[record.behind.found[found]]
        took_ms = (arrived_s - record.arrival_s[found]) * 1e3
        frame_ms = 8 * 1014 / 1e6 * 1e3
        axes.axhline(10 + (frame_ms if name == "frames" else 0), **{**MODEL, "label": None})
        if number == 0:
            axes.plot([], [], **MODEL)
        axes.plot(*few(record.sent_s[found], took_ms), **{**SEEN, "color": colour}, label=name)
    axes.set_ylim(0, 28)
    over_time(axes, "from queue to arrival (ms)")


def mtu(measured: Measurement, axes: Axes) -> None:
    record = queue_of(measured, "mtu")
    sizes = np.sort(record.left.frame_bytes - 14)
    axes.axvline(800, **MODEL)
    counts, edges = np.histogram(sizes, np.arange(1, 1002, 20))
    axes.bar(edges[:-1], 100 * counts / len(sizes), width=18, align="edge", color="#30638e")
    axes.plot([], [], color="#30638e", linewidth=4, label="packets")
    axes.set(xlabel="IP bytes", ylabel="packets (%)", xlim=(0, 1000))


def framing(measured: Measurement, axes: Axes) -> None:
    record = queue_of(measured, "framing")
    there = record.behind.found >= 0
    begin_s = record.begin_s[there]
    took_s = record.seconds(record.delivered)[record.behind.found[there]] - begin_s - 0.005
    sizes = np.arange(60, 501)
    axes.step(sizes, -(-(sizes + 10) // 48) * 53, where="mid", **MODEL)
    chosen = np.linspace(0, len(took_s) - 1, MOST_POINTS).astype(int)
    lengths = record.left.ip_bytes[there][chosen]
    axes.plot(lengths, took_s[chosen] * 1e6 / 8, label="packets", **SEEN)
    axes.set(xlabel="IP bytes", ylabel="time x rate (bytes)", xlim=(60, 500))


def tunnel(measured: Measurement, axes: Axes) -> None:
    record = queue_of(measured, "tunnel")
    data = record.left.payload_bytes > 0
    wire = record.left.frame_bytes[data] - 14
    inside = record.left.payload_bytes[data] + 52  # IP, and TCP with its timestamps
    for number, (sizes, size, label, color) in enumerate(
        (
            (inside, 1440, "packets inside", "#edae49"),
            (wire, 1500, "packets that carry them", "#30638e"),
        )
    ):
        counts, edges = np.histogram(sizes, np.arange(1, 1602, 20))
        share = 100 * counts / len(sizes)
        axes.bar(edges[:-1] + 10 * number, share, width=9, align="edge", color=color)
        axes.plot([], [], color=color, linewidth=4, label=label)
        axes.axvline(size, **MODEL if number == 0 else {**MODEL, "label": None})
    axes.set(xlabel="IP bytes", ylabel="packets (%)", xlim=(1000, 1600))


def release(measured: Measurement, axes: Axes) -> None:
    record = queue_of(measured, "release")
    came = np.arange(1, len(record.left) + 1)
    left_s = record.seconds(record.left)
    assert record.aggregates is not None
    near = (left_s > 1.95) & (left_s < 2.2)
    first = int(came[near][0])
    axes.step(record.arrival_s[near] * 1e3 - 2000, came[near] - first, **SENT, where="post")
    ends_ms = record.aggregates.end_ns[near] / 1e6 - 2000
    axes.step(ends_ms, came[near] - first, **MODEL, where="post")
    axes.plot(left_s[near] * 1e3 - 2000, came[near] - first, **SEEN, label="out")
    axes.set(xlabel="time (ms after 2 s)", ylabel="packets")


def repair(measured: Measurement, axes: Axes) -> None:
    record = queue_of(measured, "repair")
    _, took_s = behind(record)
    again = np.round((took_s - 0.010) / 0.008).astype(int)
    counts = np.append(np.bincount(again, minlength=4), record.behind.lost.sum())
    model = np.append(0.3 ** np.arange(4) * 0.7, 0.3**4)
    places = np.arange(5)
    axes.bar(places, counts / counts.sum(), color="#30638e", label="packets")
    axes.plot(places, model, **{**MODEL, "linestyle": "none", "marker": "o"})
    axes.set_yscale("log")
    axes.set_xticks(places, ["10 ms", "18 ms", "26 ms", "34 ms", "lost"])
    axes.set(xlabel="delay", ylabel="share of packets")


def acks(measured: Measurement, axes: Axes) -> None:
    flow = next(flow for flow in measured.flows if flow.name == "acks")
    places = measured.paths.back(flow.plan)
    record = next(each for each in measured.queues if each.place in places)
    assert record.kept_out is not None
    came_s = np.sort(
        np.concatenate((record.seconds(record.entered), record.seconds(record.kept_out)))
    )
    number = np.arange(1.0, len(came_s) + 1)
    axes.plot(*few(came_s, number), **SENT)
    axes.plot(*few(came_s, number / 4), **MODEL)
    left_s = record.seconds(record.left)
    axes.plot(*few(left_s, np.arange(1.0, len(left_s) + 1)), **SEEN, label="out")
    over_time(axes, "acknowledgements")


FIGURES = {
    "rate": Figure("rate", "A ramp from 4 to 1 Mbit/s, and what leaves the link", rate),
    "delay": Figure("delay", "A ramp of the delay, then 100 ms for 1 s every 3 s", delay),
    "loss": Figure("loss", "Lengths of bursts of losses, and the geometric law of the chain", loss),
    "queue": Figure("queue", "A step at 8 packets: the share marked, by what waits", queue),
    "jitter": Figure("jitter", "Delays of packets, and a normal distribution", jitter),
    "reorder": Figure("reorder", "Delays of packets, of which 5 % skip the delay", reorder),
    "duplicate": Figure(
        "duplicate", "Copies among packets, and 5 % with two deviations", duplicate
    ),
    "corrupt": Figure("corrupt", "Broken packets among all, and 5 % with two deviations", corrupt),
    "packets": Figure("loss", "Packets by their number, of which ten are lost", packets),
    "sojourns": Figure("loss", "How long losses last, and exponential times of 16 ms", sojourns),
    "shaper": Figure(
        "transmit", "What a bucket of 60 kB at 2 Mbit/s lets out, and r t + b", shaper
    ),
    "nat": Figure("nat", "QUIC and TCP behind a NAT that rebinds at 4 and 8 s", nat),
    "mtu": Figure("mtu", "Sizes of packets over a link of 800 bytes", mtu),
    "framing": Figure("framing", "What packets take in cells of ATM, by their size", framing),
    "policer": Figure("policer", "What arrives, what passes, and the token bucket", policer),
    "bleach": Figure("ecn", "ECN in front of a link that bleaches, and behind it", bleach),
    "mark": Figure("ecn", "ECN in front of a link that marks, and behind it", mark),
    "dscp": Figure(
        "dscp", "Code points of three flows in front of a link that washes, and behind it", dscp
    ),
    "tunnel": Figure(
        "tunnel", "Sizes of packets in a tunnel of 60 bytes, and of what carries them", tunnel
    ),
    "transmit": Figure("transmit", "Packets on an idle link: frames, and a token bucket", transmit),
    "release": Figure(
        "release", "Packets come one by one and in a burst, and leave in aggregates", release
    ),
    "repair": Figure(
        "repair", "Delays of packets of which 30 % are lost, each sent again up to 3 times", repair
    ),
    "acks": Figure("acks", "Acknowledgements in front of a link that thins them by 4", acks),
    "down": Figure("down", "What is sent and what arrives, down for 0.5 s every 4 s", down),
}
"""By the name of their file."""

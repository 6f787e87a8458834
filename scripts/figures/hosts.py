"""Figures of further words of links, hosts, flows and calls: in, out, and the model.

Their experiments are in `hosts.fexp`; the numbers that models take are those written there.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.pcap import Packets
from fairc.runtime.measurement.queues import QueueRecord
from fairc.runtime.measurement.record import FlowRecord
from fairc.runtime.measurement.samples import STATES

from .links import MODEL, SEEN, Figure, behind, few, over_time, per_bin, queue_of

OTHER = {**SEEN, "color": "#edae49"}
RING = {**MODEL, "linestyle": "none", "marker": "o", "markersize": 8, "fillstyle": "none"}


def flow_of(measured: Measurement, name: str) -> FlowRecord:
    """Return a flow."""
    return next(flow for flow in measured.flows if flow.name == name)


def data_of(flow: FlowRecord) -> tuple[QueueRecord, Packets, NDArray[np.bool_]]:
    """Return the queue of a flow, its larger packets that left it, and which of them got lost."""
    queue = flow.queue
    data = flow.left & (queue.left.payload_bytes > 200)
    return queue, queue.left.select(data), queue.behind.lost[data]


def searched(sizes: list[int], lost: list[bool], tries: int) -> list[int]:
    """Return the sizes that a search by halves tries, given the fate of each.

    sizes: the first one, and what the link of the sender takes. tries: until one counts as lost.
    """
    low, high = sizes
    found, failed = list[int](), 0
    for gone in lost:
        found.append((low + high) // 2)
        failed = failed + 1 if gone else 0
        if failed == tries:
            high, failed = found[-1] - 1, 0
        elif not gone:
            low = found[-1]
    return found


def probes(measured: Measurement, axes: Axes) -> None:
    axes.axhline(1300, color="#9aa5b1", linestyle="--", linewidth=1, label="the link")
    for name, first, most, headers, tries, style in (
        ("silent", 1024, 1448, 52, 1, SEEN),
        ("probes", 1200, 1472, 28, 3, OTHER),
    ):
        _, packets, lost = data_of(flow_of(measured, name))
        begin = int(np.flatnonzero(~lost)[0])
        sizes, lost = packets.ip_bytes[begin:], lost[begin:]
        arrived = np.maximum.accumulate(np.where(lost, 0, sizes))
        probe = np.flatnonzero(lost | (sizes > np.concatenate(([first + headers], arrived[:-1]))))
        number = np.arange(1, len(probe) + 1)
        model = searched([first, most], lost[probe].tolist(), tries)
        label = {"label": None} if name == "probes" else {}
        axes.plot(number, np.array(model) + headers, **{**RING, **label})
        axes.plot(number, sizes[probe], **{**style, "markersize": 6}, label=NAMES[name])
    axes.set(xlabel="number of the probe", ylabel="IP bytes", ylim=(1150, 1450))


NAMES = {"silent": "TCP", "probes": "QUIC", "up": "up", "mid": "mid", "low": "low"}


def ways(measured: Measurement, axes: Axes) -> None:
    routers = ("up", "mid", "low")
    pinned = [flow_of(measured, f"past_{name}") for name in routers]
    hashed = [flow for flow in measured.flows if flow.name.startswith("ways[")]
    model, seen = list[int](), list[tuple[int, int]]()
    passed = {queue.place[0]: queue for queue in measured.queues if queue.place[0] in routers}
    for number, flow in enumerate([*pinned, *hashed]):
        path = measured.paths.of(flow.plan)
        model.append(next(n for n, name in enumerate(routers) if name in {p[0] for p in path}))
        for name, queue in passed.items():
            if (queue.left.source_port == flow.plan.port).any():
                seen.append((number, routers.index(name)))
    axes.axvline(2.5, color="#9aa5b1", linewidth=1)
    axes.plot(range(len(model)), model, **RING)
    axes.plot(*zip(*seen, strict=True), **{**SEEN, "markersize": 6}, label="packets")
    axes.set_yticks(range(3), routers)
    counts = np.bincount(model[3:], minlength=3)
    expected = len(hashed) / 3
    spread = math.sqrt(expected * 2 / 3)
    many = ", ".join(str(count) for count in counts)
    axes.set_title(f"{many} flows by hash; expected {expected:.0f} \u00b1 {spread:.1f}", fontsize=9)
    axes.set(xlabel="three with `via`, and 30 by hash", ylabel="way", ylim=(-0.5, 2.5))


def restart(measured: Measurement, axes: Axes) -> None:
    for name, style, label in (("restart", SEEN, "on"), ("keep", OTHER, "off")):
        samples = flow_of(measured, name).endpoints.samples
        axes.plot(samples.t_s, samples.cwnd_packets, **{**style, "markersize": 4}, label=label)
        if name == "keep":
            continue
        fell = np.flatnonzero(np.diff(samples.cwnd_packets) < 0)
        timeout_s = samples.rtt_s[fell] + 0.2
        halved = np.floor(0.7 / timeout_s).astype(int)
        model = np.maximum(10, samples.cwnd_packets[fell].astype(int) >> halved)
        axes.plot(samples.t_s[fell + 1], model, **RING)
    axes.set_ylim(0)
    over_time(axes, "window (packets)")


def timeouts(measured: Measurement, axes: Axes) -> None:
    for name, least_s, style, label in (
        ("usual", 0.2, SEEN, "200 ms"),
        ("soon", 0.02, OTHER, "20 ms"),
    ):
        flow = flow_of(measured, name)
        samples = flow.endpoints.samples
        first_s = float(samples.rtt_s[samples.t_s < 6][-1]) + least_s
        sent_s = flow.queue.seconds(flow.queue.entered)[flow.entered]
        gaps_s = np.diff(sent_s[sent_s > 6])
        gaps_s = gaps_s[gaps_s > 0.025][1:]  # the first one is a probe of the tail (RFC 8985)
        number = np.arange(1, len(gaps_s) + 1)
        model = first_s * 2.0 ** (number - 1)
        axes.fill_between(number, model, 1.125 * model + 0.008, color="#f3d2d6")
        axes.plot(number, model, **MODEL if name == "usual" else {**MODEL, "label": None})
        axes.plot(number, gaps_s, **{**style, "markersize": 7}, label=label)
    axes.set_yscale("log")
    axes.set(xlabel="number of the timeout", ylabel="timeout (s)")


def unsent(measured: Measurement, axes: Axes) -> None:
    limits = np.array([16, 32, 64, 128])
    found = list[float]()
    for limit in limits:
        flow = flow_of(measured, f"unsent[{limit}]")
        stopped_s = flow.endpoints.reports["accepted"][0]["t_ns"] / 1e9 + 3.0
        sent_s = flow.queue.seconds(flow.queue.entered)[flow.entered]
        payload = flow.queue.entered.payload_bytes[flow.entered]
        found.append(float(payload[sent_s > stopped_s].sum()) / 1e3)
    axes.fill_between(limits, limits / 2, limits, color="#f3d2d6")
    axes.plot(limits, limits, **MODEL)
    axes.plot(limits, limits / 2, **{**MODEL, "label": None})
    axes.plot(limits, found, **{**SEEN, "markersize": 8}, label="unsent")
    axes.set(xlabel="notsent_lowat (kB)", ylabel="kB that wait", xlim=(0, 140), ylim=(0, 140))


def packets_of(frame_bytes: int) -> list[int]:
    """Return the frames of Ethernet that carry a frame of video."""
    count = math.ceil(frame_bytes / 1188)
    edges = [frame_bytes * n // count for n in range(count + 1)]
    return [end - begin + 54 for begin, end in pairwise(edges)]


def video(measured: Measurement, axes: Axes) -> None:
    frames = flow_of(measured, "call").endpoints.frames["down", "video"]
    sizes = np.arange(500, int(frames.bytes.max()) + 500, 25)
    sent = [packets_of(int(size)) for size in sizes]
    model_s = [8 * each[0] / 1e9 + 8 * sum(each) / 10e6 + 0.02 for each in sent]
    axes.plot(sizes / 1e3, np.array(model_s) * 1e3, **MODEL)
    there = frames.there
    size, delay = frames.bytes[there] / 1e3, frames.delay_s[there] * 1e3
    axes.plot(size, delay, **{**SEEN, "markersize": 4}, label="frames")
    axes.set(xlabel="kB of the frame", ylabel="delay (ms)")


def frame_sizes(measured: Measurement, axes: Axes) -> None:
    frames = flow_of(measured, "call").endpoints.frames["down", "video"]
    others = frames.bytes[~frames.key]
    mean = 1.2e6 / 8 / 30 * 55 / 59  # of 60, the first one has five times the mean
    factor = np.sort(others / mean)
    share = (np.arange(len(factor)) + 0.5) / len(factor)
    model = np.linspace(0.2, 1.8, 200)
    away = np.abs(model - 1) / 0.15
    laplace = np.where(model < 1, 0.5 * np.exp(-away), 1 - 0.5 * np.exp(-away))
    axes.plot(model, laplace, **MODEL)
    axes.plot(*few(factor, share), **SEEN, label="frames")
    axes.set(xlabel="size / mean of frames that are no key frames", ylabel="share below")


def entering(measured: Measurement, axes: Axes) -> None:
    flow = flow_of(measured, "entering")
    samples = flow.endpoints.samples
    entry_s = float(samples.t_s[np.flatnonzero(samples.model_state == STATES.index("drain"))[0]])
    t_s, out_bps = per_bin(flow.queue.left_s, 8.0 * flow.queue.left.frame_bytes, 0.02)
    axes.plot([0.05, entry_s, entry_s, 3], [10, 10, 5, 5], **MODEL)
    axes.axvline(entry_s, color="#9aa5b1", linestyle="--", linewidth=1, label="f enters drain")
    axes.plot(t_s, out_bps / 1e6, **{**SEEN, "markersize": 4}, label="out")
    axes.set(xlabel="time (s)", ylabel="Mbit/s of frames", xlim=(0, 1), ylim=(0, 12))


def ports_of(measured: Measurement, *names: str) -> list[int]:
    """Return the ports of flows' servers."""
    return [flow.plan.port for flow in measured.flows if flow.name in names]


def chosen(measured: Measurement, axes: Axes) -> None:
    kinds = ("ce", "ect", "opening", "above")
    for place, name in enumerate(kinds):
        record = queue_of(measured, name)
        packets, lost = record.left, record.behind.lost
        openings = np.isin(packets.source_port, ports_of(measured, "opening", "quic"))
        inside = {
            "ce": packets.tos & 3 == 3,
            "ect": packets.tos & 3 != 0,
            "opening": openings,
            "above": packets.ip_bytes > 1000,
        }[name]
        ours = packets.ip_bytes > 0
        for which, offset, color in (
            (inside & ours, -0.2, "#30638e"),
            (~inside & ours, 0.2, "#edae49"),
        ):
            share = 100 * lost[which].mean()
            label = None if place else ("of the kind", "all others")[offset > 0]
            axes.bar(place + offset, max(share, 0.8), width=0.36, color=color, label=label)
            text = f"{int(lost[which].sum())}/{int(which.sum())}"
            axes.text(place + offset, share + 2, text, ha="center", fontsize=7)
    model = {**MODEL, "linestyle": "none", "marker": "_", "markersize": 16}
    axes.plot(np.arange(4) - 0.2, [100] * 4, **model)
    axes.plot(np.arange(4) + 0.2, [0] * 4, **{**model, "label": None})
    axes.set_xticks(range(4), ["of: ce", "of: ect", "of: handshake", "above: 1kB"], fontsize=8)
    axes.set(ylabel="lost (%)", ylim=(-4, 118))


def gap(measured: Measurement, axes: Axes) -> None:
    _, took_s = behind(queue_of(measured, "gap"))
    number = np.arange(1, 41)
    model = np.where(number % 5 == 0, 0, 20)
    ring = {**MODEL, "linestyle": "none", "marker": "o", "markersize": 8, "fillstyle": "none"}
    axes.plot(number, model, **ring)
    axes.plot(number, took_s[:40] * 1e3, **{**SEEN, "markersize": 6}, label="packets")
    axes.set(xlabel="number of the packet", ylabel="delay (ms)", ylim=(-2, 30))


def outages(measured: Measurement, axes: Axes) -> None:
    queue = queue_of(measured, "outages")
    lost = queue.behind.lost.astype(int)
    edges = np.flatnonzero(np.diff(lost)) + 1
    lasted_ms = np.diff(queue.left_s[edges]) * 1e3
    begins_down = int(lost[edges[0]] == 1)
    for first, mean_ms, label, color in (
        (1 - begins_down, 50, "down", "#30638e"),
        (begins_down, 200, "up", "#edae49"),
    ):
        times_ms = np.sort(lasted_ms[first::2])
        above = 1 - (np.arange(len(times_ms)) + 0.5) / len(times_ms)
        model_ms = np.linspace(0, 4 * mean_ms, 100)
        style = MODEL if label == "down" else {**MODEL, "label": None}
        axes.semilogy(model_ms, np.exp(-model_ms / mean_ms), **style)
        axes.semilogy(times_ms, above, **{**SEEN, "markersize": 5, "color": color}, label=label)
    axes.set(xlabel="time (ms)", ylabel="share that lasts longer", xlim=(0, 800), ylim=(0.01, 1.1))


def cake(measured: Measurement, axes: Axes) -> None:
    record = queue_of(measured, "cake[0]")
    busy = (record.left_s > 1) & (record.left_s < 11)
    lengths, gaps_s = record.left.ip_bytes[busy][:-1], np.diff(record.left_s[busy])
    sizes = np.arange(60, 501)
    axes.step(sizes, -(-(sizes + 32) // 48) * 53, where="mid", **MODEL)
    axes.plot(*few(lengths, gaps_s * 8e5 / 8), **SEEN, label="packets")
    axes.set(xlabel="IP bytes", ylabel="time to the next x rate (bytes)", xlim=(60, 500))


def framings(measured: Measurement, axes: Axes) -> None:
    for number, (name, adds, style) in enumerate((("ethernet", 38, OTHER), ("docsis", 18, SEEN))):
        record = queue_of(measured, f"{name}[0]")
        there = record.behind.found >= 0
        took_s = record.seconds(record.delivered)[record.behind.found[there]] - 0.005
        lengths = record.left.ip_bytes[there]
        added = (took_s - record.begin_s[there]) * 1e6 / 8 - lengths
        axes.axhline(adds, **MODEL if number == 0 else {**MODEL, "label": None})
        axes.plot(*few(lengths, added), **style, label=name)
    axes.set(xlabel="IP bytes", ylabel="time x rate - IP bytes", xlim=(60, 500), ylim=(0, 50))


def wifi(measured: Measurement, axes: Axes) -> None:
    _, took_s = behind(queue_of(measured, "wifi"))
    added_ms = np.sort((took_s - took_s.min()) * 1e3)
    above = 1 - (np.arange(len(added_ms)) + 0.5) / len(added_ms)
    model_ms = np.arange(0.0, 200.0, 0.25)
    share = (7 - 1) / 90
    law = [(1 - share) * _longer(ms) for ms in model_ms]
    for again in range(40):
        weight = share * math.exp(-12) * 12**again / math.factorial(again)
        law = [a + weight * _longer(ms - 7.5 * again) for a, ms in zip(law, model_ms, strict=True)]
    axes.semilogy(model_ms, law, **MODEL)
    late = added_ms > 10
    axes.semilogy(*few(added_ms[~late], above[~late]), **SEEN)
    axes.semilogy(added_ms[late], above[late], **SEEN, label="packets")
    axes.set(xlabel="added to the delay (ms)", ylabel="share of packets above", ylim=(5e-4, 1.2))


def _longer(ms: float) -> float:
    """Return the probability that deferrals take longer than this: a Poisson number of them, mean
    1, of 1 ms each, of which one is cut short.
    """
    if ms < 0:
        return 1.0
    weights = [math.exp(-1) / math.factorial(n) for n in range(20)]
    return sum(w * min(1.0, max(0.0, n - ms)) for n, w in enumerate(weights) if n)


FIGURES = {
    "wifi": Figure(
        "jitter", "What 2,000 packets wait for Wi-Fi, and the model of the draft", wifi, "wifi"
    ),
    "framings": Figure(
        "framing", "What `docsis` and `ethernet(38B)` add to packets", framings, "kinds"
    ),
    "cake": Figure(
        "queue", "What CAKE's own shaper takes for packets, in cells of ATM", cake, "kinds"
    ),
    "gap": Figure(
        "reorder", "Delays of packets, of which every fifth skips the delay", gap, "kinds"
    ),
    "outages": Figure(
        "down", "Times up and down, and exponential ones of 200 and 50 ms", outages, "kinds"
    ),
    "chosen": Figure("loss", "What links lose: packets of a kind, and others", chosen, "kinds"),
    "probes": Figure(
        "pmtu", "Sizes of probes for the MTU of a path, and a search by halves", probes, "hosts"
    ),
    "ways": Figure("routes", "Which path flows take: by `via`, and by hash", ways, "hosts"),
    "restart": Figure(
        "idle_restart", "The window of a flow with pauses, and halves", restart, "hosts"
    ),
    "timeouts": Figure(
        "min_rto", "Timeouts in an outage, twice as long each time", timeouts, "hosts"
    ),
    "unsent": Figure("notsent_lowat", "What waits unsent when a source stops", unsent, "hosts"),
    "entering": Figure(
        "enters", "The rate of a link that changes as a flow drains", entering, "entering"
    ),
    "video": Figure("media", "Delays of frames over an idle path", video, "hosts"),
    "frames": Figure("media", "Sizes of frames, and a Laplace distribution", frame_sizes, "hosts"),
}
"""By the name of their file."""

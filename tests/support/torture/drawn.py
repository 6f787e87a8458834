"""Ordinary experiments, drawn at random: one to three flows of what people run, over a network of
theirs, for 12 s.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

DURATION_S = 12
ROUND_MBPS = (
    *(0.5, 1, 1.5, 2, 3, 4, 5, 6, 7, 7.5, 8, 10, 12, 15, 16, 20, 24, 25, 30, 40, 48, 50, 60),
    *(75, 80, 100),
)
TCP = (
    *("cubic", "cubic", "cubic", "reno", "bbr", "bbr", "vegas", "westwood", "htcp", "illinois"),
    *("bic", "hybla", "highspeed", "scalable", "veno", "yeah", "lp", "nv", "cdg", "dctcp"),
)
QUIC = ("cubic", "cubic", "reno", "bbr", "bbr3", "copa", "ledbat", "pcc", "prague")
CUT_OFF = "its client was stopped before the others"
FAILED = "every load failed"
TOO_SMALL = "of `hosts` is too small"
# Linux asks for AccECN for a whole host.
ACCURATE = "disagree on `ecn = accurate`"
# netem cannot do both on one link.
COPIED = "cannot have both duplicates and bursty losses"


@dataclass
class Drawn:
    """An experiment, and what the author may be told of it: parts of reasons."""

    text: str
    told: tuple[str, ...] = ()


@dataclass(frozen=True)
class Network:
    """A topology as text. down_mbps, up_mbps: of its slowest links. rtt_ms: its base round trip. hop_ms: the
    delay of the links that can be amended.

    pairs: whether each flow has hosts of its own. forth, back: the links that can be amended, of
    which forth carries data. over: the transport that takes
    both of two paths.
    """

    text: str
    down_mbps: float
    up_mbps: float
    rtt_ms: float
    forth: str
    back: str
    hop_ms: float
    pairs: bool = False
    over: str = ""
    declared: str = ""


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform, of three digits."""
    value = math.exp(rng.uniform(math.log(low), math.log(high)))
    return float(f"{value:.3g}")


def draw_mbps(rng: random.Random, low: float = 0.5, high: float = 100.0) -> float:
    """Draw a rate: as often a round one as any other."""
    inside = [each for each in ROUND_MBPS if low <= each <= high]
    return (
        float(rng.choice(inside)) if inside and rng.random() < 0.5 else log_uniform(rng, low, high)
    )


def rate(mbps: float) -> str:
    """Write a rate."""
    return f"{round(mbps * 1000)}kbit/s" if mbps < 1 else f"{mbps:g}Mbit/s"


def time(ms: float) -> str:
    """Write a time."""
    return f"{round(ms * 1000)}us"


def size(rng: random.Random) -> str:
    """Draw how much a queue holds."""
    kind = rng.randrange(5)
    if kind == 0:
        return f"{rng.choice((10, 25, 50, 64, 100, 127, 200, 1000))}pkt"
    if kind == 1:
        return f"max({rng.choice((0.5, 1, 1.5, 2, 4, 8)):g}bdp, {rng.choice((5, 10, 20))}pkt)"
    if kind == 2:
        return f"{rng.choice((20, 50, 64, 100, 150, 256))}kB"
    if kind == 3:
        return f"{rng.choice((50, 100, 200, 400))}ms"
    return f"{rng.choice((1, 2, 3))}bdp + {rng.choice((5, 10, 30))}pkt"


def queue(rng: random.Random, within: bool = False) -> str:
    """Draw a queue; within: of a priority."""
    ecn = rng.choice(("on", "off"))
    holds = size(rng)
    scaled = rng.choice(("", "", ", scaled: on"))
    kinds: dict[str, Callable[[], str]] = {
        "fifo": lambda: f"fifo({holds})",
        "red": lambda: f"red({rng.choice((60, 100, 200, 400))}pkt, ecn: {ecn})",
        "red_bytes": lambda: (
            f"red({rng.choice((100, 200, 400))}kB, min: 20%, max: 60%, ecn: {ecn})"
        ),
        "codel": lambda: f"codel({holds}, ecn: {ecn}{scaled})",
        "fq_codel": lambda: f"fq_codel({holds}, ecn: {ecn}{scaled})",
        "pie": lambda: f"pie({holds}, ecn: {ecn}{scaled})",
        "fq_pie": lambda: f"fq_pie({holds}, ecn: {ecn}{scaled})",
        "fq": lambda: f"fq({holds})",
        "sfq": lambda: f"sfq({rng.choice((50, 100, 127))}pkt)",
        "cake": lambda: (
            f"cake({holds}, rtt: {rng.choice((30, 100, 300))}ms,"
            f" diffserv: {rng.choice(('besteffort', 'diffserv3', 'diffserv4'))},"
            f" isolate: {rng.choice(('flows', 'triple', 'none'))},"
            f" ack_filter: {rng.choice(('off', 'off', 'on'))})"
        ),
        "dualpi2": lambda: f"dualpi2({holds}{scaled})",
        "prio": lambda: f"prio(ef: {queue(rng, True)}, cs0: {queue(rng, True)})",
    }
    names = [name for name in kinds if not (within and name in ("prio", "cake", "dualpi2"))]
    names += ["fifo"] * (len(names) // 2)
    return kinds[rng.choice(names)]()


def loss(rng: random.Random) -> str:
    """Draw a random loss, or none."""
    kind = rng.random()
    if kind < 0.7:
        return "0%"
    if kind < 0.9:
        return f"{rng.choice((0.01, 0.1, 0.5, 1, 2)):g}%"
    if kind < 0.95:
        return f"loss(both: {rng.choice((0.1, 0.5, 1)):g}%)"
    return f"gilbert_elliott(p: {rng.choice((0.1, 0.5, 1)):g}%, r: {rng.choice((20, 50))}%)"


def two_rates(rng: random.Random, low: float = 0.5, high: float = 100.0) -> tuple[float, float]:
    """Draw the rates of a link: down, and up."""
    down = draw_mbps(rng, low, high)
    if rng.random() < 0.5:
        return down, down
    return down, draw_mbps(rng, max(0.5, down / 15), max(0.5, down))


def bottleneck(rng: random.Random, name: str = "bottleneck") -> Network:
    """Draw a network of the preset `bottleneck`, or of one like it."""
    down, up = two_rates(rng)
    rtt = log_uniform(rng, 2, 300)
    rates = f"rate: {rate(down)}" if up == down else f"down: {rate(down)}, up: {rate(up)}"
    mtu = rng.choice(("", "", "", ", mtu: 1492B", ", mtu: 1280B"))
    text = f"{name}({rates}, rtt: {time(rtt)}, loss: {loss(rng)}, queue: {queue(rng)}{mtu})"
    return Network(
        text, down, up, rtt, "left -> right", "right -> left", rtt / 2, pairs=name == "dumbbell"
    )


def geo(rng: random.Random) -> Network:
    """Draw a satellite link."""
    down, up = draw_mbps(rng, 2, 50), draw_mbps(rng, 1, 10)
    pep = rng.choice(("none", "split", "split(cca: bbr)", "split(window: 2bdp)"))
    lost = rng.choice(("0%", "0%", "0.1%", "1%"))
    text = f"geo(pep: {pep}, down: {rate(down)}, up: {rate(up)}, loss: {lost})"
    return Network(text, down, up, 750, "gateway -> terminal", "terminal -> gateway", 350)


def mobile(rng: random.Random) -> Network:
    """Draw a mobile network."""
    down, up = two_rates(rng, 1, 50)
    text = f"4g(down: {rate(down)}, up: {rate(up)}, queue: {queue(rng)}, loss: {loss(rng)})"
    return Network(text, down, up, 80, "core -> station", "station -> core", 40)


def chain(rng: random.Random) -> Network:
    """Draw bottlenecks in a row."""
    hops, mbps, hop = rng.choice((1, 2, 3, 4)), draw_mbps(rng, 0.5, 50), log_uniform(rng, 1, 50)
    text = f"chain(hops: {hops}, rate: {rate(mbps)}, hop: {time(hop)}, queue: {queue(rng)})"
    return Network(text, mbps, mbps, 2 * hop * hops, "r[1] -> r[2]", "r[2] -> r[1]", hop)


def parking_lot(rng: random.Random) -> Network:
    """Draw three bottlenecks in a row."""
    mbps, hop = draw_mbps(rng, 0.5, 40), log_uniform(rng, 1, 50)
    text = (
        f"parking_lot(rate: {rate(mbps)}, hop: {time(hop)}, queue: {queue(rng)}, loss: {loss(rng)})"
    )
    return Network(text, mbps, mbps, 6 * hop, "r2 -> r3", "r3 -> r2", hop)


def wifi(rng: random.Random) -> Network:
    """Draw an access link that sends aggregates and repeats losses."""
    down, up = draw_mbps(rng, 5, 80), draw_mbps(rng, 5, 40)
    text = (
        f"wifi(down: {rate(down)}, up: {rate(up)}, rtt: {time(log_uniform(rng, 2, 80))},"
        f" loss: {rng.choice((0, 5, 10, 20))}%, queue: {rng.choice(('fq_codel(1000pkt)', 'fifo(200pkt)'))})"
    )
    return Network(text, down, up, 20, "", "", 0)


def starlink(rng: random.Random) -> Network:
    """Draw a dish whose satellite changes."""
    down = draw_mbps(rng, 20, 80)
    rates = f"down: {rate(down)}, up: {rate(down / 10)}, least: {rate(down / 3)}, most: {rate(1.6 * down)}"
    return Network(f"starlink({rates})", down / 3, down / 10, 40, "", "", 0)


def policed(rng: random.Random) -> Network:
    """Draw an access link with a policer in front of its queue."""
    mbps = draw_mbps(rng, 2, 50)
    policer = f"token_bucket({rate(rng.uniform(0.3, 0.9) * mbps)}, {rng.choice((20, 50, 200))}kB)"
    rtt = log_uniform(rng, 2, 150)
    text = f"access(rate: {rate(mbps)}, rtt: {time(rtt)}, policer: {policer}, queue: {queue(rng)})"
    return Network(text, mbps, mbps, rtt, "left -> right", "right -> left", rtt / 2)


def own(rng: random.Random) -> Network:
    """Draw a topology that is written out: two routers, and a link of the client's own."""
    down, up = two_rates(rng)
    delay, near = log_uniform(rng, 1, 120), log_uniform(rng, 0.1, 10)
    declared = f"""topology mine {{
  node server, client
  router left, right
  link server -- left {{ rate = 1Gbit/s }}
  link right -- client {{ rate = {rate(max(100, 10 * down))}  delay = {time(near)} }}
  link left -> right {{ rate = {rate(down)}  delay = {time(delay)}  loss = {loss(rng)}  queue = {queue(rng)} }}
  link right -> left {{ rate = {rate(up)}  delay = {time(delay)}  queue = {queue(rng)} }}
}}
"""
    rtt = 2 * (delay + near)
    return Network(
        "mine", down, up, rtt, "left -> right", "right -> left", delay, declared=declared
    )


def two_paths(rng: random.Random) -> Network:
    """Draw a client that is attached twice."""
    first, second = draw_mbps(rng, 1, 40), draw_mbps(rng, 1, 40)
    delays = sorted((log_uniform(rng, 2, 60), log_uniform(rng, 2, 60)))
    declared = f"""topology mine {{
  node server, client
  router core, wifi, mobile
  link server -- core {{ rate = 1Gbit/s }}
  link core -- wifi {{ rate = {rate(first)}  delay = {time(delays[0])}  queue = {queue(rng)} }}
  link core -- mobile {{ rate = {rate(second)}  delay = {time(delays[1])}  queue = {queue(rng)} }}
  link mobile -- client {{ rate = 1Gbit/s }}
  link wifi -- client {{ rate = 1Gbit/s }}
}}
"""
    return Network(
        "mine",
        first,
        first,
        2 * delays[0],
        "core -> wifi",
        "wifi -> core",
        delays[0],
        over=rng.choice(("mptcp", "mptcp", "mptcp(backup: mobile)", "mptcp(paths: on_failure)")),
        declared=declared,
    )


NETWORKS: tuple[tuple[int, Callable[[random.Random], Network]], ...] = (
    (40, bottleneck),
    (10, lambda rng: bottleneck(rng, "dumbbell")),
    (8, lambda rng: bottleneck(rng, "access")),
    (10, geo),
    (8, mobile),
    (10, chain),
    (14, own),
    (6, two_paths),
    (4, parking_lot),
    (4, wifi),
    (3, starlink),
    (3, policed),
)


def amendments(rng: random.Random, network: Network) -> list[str]:
    """Draw what is changed about a network's links: jitter, a step, an outage."""
    changes: dict[str, list[str]] = {}
    if not network.forth:
        return []
    if rng.random() < 0.25:
        spread = min(log_uniform(rng, 0.2, 20), 0.4 * network.hop_ms)
        kind = rng.choice(("", ", normal", ", pareto", ", paretonormal"))
        overtake = rng.choice(("", "", "", ", overtake: on"))
        link = rng.choice((network.forth, network.back))
        changes.setdefault(link, []).append(f"jitter = jitter({time(spread)}{kind}{overtake})")
    if rng.random() < 0.05:
        link = rng.choice((network.forth, network.back))
        changes.setdefault(link, []).append(f"duplicate = {rng.choice((0.1, 1))}%")
    if rng.random() < 0.2:
        link = rng.choice((network.forth, network.back))
        changes.setdefault(link, []).append(change(rng, network))
    return [f"link {link} {{ {'  '.join(each)} }}" for link, each in changes.items()]


def change(rng: random.Random, network: Network) -> str:
    """Draw a change of a link."""
    at, lasts = round(rng.uniform(2, 7), 2), round(rng.uniform(0.05, 1.5), 2)
    mbps = rng.choice((0.3, 0.5, 0.7, 1.5, 2)) * network.down_mbps
    return rng.choice(
        (
            f"at {at:g}s {{ rate = {rate(mbps)} }}",
            f"at {at:g}s over 2s {{ rate = {rate(mbps)} }}",
            f"at {at:g}s {{ delay = {time(rng.uniform(0.3, 2) * network.rtt_ms)} }}",
            f"down from {at:g}s to {at + lasts:g}s",
            f"every 3s from {at:g}s for {lasts:g}s {{ loss = {rng.choice((5, 20))}% }}",
            f"every 4s from {at:g}s for {lasts:g}s {{ rate = {rate(mbps)} }}",
        )
    )


@dataclass
class Flow:
    """A flow: its keys, and what it can be measured by."""

    keys: dict[str, str] = field(default_factory=dict)
    metrics: tuple[str, ...] = ("goodput",)
    told: tuple[str, ...] = ()
    name: str = ""
    index: str = ""

    def text(self) -> str:
        """Return its statement."""
        keys = "  ".join(f"{key} = {value}" for key, value in self.keys.items())
        return f"  flow {self.name}{self.index} {{ {keys} }}"


def transfer(rng: random.Random, network: Network) -> Flow:
    """Draw a download or an upload over TCP or QUIC."""
    fast = min(network.down_mbps, network.up_mbps)
    keys: dict[str, str] = {}
    if network.over and rng.random() < 0.8:
        keys["over"] = network.over
        keys["cca"] = rng.choice(("cubic", "reno", "bbr"))
    elif rng.random() < 0.35:
        keys |= {"over": "quic", "cca": rng.choice(QUIC)}
    else:
        keys |= {"over": "tcp", "cca": rng.choice(TCP)}
    kind, mptcp = rng.random(), "mptcp" in keys["over"]
    told: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("goodput", "throughput", "rtt", "loss_rate")
    if kind < 0.55:
        keys["workload"] = "bulk"
    elif kind < 0.75:
        keys["workload"] = f"file({max(20, round(rng.uniform(0.02, 1.2) * 1e3 * fast))}kB)"
        metrics = ("goodput", "fct")
    elif kind < 0.85 and not mptcp:
        keys["workload"] = (
            f"requests(size: {rng.choice(('10pkt', '20kB', 'pareto(15kB, 1.5)'))},"
            f" every: exponential({rng.choice((200, 500, 1000))}ms))"
        )
        metrics = ("fct",)
    elif kind < 0.95 and not mptcp:
        bitrate = rng.uniform(0.2, 0.8) * fast
        keys["workload"] = (
            f"video(bitrate: {rate(bitrate)}, length: {rng.choice((5, 8, 15))}s,"
            f" burst: {rng.choice((2, 5))}s)"
        )
        metrics = ("qoe", "stalls", "startup")
    else:
        keys["workload"] = "bulk"
    accurate = keys["cca"] == "dctcp" and keys["over"] == "tcp" and rng.random() < 0.8
    if accurate or (keys["cca"] == "prague" and rng.random() < 0.8):
        keys["ecn"] = "accurate"
        told = (ACCURATE,) if keys["over"] == "tcp" else ()
    elif rng.random() < 0.2:
        keys["ecn"] = rng.choice(("on", "off"))
    if rng.random() < 0.15 and not mptcp:
        keys["initial_window"] = f"{rng.choice((2, 4, 10, 32, 40))}pkt"
    if rng.random() < 0.1 and keys["over"] == "tcp":
        keys[rng.choice(("pacing", "fast_open"))] = "on"
    if rng.random() < 0.08 and not mptcp:
        keys["window"] = rng.choice(("64KiB", "256KiB", "1MB"))
    if rng.random() < 0.08 and not mptcp:
        keys["rate"] = rate(max(0.2, rng.uniform(0.1, 0.9) * fast))
    return Flow(keys, metrics, told)


def call(rng: random.Random, network: Network) -> Flow:
    """Draw a call: small packets of UDP."""
    mbps = min(rng.choice((0.064, 0.1, 0.3, 1.0)), 0.4 * min(network.down_mbps, network.up_mbps))
    packet = rng.choice((100, 160, 200, 500, 1200))
    if rng.random() < 0.6:
        workload, keys = f"bulk(packet: {packet}B)", {"rate": rate(mbps)}
    else:
        keys = {}
        workload = (
            f"onoff(rate: {rate(mbps)}, on: exponential(1s), off: exponential(1s),"
            f" packet: {packet}B)"
        )
    return Flow({"over": "udp", **keys, "workload": workload}, ("datagrams", "loss_rate"))


def ping(rng: random.Random, network: Network) -> Flow:
    """Draw a ping."""
    return Flow({"workload": f"ping(every: {rng.choice((10, 20, 50, 100, 200))}ms)"}, ("rtt",))


def page(rng: random.Random, network: Network) -> Flow:
    """Draw page loads by a client without a browser; some are cut off by the end."""
    objects, each = rng.choice((2, 9, 20, 40)), rng.choice((2, 10, 30))
    loads = rng.choice((1, 1, 1, 3))
    workload = (
        f"load(page(html: {rng.choice((5, 20, 60))}kB, objects: {objects} of {each}kB),"
        f" client: plain, http: {rng.choice(('h1', 'h2', 'h2', 'h3'))}, loads: {loads})"
    )
    return Flow(
        {"cca": rng.choice(("cubic", "cubic", "bbr", "reno")), "workload": workload},
        ("plt", "ttr"),
        (CUT_OFF, FAILED),
    )


FLOWS: tuple[tuple[int, Callable[[random.Random, Network], Flow]], ...] = (
    (66, transfer),
    (13, call),
    (9, ping),
    (12, page),
)


def chosen(rng: random.Random, weighted: Sequence[tuple[int, T]]) -> T:
    """Draw one of several, each with its weight."""
    return rng.choices([one for _, one in weighted], [weight for weight, _ in weighted])[0]


def draw_flow(rng: random.Random, network: Network, number: int) -> Flow:
    """Draw a flow; number: of the flow, from 0."""
    flow = chosen(rng, FLOWS)(rng, network)
    flow.name = "abc"[number]
    # A policer of `access` is for what comes down; one that nothing passes is refused.
    upload = rng.random() < 0.3 and not (number == 0 and "policer:" in network.text)
    if upload:
        ends = ("client", "server")
        flow.keys |= {
            "from": f"{ends[0]}[{flow.name}]" if network.pairs else ends[0],
            "to": f"{ends[1]}[{flow.name}]" if network.pairs else ends[1],
        }
    kind = rng.random()
    if "load(" not in flow.keys["workload"] and "ping" not in flow.keys["workload"]:
        if kind < 0.15:
            flow.keys["count"] = str(rng.choice((2, 3, 4, 8)))
        elif kind < 0.18:
            flow.keys["count"] = str(rng.choice((20, 40)))
    if rng.random() < 0.1 and "pep: split" not in network.text:
        flow.keys["dscp"] = rng.choice(("ef", "af41", "cs1", "le"))
    if rng.random() < 0.3:
        flow.keys["start"] = rng.choice(("0s", "1s", "2500ms", "6s", "uniform(0s, 1s)"))
    if rng.random() < 0.06 and "load(" not in flow.keys["workload"]:
        flow.keys["stop"] = rng.choice(("8s", "10s"))
    if network.pairs and rng.random() < 0.2:
        flow.keys["rtt"] = time(log_uniform(rng, 5, 100))
    return flow


def hosts(
    rng: random.Random, network: Network, lines: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """Draw options of hosts, or none, and what the author may be told of them; lines: the flows."""
    if rng.random() > 0.25:
        return "", ()
    options = ["processing = off", "sack = off", "tcp_metrics_save = on", "syscall_cost = 5us"]
    options += ["ecn = on", "initial_window = 32pkt"]
    if not network.text.startswith("wifi"):  # where the client's own link is the bottleneck
        options.append("offload = on")
    if not any("mptcp" in line for line in lines):
        options += ["send_buffer = 1MB  receive_buffer = 1MB", "receive_buffer = 128kB"]
    option = rng.choice(options)
    return f"  hosts {{ {option} }}\n", (TOO_SMALL,) if "_buffer" in option else ()


def draw(rng: random.Random) -> Drawn:
    """Draw an experiment."""
    network = chosen(rng, NETWORKS)(rng)
    amended = amendments(rng, network)
    topology = network.text
    if amended:
        topology += " with {\n" + "".join(f"    {each}\n" for each in amended) + "  }"
    flows = [draw_flow(rng, network, number) for number in range(rng.choice((1, 2, 2, 3)))]
    metrics = list(dict.fromkeys(rng.choice(flow.metrics) + f"({flow.name})" for flow in flows))
    lines = [flow.text() for flow in flows]
    options, told = hosts(rng, network, lines)
    told += (COPIED,) if "duplicate" in topology else ()
    text = f"""fexp 1
{network.declared}experiment drawn {{
  topology = {topology}
{options}{chr(10).join(lines)}
  duration = {DURATION_S}s
  seed = {rng.randrange(10**6)}
  measure = [{", ".join(metrics)}]
}}
"""
    return Drawn(text, (*told, *(each for flow in flows for each in flow.told)))

"""Plans that have every field between them: the examples, and what these lack."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path

from madeimages import docker, layer
from specs import compilation_of, compile_spec

from fairc.compiler import Cell
from fairc.compiler.compilation import Compilation
from fairc.compiler.plan import cell_json, parse_cell

EXAMPLES = Path(__file__).parents[2] / "examples"
# For each: which fields no smaller example has.
NAMES = (
    "quickstart",
    "satcom-quick",
    "mobile",
    "precise",
    "large-deviations",
    "own-module",
    "own-queue",
)
REST = """fexp 1
let speed = 2Mbit/s
experiment rest {
  title = "What examples lack"
  deviates = "another kernel"
  topology = geo(pep: split(cca: cubic(hystart: off)))
  flow w {
    cca = cubic(hystart: off)
    workload = load(page(html: 10kB, objects: 4 of 5kB), client: plain, http: h3, loads: 2)
  }
  flow u { over = udp  workload = onoff(rate: speed, on: exponential(1s), off: exponential(1s)) }
  duration = 3s
  measure = [goodput, queue_delay.p95]
}
"""
IMAGE = """fexp 1
experiment image {
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: fifo(2bdp))
  flow q { over = quic(image: "my-quic:latest")  workload = file(1MB) }
  duration = 3s
  measure = [goodput]
}
"""
DRAWN = """fexp 1
experiment drawn {
  sweep { packets = [10, 20]  rate = [1Mbit/s, 2Mbit/s] }
  let gain = median(goodput(a), where: rate == 2Mbit/s) / median(goodput(a), where: rate == 1Mbit/s)
  topology = bottleneck(rate: rate, rtt: 20ms, queue: fifo(packets * 1pkt))
  flow a { cca = cubic  workload = bulk }
  flow b { cca = reno  workload = bulk }
  duration = 3s
  repeat = 3
  measure = [goodput, queue_delay]
  report { line(gain, x: packets)  scatter(goodput(b), goodput(a)) }
}
"""
OWN = """fexp 1
template base {
  sweep { trip = [10ms, 20ms] }
  topology = bottleneck(rate: 2Mbit/s, rtt: trip, queue: fifo(20pkt))
  flow a { cca = reno  workload = bulk }
  flow b { cca = cubic  workload = bulk }
  flow f[i] for i in 1..2 { cca = reno  workload = bulk }
  duration = 3s
}
experiment own extends base {
  metric power = goodput(a) * trip / rtt.p95(b, from: 10 * trip)
  metric twice = 2 * rtt.p95(f)
  measure = [power, twice, goodput, rtt, cwnd(every: trip)]
}
experiment other extends base { measure = [goodput] }
"""
DETOUR = """fexp 1
experiment detour {
  topology {
    node server, client
    router left, near, far, right
    link server -- left, right -- client { rate = 1Gbit/s }
    link left -- near, near -- right { rate = 4Mbit/s  delay = 5ms  down from 1s to 2s }
    link left -- far, far -- right { rate = 2Mbit/s  delay = 10ms }
  }
  flow f { cca = reno  workload = bulk }
  duration = 3s
  measure = [goodput]
}
"""
PATHS = """fexp 1
experiment paths {
  topology {
    node server, client
    router core, wifi, mobile
    link server -- core { rate = 1Gbit/s }
    link core -- wifi, core -- mobile { rate = 4Mbit/s  delay = 5ms }
    link wifi -- client { rate = 1Gbit/s  down from 1s to 2s }
    link mobile -- client { rate = 1Gbit/s }
  }
  flow f { over = mptcp(paths: on_failure, backup: mobile)  cca = reno  workload = bulk }
  duration = 3s
  measure = [goodput.subflow]
}
"""
TUNNEL = """fexp 1
experiment tunnel {
  topology {
    node server, client
    router a, b, c
    link server -- a, c -- client { rate = 1Gbit/s }
    link a -- b, b -- c { rate = 4Mbit/s  delay = 5ms }
    tunnel t { from = a  to = c  header = 60B }
  }
  flow f { cca = reno  workload = bulk }
  duration = 3s
  measure = [goodput]
}
"""
POLICED = """fexp 1
experiment policed {
  topology = access(rate: 2Mbit/s, rtt: 20ms, policer: conex(rate: 3pkt/s, depth: 45pkt))
  users heavy { count = 1 }
  flow f { users = heavy  cca = reno  workload = bulk }
  duration = 3s
  measure = [goodput]
}
"""
BUCKET = POLICED.replace("policed", "bucket").replace(
    "conex(rate: 3pkt/s, depth: 45pkt)", "token_bucket(rate: 1Mbit/s, burst: 30kB)"
)
WAYS = """fexp 1
experiment ways {
  topology {
    node server, client
    router a, up, low, b
    link server -- a, b -- client { rate = 1Gbit/s }
    link a -- up, up -- b, a -- low, low -- b { rate = 4Mbit/s  delay = 5ms }
  }
  flow f { via = low  cca = reno  workload = bulk }
  duration = 3s
  measure = [goodput]
}
"""
HARM = """fexp 1
experiment harm {
  hosts { offload = on }
  topology = dumbbell(rate: 2Mbit/s, rtt: 20ms, queue: fifo(2bdp))
  flow victim { cca = cubic  workload = bulk }
  flow rival { cca = reno  workload = bulk }
  duration = 3s
  measure = [harm.goodput(victim)]
}
"""
WORDS = """fexp 1
experiment words {
  hosts { min_rto = 20ms  notsent_lowat = 16kB }
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: fifo(20pkt)) with {
    link left -> right {
      loss = loss(100%, of: ce, above: 1000B)  transmit = bucket(burst: 15kB, peak: 10Mbit/s)
    }
    link right -> left { reorder = reorder(50%, gap: 2)  corrupt = 1% }
  }
  flow f { cca = reno  workload = bulk }
  duration = 3s
  measure = [goodput]
}
"""
# Beside its object, which is committed: that of examples/own-cca.fexp has to be compiled.
CUSTOM = """fexp 1
experiment custom {
  sweep { other = [reno, bpf("refused.bpf.o")] }
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: fifo(1bdp))
  flow reno { cca = reno  workload = bulk }
  flow other { cca = other  workload = bulk }
  duration = 3s
  measure = [goodput]
}
"""
PROGRAM = """fexp 1
experiment program {
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: fifo(1bdp))
  flow own {
    cca = reno
    workload = program(
      server: ["./server.py", "{port}"], client: ["./client.py", "{server}"], ready: "here I am")
  }
  duration = 3s
  measure = [goodput]
}
"""
NAT = """fexp 1
experiment nat {
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms) with {
    nat home { at = right  to = left  mode = rebind(1s) }
  }
  flow f { over = quic  cca = cubic  workload = bulk }
  duration = 2s
  measure = [goodput]
}
"""
ENTERING = """fexp 1
experiment entering {
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: fifo(1bdp)) with { link left -> right { at enters(f, drain) { rate = 1Mbit/s } } }
  flow f { over = quic  cca = bbr3  workload = bulk }
  duration = 3s
  measure = [goodput]
}
"""
INTEROP = """fexp 1
experiment interop {
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: fifo(1bdp))
  flow q { over = quic(image: "quic.tar")  cca = reno  workload = file(1MB) }
  duration = 3s
  measure = [goodput]
}
"""
PROGRAM_FILE = str(EXAMPLES / "program" / "program.fexp")
CUSTOM_FILE = str(Path(__file__).parents[1] / "engines" / "bpf" / "custom.fexp")
PROGRAM_IMAGE = {
    "path": "images/web.tar",
    "sha256": "0123456789abcdef" * 4,
    "bytes": 10_240,
    "environment": [["PATH", "/usr/bin:/bin"]],
}
DISCIPLINE = {
    "kind": "qdisc",
    "discipline": "hhf",
    "limit_packets": 50,
    "arguments": [["quantum", 3000], ["evict_timeout", "1s"], ["bare", None]],
}


@cache
def corpus() -> dict[str, tuple[Compilation, Cell]]:
    """Return compilations, and a cell of each, by name; none is run."""
    found = {}
    for name in NAMES:
        found[name] = _with_cell(compile_spec(EXAMPLES / f"{name}.fexp"))
    texts = {"rest": REST, "image": IMAGE, "drawn": DRAWN, "detour": DETOUR, "paths": PATHS}
    texts |= {"words": WORDS, "tunnel": TUNNEL, "policed": POLICED, "bucket": BUCKET}
    texts |= {"harm": HARM, "ways": WAYS, "nat": NAT, "entering": ENTERING}
    for name, text in texts.items():
        settings = {"speed": "3Mbit/s"} if name == "rest" else {}
        found[name] = _with_cell(compilation_of(text, f"{name}.fexp", "fake", settings=settings))
    found["program"] = _with_cell(compilation_of(PROGRAM, PROGRAM_FILE))
    with tempfile.TemporaryDirectory() as folder:
        config = {"Env": ["PATH=/bin", "FAIRC_CCAS=reno"], "WorkingDir": "/"}
        entry = ("run_endpoint.sh", b"#!/bin/sh\n")
        docker(Path(folder, "quic.tar"), [layer([entry])], config=config)
        found["interop"] = _with_cell(compilation_of(INTEROP, f"{folder}/interop.fexp"))
    found["custom"] = _with_cell(compilation_of(CUSTOM, CUSTOM_FILE))
    found["own"] = _with_cell(compilation_of(OWN, "own.fexp", "fake", experiment="own"))
    compilation, cell = found["image"]
    document = json.loads(cell_json(cell))
    for node in document["nodes"]:
        for interface in node["interfaces"]:
            if interface["queue"] is not None:
                interface["queue"] = DISCIPLINE
    document["kernel"] = {"name": "l4s", "sha256": "0123456789abcdef" * 4}
    found["discipline"] = compilation, parse_cell(json.dumps(document))
    compilation, cell = found["program"]
    document = json.loads(cell_json(cell))
    document["flows"][0]["workload"]["server_image"] = PROGRAM_IMAGE
    found["program image"] = compilation, parse_cell(json.dumps(document))
    return found


def _with_cell(compilation: Compilation) -> tuple[Compilation, Cell]:
    """Return a compilation and its first cell, or the first with a BPF program or baselines."""
    cells = compilation.cells()
    first = next(cells)
    others = (
        cell
        for cell, _ in zip(cells, range(50), strict=False)
        if cell.baselines or any(flow.cca_object for flow in cell.flows)
    )
    return compilation, next(others, first)

"""QUIC compared with TCP: in the virtual-time machine at 1 Mbit/s, and over this machine's
loopback.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from fairc.cell.expansion import expand
from fairc.compiler.binary import find_endpoints
from fairc.runtime.engines.vm import VmEngine

from .common import Figure, only_cell, whole_cell

BESIDE_TCP = """fexp 1
experiment bench {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(62250B))
  flow tcp  { cca = cubic(hystart: off)  workload = file(10MB) }
  flow quic { over = quic  cca = cubic   workload = file(10MB) }
  measure = [fairness, goodput]
}
"""

LOOPBACK = """fexp 1
experiment bench {
  topology = bottleneck(rate: 100Mbit/s, rtt: 50ms, queue: fifo(1bdp))
  flow quic { over = quic  cca = CCA  start = 0s  workload = file(1GB) }
  measure = [goodput]
}
"""
LEAD_NS = 500_000_000
CCAS = ("cubic", "bbr3", "prague")


def quic(engine: VmEngine) -> Iterator[Figure]:
    """Measure a download over QUIC beside one over TCP, and QUIC over loopback."""
    cell = only_cell(BESIDE_TCP)
    runs = [whole_cell(engine, cell) for _ in range(3)]
    ratio = statistics.median(virtual / wall for virtual, wall, _ in runs)
    verdicts = ", ".join(sorted({verdict for *_, verdict in runs}))
    yield Figure(
        f"virtual seconds per wall second, 10 MB over TCP next to 10 MB over QUIC at 1 Mbit/s"
        f" ({verdicts})",
        f"{ratio:.1f}",
        "at least 8",
    )
    # In turns, so that what else the machine does falls on all of them alike.
    turns = [{cca: loopback(cca) for cca in CCAS} for _ in range(3)]
    found = {cca: [turn[cca] for turn in turns] for cca in CCAS}
    rate_bps = statistics.median(rate_bps for rate_bps, _ in found["cubic"])
    yield Figure(
        "QUIC over loopback, 1 GB, server and client on one core",
        f"{rate_bps / 1e9:.2f} Gbit/s",
        "at least 1 Gbit/s",
    )
    cpu_s = {cca: statistics.median(used for _, used in runs) for cca, runs in found.items()}
    for cca in ("bbr3", "prague"):
        yield Figure(
            f"CPU time of 1 GB over QUIC with {cca} over loopback, of that with cubic",
            f"{cpu_s[cca] / cpu_s['cubic']:.2f}",
            "at most 1.2",
        )


def loopback(cca: str) -> tuple[float, float]:
    """Return the goodput of one download over loopback, bit/s, from first to last byte, and the CPU
    time of both ends, s.
    """
    cell = only_cell(LOOPBACK.replace("CCA", cca))
    before = _children_s()
    document = expand(cell)
    here = {"address": "127.0.0.1", "port": 45001}
    epoch_ns = time.time_ns() + LEAD_NS
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        process = None
        for program in (*document["servers"], *document["clients"]):
            role, description = program["role"], json.dumps(program["description"] | here)
            log = stack.enter_context(Path(folder, role).open("wb"))
            command = [str(find_endpoints()), role, "--epoch-ns", str(epoch_ns), description]
            process = subprocess.Popen(command, cwd=folder, stdout=log)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        assert process is not None and process.wait(timeout=120) == 0, "the client failed"
        lines = Path(folder, "quic-client").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    first, done = (
        next(event for event in events if event["event"] == name) for name in ("first-byte", "done")
    )
    bps = float(8 * done["bytes"] / ((done["t_ns"] - first["t_ns"]) * 1e-9))
    return bps, _children_s() - before


def _children_s() -> float:
    """Return the CPU time of programs that have ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

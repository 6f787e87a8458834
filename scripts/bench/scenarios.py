"""The same scenarios on every engine and in ns-3: CUBIC and BBR over one bottleneck, captures
on.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from fairc.runtime.engines.base import Engine
from fairc.runtime.engines.mininet import MininetEngine
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.host.faults import EngineUnavailable

from .cells import CELL
from .common import cpu_s, only_cell, timed

# Name, Mbit/s, s, runs on uml, target of CPU s on uml, whether the vm engine can run it.
TABLE = (
    ("80 s at 1 Mbit/s", 1, 80, 5, 0.6, True),
    ("20 s at 10 Mbit/s", 10, 20, 5, 0.6, True),
    ("20 s at 100 Mbit/s", 100, 20, 3, 2.5, True),
    ("5 s at 1 Gbit/s", 1000, 5, 3, 5.0, False),
)
NS3 = Path(__file__).parent / "ns3" / "bottleneck.cc"
NS3_PACKAGES = ("ns3-applications", "ns3-internet", "ns3-point-to-point", "ns3-traffic-control")
# Without delay, and through token buckets: a host's kernel may have no netem.
IN_REAL_TIME = """fexp 1
topology pair() {{
  node one, two, client
  router r
  link one -- r {{ rate = 10Gbit/s  transmit = bucket }}
  link two -- r {{ rate = 10Gbit/s  transmit = bucket }}
  link r -- client {{ rate = {rate}Mbit/s  queue = fifo(50ms)  transmit = bucket }}
}}
experiment bench {{
  topology = pair()
  flow cubic {{ from = one  to = client  cca = cubic  workload = bulk }}
  flow bbr   {{ from = two  to = client  cca = bbr    workload = bulk }}
  duration = {seconds}s
  measure = [fairness, goodput]
}}
"""
INTRODUCTION = (
    "CUBIC and BBR from two servers over one bottleneck, base RTT 50 ms, queue of two BDPs, three"
    " captures. `mininet` runs in real time and without the delay, which a host's kernel may not"
    " support; its queue holds 50 ms. ns-3 has its own TCP model and captures the same packets. CPU"
    " time covers all processes of a cell, without its analysis."
)
HEADER = (
    (
        "| two flows for | uml, CPU s | target | vm, CPU s | mininet, wall s and CPU s | ns-3,"
        " CPU s | ns-3 / uml |"
    ),
    "|---|---|---|---|---|---|---|",
)


def scenarios(uml: UmlEngine, vm: VmEngine) -> Iterator[str]:
    """Measure every scenario; yield one row of the table for each."""
    mininet, compiled = _mininet(), ns3()
    for what, rate, seconds, count, target, emulated in TABLE:
        rest = f"duration = {seconds}s"
        cell = only_cell(CELL.format(rate=f"{rate}Mbit/s", workload="bulk", rest=rest))
        mine = statistics.median(cpu_s(uml, cell) for _ in range(count))
        slow = f"{cpu_s(vm, cell):.1f}" if emulated else "not possible"
        other = ns3_cpu_s(compiled, rate, seconds) if compiled else None
        real = _real(mininet, rate, seconds)
        last = ("not installed", "") if other is None else (f"{other:.2f}", f"{other / mine:.1f}")
        yield f"| {what} | {mine:.2f} | {target:g} | {slow} | {real} | {last[0]} | {last[1]} |"


def _mininet() -> Engine | None:
    engine = MininetEngine(lambda text: print(text, file=sys.stderr))
    try:
        engine.prepare()
    except EngineUnavailable as lacking:
        print(f"nothing in real time: {lacking}", file=sys.stderr)
        return None
    return engine


def _real(engine: Engine | None, rate: int, seconds: int) -> str:
    if engine is None:
        return "not measured"
    cell = only_cell(IN_REAL_TIME.format(rate=rate, seconds=seconds))
    spent: list[float] = []
    measure: Callable[[], object] = lambda: spent.append(cpu_s(engine, cell))
    wall_s = timed(measure)
    return f"{wall_s:.0f}, {spent[0]:.1f}"


def ns3() -> Path | None:
    """Compile the scenario; return its program, or None without ns-3 on this machine."""
    if shutil.which("g++") is None or shutil.which("pkg-config") is None:
        return None
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", *NS3_PACKAGES],
        capture_output=True,
        text=True,
        check=False,
    )
    if flags.returncode:
        return None
    path = Path(tempfile.mkdtemp(prefix="fairc-ns3-")) / "bottleneck"
    subprocess.run(["g++", "-O2", "-o", path, NS3, *flags.stdout.split()], check=True)
    return path


def ns3_cpu_s(program: Path, rate_mbps: int, seconds: int) -> float:
    """Run two flows over a bottleneck in ns-3; return the CPU time, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        command = [program, str(rate_mbps), str(seconds), "1"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

"""Measure the cells of one checkout: `python -m cost.tree`, with that checkout on PYTHONPATH.

It prints a line of JSON for each scenario. Only what old and new trees share is used.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairc import dsl
from fairc.compiler import compile
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.host import bounds
from fairc.runtime.uml import confinement

PAIR = """
  topology = bottleneck(rate: {rate}, rtt: 50ms, queue: fifo(2bdp))
  flow cubic {{ cca = cubic  workload = bulk }}
  flow bbr   {{ cca = bbr    workload = bulk }}
  duration = {seconds}s
  measure = [goodput]
"""
SCENARIOS = {
    "two flows, 80 s at 1 Mbit/s": PAIR.format(rate="1Mbit/s", seconds=80),
    "two flows, 20 s at 10 Mbit/s": PAIR.format(rate="10Mbit/s", seconds=20),
    "two flows, 20 s at 100 Mbit/s": PAIR.format(rate="100Mbit/s", seconds=20),
    "two flows, 5 s at 1 Gbit/s": PAIR.format(rate="1Gbit/s", seconds=5),
    "two flows over QUIC, 10 s at 20 Mbit/s": """
  topology = bottleneck(rate: 20Mbit/s, rtt: 50ms, queue: fifo(2bdp))
  flow cubic { over = quic  cca = cubic  workload = bulk }
  flow bbr   { over = quic  cca = bbr    workload = bulk }
  duration = 10s
  measure = [goodput]
""",
    "a hundred flows, 10 s at 50 Mbit/s": """
  topology = bottleneck(rate: 50Mbit/s, rtt: 50ms, queue: fifo(1bdp))
  flow cubic { cca = cubic  count = 100  workload = bulk }
  duration = 10s
  measure = [goodput]
""",
    "three page loads through a PEP": """
  topology = geo(pep: split)
  flow web { cca = bbr  workload = load(page(html: 30kB, objects: 30 of 15kB), client: plain, http: h2, loads: 3) }
  measure = [plt]
""",
}


class Memory(threading.Thread):
    """Records the most memory that the processes below this one have at once (PSS), bytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self.over = threading.Event()

    def run(self) -> None:
        """Read it every 50 ms until `over` is set."""
        while not self.over.wait(0.05):
            self.most = max(
                self.most, sum(map(pss, set(bounds.family(os.getpid())) - {os.getpid()}))
            )


def pss(pid: int) -> int:
    """Return the proportional memory of a process, bytes; 0 if it has ended."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return int(re.findall(r"^Pss: +(\d+) kB", rollup, re.MULTILINE)[0]) << 10
    except (OSError, IndexError):
        return 0


@contextmanager
def watched(memory: bool) -> Iterator[Memory]:
    """Record memory meanwhile, or not: reading it costs time."""
    watch = Memory()
    if memory:
        watch.start()
    yield watch
    watch.over.set()


def spent(who: int) -> float:
    """Return the CPU time of this process or of the children that it has waited for, s."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def main(memory: bool) -> None:
    """Run and analyse each scenario. memory: whether its memory is read, in place of the time."""
    # The CPU time of a guest in a PID namespace of its own does not reach its parent: without one.
    confinement.missing = lambda: "measured"
    engine = UmlEngine()
    engine.prepare()
    for name, text in SCENARIOS.items():
        experiment, found = dsl.load(
            dsl.Source("cost.fexp", f"fexp 1\nexperiment cost {{{text}}}\n")
        )
        assert experiment is not None, dsl.render_full(found)
        compilation = compile(experiment)
        (cell,) = compilation.cells()
        with tempfile.TemporaryDirectory() as folder, watched(memory) as watch:
            before = spent(resource.RUSAGE_CHILDREN)
            raw = engine.run(cell, Path(folder))
            assert not raw.error, raw.error
            run_s = spent(resource.RUSAGE_CHILDREN) - before
            before = spent(resource.RUSAGE_SELF)
            analysis = analyse(cell, raw.artefacts, compilation.plan.requests)
            assert str(analysis.verdict) == "valid", analysis.reasons
            analysis_s = spent(resource.RUSAGE_SELF) - before
        found_here = {"pss": watch.most} if memory else {"run_s": run_s, "analysis_s": analysis_s}
        print(json.dumps({"name": name, **found_here}), flush=True)
    engine.close()


if __name__ == "__main__":
    main("--memory" in sys.argv)

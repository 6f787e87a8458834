"""Times from a file as the endpoints draw them, against the file: Kolmogorov and Smirnov."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from specs import only_cell_of

from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement import load

SPEC = """fexp 1
experiment sizes {
  topology = bottleneck(rate: 100Mbit/s, rtt: 10ms)
  flow a { cca = cubic  start = 0s  workload = requests(size: 2kB, every: empirical("gaps.csv")) }
  duration = 10s
  measure  = [fct]
}
"""
ROWS = ((2.0, 0.1), (10.0, 0.1), (20.0, 0.8), (60.0, 1.0))
"""Gaps, ms: a tenth at 2 ms, none between 2 and 10, then two slopes."""


def share(gap_ms: float) -> float:
    """The distribution function, read plainly."""
    if gap_ms < ROWS[0][0]:
        return 0.0
    below = ROWS[0]
    for row in ROWS[1:]:
        if gap_ms < row[0]:
            return below[1] + (row[1] - below[1]) * (gap_ms - below[0]) / (row[0] - below[0])
        below = row
    return 1.0


def test_gaps_between_requests_are_those_of_the_file(engine: Engine, tmp_path: Path) -> None:
    """Some 520 gaps of 19.3 ms on average, each within a microsecond of what was drawn."""
    rows = "".join(f"{gap}, {100 * part}\n" for gap, part in ROWS)
    (tmp_path / "gaps.csv").write_text(f"gap [ms], cdf [%]\n{rows}")
    cell = only_cell_of(SPEC, str(tmp_path / "file.fexp"))
    result = engine.run(cell, tmp_path)
    assert result.error == ""
    (flow,) = load(cell, result.artefacts).flows
    starts = sorted(flow.endpoints.requests.start_s)
    gaps = sorted(1e3 * (b - a) for a, b in pairwise(starts))
    count = len(gaps)
    assert count > 400
    edge = 0.05  # ms: a system call and the resolution of the clock
    above = max((n + 1) / count - share(gap + edge) for n, gap in enumerate(gaps))
    below = max(share(gap - edge) - n / count for n, gap in enumerate(gaps))
    assert max(above, below) < 1.95 / count**0.5

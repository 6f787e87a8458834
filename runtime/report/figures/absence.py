"""Flows of a figure that some of its configurations do not have, for its caption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from fairc.dsl.model.names import called
from fairc.runtime.formatting import counted, listed, one_line
from fairc.runtime.report.run import Run

MOST = 4
"""At most this many flows are named."""


def absent_flows(run: Run, flows: Sequence[str], configurations: Collection[str]) -> str:
    """Say from how many configurations each flow, or group, is absent; empty if none is."""
    missing: Counter[str] = Counter()
    for configuration in configurations:
        there = {name for flow in run.scenes[configuration].flows for name in called(flow)}
        missing.update(flow for flow in flows if flow and flow not in there)
    if not missing:
        return ""
    parts = [
        f"`{one_line(flow)}` from {counted(missing[flow], 'configuration')}"
        for flow in flows
        if missing[flow]
    ]
    if len(parts) > MOST:
        parts[MOST - 1 :] = [f"{len(parts) - MOST + 1} more flows from some"]
    return f"Absent: {listed(parts)}"

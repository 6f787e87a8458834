"""Names of groups, panels and axes in captions, titles and legends; flows that are absent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from fairc.dsl.model.metric_names import unmarked
from fairc.dsl.model.names import called
from fairc.runtime.formatting import counted, listed, one_line
from fairc.runtime.metrics.registry import presentation
from fairc.runtime.report.run import Run

MOST = 4
"""At most this many absent flows are named."""


def worded(names: Sequence[str], key: Sequence[str]) -> str:
    """Return `loss = 1%, flow = bbr`."""
    return ", ".join(
        f"{one_line(n)} = {one_line(v) or 'none'}" for n, v in zip(names, key, strict=True)
    )


def headed(*parts: str) -> str:
    """Return what a group is called in a text: its panel's heading and its own name, `all` without
    either.
    """
    return ", ".join(filter(None, parts)) or "all"


def valued(key: Sequence[str]) -> str:
    """Return `1%, bbr`: for labels whose names are in the heading."""
    return ", ".join(one_line(v) or "none" for v in key)


def by_text(names: Sequence[str]) -> str:
    """Return `by loss and flow`, or nothing."""
    return f"by {listed([one_line(n) for n in names])}" if names else ""


def sides_of(run: Run, metric: str) -> str:
    """Say which session a value with sides favours below 0, and which above; empty for a metric
    without sides, or of sessions that it names itself.
    """
    name = unmarked(metric)
    if len(run.sessions) != 2 or name != metric or not presentation(metric).has_sides:
        return ""
    first, second = map(one_line, run.sessions)
    return f"{name.rpartition('.')[2]} below 0: {first} dominates; above 0: {second}."


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

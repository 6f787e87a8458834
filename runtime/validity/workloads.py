"""Workloads did what was planned: the checks that a workload has of its own."""

from __future__ import annotations

from collections.abc import Iterator

from fairc.mechanisms import find
from fairc.runtime.measurement import Measurement

from .finding import Finding


def workloads(measurement: Measurement) -> Iterator[Finding]:
    """Yield what the `check.py` of each flow's workload finds; no captured packet enters."""
    for flow in measurement.flows:
        if own := find("workloads", flow.plan.workload.kind, "check"):
            yield from own.check(measurement, flow)

"""The idle path has the base RTT of the plan."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairc.runtime.measurement import Measurement

from .finding import Finding

BASE_RTT_TOLERANCE_S, BASE_RTT_TOLERANCE = 0.5e-3, 0.01


def base_rtt(measurement: Measurement) -> Iterator[Finding]:
    """Rules 1, 20: the idle path has the plan's base RTT, within 0.5 ms or 1 %."""
    for flow in measurement.flows:
        pings, planned_s = flow.pings, flow.plan.base_rtt_ns * 1e-9
        if pings is None or not len(pings.rtts_s):
            yield Finding("invalid", f"flow {flow.name}: no ping came back on the idle network")
            continue
        measured_s = float(np.median(pings.rtts_s))
        if abs(measured_s - planned_s) > max(BASE_RTT_TOLERANCE_S, BASE_RTT_TOLERANCE * planned_s):
            yield Finding(
                "invalid",
                f"flow {flow.name}: the base RTT is {measured_s * 1e3:.2f} ms,"
                f" not {planned_s * 1e3:.2f} ms",
            )

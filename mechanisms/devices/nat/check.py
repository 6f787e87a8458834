"""NATs changed their ports when the plan says so."""

from __future__ import annotations

from collections.abc import Iterator

from fairc.runtime.measurement import Measurement
from fairc.runtime.validity.finding import Finding, busy, invalid, see
from fairc.runtime.validity.service import LATE_CHANGE_S, due_s

from .record import NatRecord


def check(measurement: Measurement) -> Iterator[Finding]:
    """Rule 21: ports change when the plan says so, within 5 ms."""
    for record in measurement.devices.get("nat", ()):
        assert isinstance(record, NatRecord)
        name, until_s = record.plan.name, due_s(measurement)
        planned = sum(at_ns * 1e-9 < until_s for at_ns in record.plan.times_ns)
        if len(record.late_s) < planned:
            yield invalid(
                f"the ports of the NAT {name} changed {len(record.late_s)} times, not {planned};"
                f" {see('cell.json')}"
            )
        late_s = max(record.late_s, default=0.0)
        if late_s > LATE_CHANGE_S:
            yield invalid(
                f"the ports of the NAT {name} changed {late_s * 1e3:.1f} ms late:"
                f" {busy(measurement)}"
            )

"""Readings that compare two programs: iperf3, which the field trusts, and fairc's endpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairc.runtime.measurement import Measurement
from fairc.runtime.metrics import goodput

from .reading import Reading, near

GOODPUT_SHARE = 0.01


def iperf3(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the goodput of iperf3, against that of the endpoints on the same path.

    Flows come in pairs: `NAME_own` and `NAME_iperf3`.
    """
    for cell in cells:
        flows = {flow.name: flow for flow in cell.flows}
        for name in (name.removesuffix("_own") for name in flows if name.endswith("_own")):
            own, other = (
                goodput.of_flow(cell, flows[f"{name}_{program}"]).value
                for program in ("own", "iperf3")
            )
            expected = float("nan") if own is None else own
            yield near(
                f"goodput of iperf3 over {name.upper()}",
                setting,
                float("nan") if other is None else other,
                expected,
                within=GOODPUT_SHARE * expected,
                unit="bit/s",
                source="the endpoints, on the same path",
            )

"""Stored results of made-up cells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairc.compiler.plan import Axis, Plan
from fairc.runtime.measurement import pages
from fairc.runtime.measurement.results import CellResult, FlowResult, MetricValue
from fairc.runtime.measurement.series import Series
from fairc.runtime.repetitions.reading import Measurements, measured
from fairc.runtime.store.schema import Stored

from madecell import made_cell  # isort: skip

AXES = ("loss", "Cell")
"""Of the bindings of all of them."""


def of(folder: Path, axes: Sequence[str], **header: Any) -> Measurements:
    """What tables say that cells measured; header: of their plan, where that matters."""
    names = tuple(Axis(name=name, values=("x",)) for name in axes)
    return measured(folder, Plan.model_construct(axes=names, **header))


def series(seed: int) -> Series:
    """Series of two flows, one queue, three slots."""
    floats = np.arange(6, dtype=np.float64).reshape(2, 3) + seed
    return Series(
        flows=np.array(["a", "b"]),
        queues=np.array(["r1/r1-eth2"]),
        t_s=np.array([0.0, 0.1, 0.2]),
        ip_bytes=floats,
        delivered_bytes=floats / 2,
        active=floats > 2,
        queue_bytes=floats[:1] * 100,
        queue_packets=floats[:1],
        sample_flow=np.array([0, 1]),
        sample_connection=np.array([0, 3]),
        sample_t_s=np.array([0.1, 0.2]),
        sample_cwnd_packets=np.array([10.0, 11.0]),
        sample_rtt_s=np.array([0.05, np.nan]),
        sample_in_flight_packets=np.array([9.0, np.nan]),
        sample_pacing_bps=np.array([np.nan, 1e6]),
        video_flow=np.array([1, 1]),
        video_connection=np.array([0, 1]),
        video_startup_s=np.array([0.5, np.nan]),
        video_stalls=np.array([2, 0]),
        video_stalled_s=np.array([3.5, 0.0]),
        video_qoe=np.array([2.9, np.nan]),
        video_ended=np.array([True, False]),
        request_flow=np.array([0]),
        request_connection=np.array([0]),
        request_number=np.array([7]),
        request_start_s=np.array([1.5]),
        request_fct_s=np.array([0.25]),
        request_bytes=np.array([2**33]),
        loads=pages.rows({"flow": int}, []),
        resources=pages.rows({"flow": int}, []),
        sequences=pages.rows({"flow": int}, []),
        trace_metric=np.array(["fmp.K", "cwnd"]),
        trace_flow=np.array(["", "b"]),
        trace_of=np.array([0, 0, 1]),
        trace_t_s=np.array([0.1, 0.2, 0.1]),
        trace_value=np.array([0.0, -0.25, 10.0]),
        busy_t_s=np.array([0.1]),
        busy_share=np.array([0.2]),
        loss_expected=np.array([0.01]),
        loss_sent=np.array([100]),
        loss_lost=np.array([1]),
    )


def stored(number: int, loss: str, goodput: float | None = 1.0, **changes: Any) -> Stored:
    """One cell with a goodput for each flow; a's is as given, b's ten times that."""
    cell = made_cell(bindings={"loss": loss, "Cell": "x"}, repetition=number, id=f"{number:016x}")
    flows = tuple(
        FlowResult(
            flow=name,
            transport="tcp",
            cca="cubic",
            connections=1,
            start_s=0.0,
            first_byte_s=None,
            end_s=2.5,
            completed=True,
            bytes=2**40,
            goodput_bps=goodput,
        )
        for name in "ab"
    )
    values = [
        MetricValue(metric="goodput", flow="a", value=goodput, unit="bit/s"),
        MetricValue(metric="goodput", flow="b", value=goodput and 10 * goodput, unit="bit/s"),
        MetricValue(metric="fairness.F", flow=None, value=None, unit="1", reason="too short"),
    ]
    fields: dict[str, Any] = {
        "cell": cell.id,
        "key": f"key{number}",
        "status": "ok",
        "verdict": "valid",
        "ended_by": "finished",
        "virtual_s": 80.0,
        "wall_s": 6.0,
        "engine": "fake",
        "image": "none",
        "flows": flows,
        "metrics": tuple(values),
    }
    result = CellResult(**(fields | changes))
    return Stored(cell, result, series(number) if result.status == "ok" else None)


def failed(number: int, loss: str) -> Stored:
    return stored(
        number, loss, status="failed", verdict=None, error="it hung", flows=(), metrics=()
    )


def invalid(number: int, loss: str) -> Stored:
    return stored(number, loss, 1e9, verdict="invalid", reasons=("too slow", "too late"))

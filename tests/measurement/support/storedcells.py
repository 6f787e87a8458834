"""Stored results of made-up cells."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fairc.compiler.plan import Axis, Cell, Plan
from fairc.runtime.measurement.results import CellResult, FlowResult, MetricValue
from fairc.runtime.measurement.series import Series
from fairc.runtime.repetitions.reading import Measurements, measured
from fairc.runtime.store.columns import Stored
from fairc.runtime.store.tables import write_series

from madecell import made_cell  # isort: skip

AXES = ("loss", "Cell")
"""Of the bindings of all of them."""


def of(folder: Path, axes: Sequence[str], **header: Any) -> Measurements:
    """What tables say that cells measured; header: of their plan, where that matters."""
    names = tuple(Axis(name=name, values=("x",)) for name in axes)
    return measured(folder, Plan.model_construct(axes=names, **header))


FLOATS = np.arange(1.0, 7.0)
SERIES: Series = {
    "slots": {
        "flow": [*"aaabbb"],
        "slot": [0, 1, 2] * 2,
        "t_s": [0.0, 0.1, 0.2] * 2,
        "ip_bytes": FLOATS,
        "delivered_bytes": FLOATS / 2,
        "active": FLOATS > 2,
    },
    "samples": {
        "flow": ["a", "b"],
        "connection": [0, 3],
        "t_s": [0.1, 0.2],
        "cwnd_packets": [10.0, 11.0],
        "in_flight_packets": [9.0, np.nan],
        "rtt_s": [0.05, np.nan],
        "pacing_bps": [np.nan, 1e6],
        "ssthresh_packets": [np.nan, 20.0],
    },
    "videos": {
        "flow": ["b", "b"],
        "connection": [0, 1],
        "startup_s": [0.5, None],
        "stalls": [2, 0],
        "stalled_s": [3.5, 0.0],
        "qoe": [2.9, None],
        "ended": [True, False],
    },
    "requests": {
        "flow": ["a"],
        "connection": [0],
        "request": [7],
        "start_s": [1.5],
        "fct_s": [0.25],
        "bytes": [2**33],
    },
    "traces": {
        "metric": ["fmp.K", "fmp.K", "cwnd"],
        "flow": [None, None, "b"],
        "t_s": [0.1, 0.2, 0.1],
        "value": [0.0, -0.25, 10.0],
    },
    "queues": {
        "queue": ["r1/r1-eth2"] * 3,
        "t_s": [0.1, 0.2, 0.3],
        "bytes": FLOATS[:3] * 100,
        "packets": FLOATS[:3],
        "max_bytes": FLOATS[:3] * 200,
        "max_packets": FLOATS[:3] * 2,
    },
}
"""Tables of two flows, one queue, three slots."""
_written = TemporaryDirectory()
atexit.register(_written.cleanup)
FOLDER = Path(_written.name)
write_series(FOLDER, SERIES)


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
    if changes.get("status", "ok") == "ok":
        fields["series"] = tuple(SERIES)
    result = CellResult(**(fields | changes))
    return Stored(cell, result, FOLDER)


def result_of(cell: Cell, values: Sequence[MetricValue], **changes: Any) -> CellResult:
    """The result of a cell: valid, with these values, but for what changes."""
    fields: dict[str, Any] = {
        "cell": cell.id,
        "key": "",
        "status": "ok",
        "verdict": "valid",
        "virtual_s": 0,
        "wall_s": 0,
        "engine": "uml",
        "image": "",
        "metrics": tuple(values),
        "series": (),
    }
    return CellResult(**(fields | changes))


def failed(number: int, loss: str) -> Stored:
    return stored(
        number, loss, status="failed", verdict=None, error="it hung", flows=(), metrics=()
    )


def invalid(number: int, loss: str) -> Stored:
    return stored(number, loss, 1e9, verdict="invalid", reasons=("too slow", "too late"))

"""The series that are kept of a cell: what tables and figures are made from, one npz file."""

from __future__ import annotations

import io
import math
import struct
import tokenize
import zipfile
import zlib
from dataclasses import MISSING, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic
from numpy.typing import NDArray

from .artefacts import ArtefactError
from .buckets import bucket_rows, nothing
from .pages import Rows, page_series, rows
from .record import FlowRecord, Measurement

Floats = NDArray[np.float64]
# How much series may unpack to: far beyond what `save` reaches, so that an untrusted file cannot
# fill memory.
MOST_BYTES, MOST_TIMES = 256 << 20, 100
ZIP = b"PK"
HEADERS = {(1, 0): read_array_header_1_0, (2, 0): read_array_header_2_0}
# What zipfile and NumPy raise for a file that `save` has not written.
UNREADABLE = (
    *(OSError, ValueError, TypeError, EOFError, RuntimeError, OverflowError, struct.error),
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError, SyntaxError, NotImplementedError),
)


@dataclass(frozen=True, slots=True)
class Trace:
    """The course of a metric over time: its name (`fmp.K`), and its flow, if it belongs to one.

    t_s: s after the epoch, increasing; values: in the unit of the metric; both of shape (N,).
    """

    metric: str
    flow: str | None
    t_s: Floats
    values: Floats


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve of a metric over something other than time: `name` says which; scale: 0 for none.

    x, y, low, high: shape (N,), in the units of the metric's definition; NaN where there is
    nothing.
    """

    metric: str
    flow: str | None
    name: str
    scale: int
    x: Floats
    y: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Series:
    """Arrays of one cell; slots of 100 ms, t_s their starts, s after the epoch.

    flows: names, shape (F,). queues: `node/interface`, shape (Q,). t_s: shape (T,).
    ip_bytes: at the bottleneck's exit; delivered_bytes: to the application; active: whether the
    slot lies wholly between first data and end; all of shape (F, T).
    queue_bytes, queue_packets: backlog at the end of each slot, shape (Q, T).
    sample_*: what senders reported, shape (N,), by flow and then time; sample_flow indexes flows;
    rtt_s is NaN before the first measurement, pacing_bps where there is none, in_flight_packets
    where the endpoint did not say.
    video_*: shape (V,), by flow and then connection; startup_s and qoe are NaN for a video that
    never started. request_*: requests that were begun, shape (R,), by flow and then start; fct_s is
    NaN for one that was not answered in full.
    loads, resources, sequences: of page loads, rows with fields (pages.py).
    trace_*: courses of metrics: trace_metric and trace_flow (empty: of the cell) of each of C;
    trace_of, trace_t_s, trace_value: of shape (P,), in order; trace_of indexes the C.
    curves: of metrics, rows with the fields metric, flow (empty: of the cell), curve, scale, x, y,
    low, high.
    busy_t_s, busy_share: ends of the monitor's slots and the machine's CPU load, shape (M,).
    loss_expected, loss_sent, loss_lost: random loss behind the bottlenecks, shape (L,): its
    probability in the plan, packets exposed to it, packets lost.
    buckets: of policers, rows with fields (buckets.py).
    """

    flows: NDArray[np.str_]
    queues: NDArray[np.str_]
    t_s: Floats
    ip_bytes: Floats
    delivered_bytes: Floats
    active: NDArray[np.bool_]
    queue_bytes: Floats
    queue_packets: Floats
    sample_flow: NDArray[np.int64]
    sample_connection: NDArray[np.int64]
    sample_t_s: Floats
    sample_cwnd_packets: Floats
    sample_rtt_s: Floats
    sample_in_flight_packets: Floats
    sample_pacing_bps: Floats
    video_flow: NDArray[np.int64]
    video_connection: NDArray[np.int64]
    video_startup_s: Floats
    video_stalls: NDArray[np.int64]
    video_stalled_s: Floats
    video_qoe: Floats
    video_ended: NDArray[np.bool_]
    request_flow: NDArray[np.int64]
    request_connection: NDArray[np.int64]
    request_number: NDArray[np.int64]
    request_start_s: Floats
    request_fct_s: Floats
    request_bytes: NDArray[np.int64]
    loads: Rows
    resources: Rows
    sequences: Rows
    trace_metric: NDArray[np.str_]
    trace_flow: NDArray[np.str_]
    trace_of: NDArray[np.int64]
    trace_t_s: Floats
    trace_value: Floats
    busy_t_s: Floats
    busy_share: Floats
    loss_expected: Floats
    loss_sent: NDArray[np.int64]
    loss_lost: NDArray[np.int64]
    buckets: Rows = field(default_factory=nothing)
    curves: Rows = field(default_factory=lambda: _curves(()))

    @property
    def nbytes(self) -> int:
        """Memory that the arrays take, bytes."""
        return sum(getattr(self, f.name).nbytes for f in fields(self))

    def save(self, path: Path) -> None:
        """Write the arrays; the same series give the same bytes."""
        np.savez_compressed(path, **{f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def open(cls, path: Path) -> Series:
        """Read what `save` wrote. Raises ArtefactError."""
        try:
            with path.open("rb") as file:
                arrays = _arrays(path, file)
            # Fields added later have a default, so that older files can still be read.
            wanted = [f for f in fields(cls) if f.default_factory is MISSING or f.name in arrays]
            return cls(**{f.name: arrays[f.name] for f in wanted})
        except KeyError as error:
            message = f"{path} is of another build of fairc: {error.args[0]}"
            raise ArtefactError(message) from None
        except UNREADABLE as error:
            raise ArtefactError(f"{path} is not a cell's series: {error}") from None


def _arrays(path: Path, file: BinaryIO) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file, which may be untrusted and must not decide how much memory is
    taken.

    Raises ValueError where an array is larger than its data, or the data unpacks to much more than
    the file.
    """
    if file.read(len(ZIP)) != ZIP:
        raise ValueError("it is no zip file")
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        most = max(MOST_BYTES, MOST_TIMES * path.stat().st_size)
        if sum(member.file_size for member in members) > most:
            raise ValueError(f"it unpacks to more than {most >> 20} MiB")
        found = {}
        for member in members:
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{member.filename} is packed by another method")
            try:
                found[member.filename.removesuffix(".npy")] = _array(archive.read(member))
            except ValueError as error:
                raise ValueError(
                    f"{member.filename} is not an array, or larger than its file: {error}"
                ) from None
        return found


def _array(content: bytes) -> NDArray[Any]:
    """Return the array in the bytes of an npy file (numpy.lib.format), without a copy.

    Raises ValueError.
    """
    size = {(1, 0): "<H", (2, 0): "<I"}.get(read_magic(io.BytesIO(content[:8])))
    if size is None:
        raise ValueError("its version is unknown")
    start = 8 + struct.calcsize(size) + struct.unpack_from(size, content, 8)[0]
    shape, fortran_order, dtype = _layout(content[:start])
    values = np.frombuffer(content, dtype, math.prod(shape), start)
    return values.reshape(shape, order="F" if fortran_order else "C")


@lru_cache(maxsize=1000)
def _layout(header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether in Fortran order, and dtype; the files of a run have few different
    headers.
    """
    file = io.BytesIO(header)
    shape, fortran_order, dtype = HEADERS[read_magic(file)](file)
    if dtype.hasobject or any(size < 0 for size in shape):
        raise ValueError("it holds objects, or fewer than no values")
    return shape, fortran_order, dtype


def collect(
    measurement: Measurement,
    loss: tuple[tuple[float, int, int], ...],
    traces: tuple[Trace, ...] = (),
    curves: tuple[Curve, ...] = (),
) -> Series:
    """Return the series of a measurement.

    loss: (probability, packets, lost) of each kind. traces, curves: of the requested metrics.
    """
    edges = measurement.edges()
    flows, queues = measurement.flows, measurement.queues
    slots = len(edges) - 1

    def slotted(values: list[Any], kind: type) -> NDArray[Any]:
        return np.array(values, kind).reshape(len(values), slots)

    def samples(column: str) -> Floats:
        parts = [getattr(flow.endpoints.samples, column) for flow in flows]
        return np.concatenate([np.empty(0), *parts])

    rtt_s = samples("rtt_s")
    counts = [len(flow.endpoints.samples.t_s) for flow in flows]
    return Series(
        flows=np.array([flow.name for flow in flows], np.str_),
        queues=np.array([queue.name for queue in queues], np.str_),
        t_s=edges[:-1],
        ip_bytes=slotted(
            [
                np.full(slots, np.nan) if measurement.unseen(flow) else flow.ip_bytes(edges)
                for flow in flows
            ],
            np.float64,
        ),
        delivered_bytes=slotted([flow.delivered_bytes(edges) for flow in flows], np.float64),
        active=slotted([flow.active(edges) for flow in flows], np.bool_),
        queue_bytes=slotted([queue.backlog_bytes(edges[1:]) for queue in queues], np.float64),
        queue_packets=slotted([queue.backlog_packets(edges[1:]) for queue in queues], np.float64),
        sample_flow=np.repeat(np.arange(len(flows)), counts),
        sample_connection=samples("connection").astype(np.int64),
        sample_t_s=samples("t_s"),
        sample_cwnd_packets=samples("cwnd_packets"),
        sample_rtt_s=np.where(rtt_s > 0, rtt_s, np.nan),
        sample_in_flight_packets=samples("in_flight_packets"),
        sample_pacing_bps=samples("pacing_bps"),
        **_videos(flows),
        **_requests(flows),
        **_pages(measurement),
        **_traces(traces),
        curves=_curves(curves),
        busy_t_s=measurement.busy.t_s,
        busy_share=measurement.busy.share,
        loss_expected=np.array([row[0] for row in loss], np.float64),
        loss_sent=np.array([row[1] for row in loss], np.int64),
        loss_lost=np.array([row[2] for row in loss], np.int64),
        buckets=bucket_rows(measurement),
    )


def _or_nan(number: float | None) -> float:
    return np.nan if number is None else number


def _videos(flows: tuple[FlowRecord, ...]) -> dict[str, NDArray[Any]]:
    rows = [(at, video) for at, flow in enumerate(flows) for video in flow.endpoints.videos]
    return {
        "video_flow": np.array([at for at, _ in rows], np.int64),
        "video_connection": np.array([v.connection for _, v in rows], np.int64),
        "video_startup_s": np.array([_or_nan(v.startup_s) for _, v in rows], np.float64),
        "video_stalls": np.array([len(v.stalls_s) for _, v in rows], np.int64),
        "video_stalled_s": np.array([v.stalled_s for _, v in rows], np.float64),
        "video_qoe": np.array([_or_nan(v.qoe) for _, v in rows], np.float64),
        "video_ended": np.array([v.ended for _, v in rows], np.bool_),
    }


def _requests(flows: tuple[FlowRecord, ...]) -> dict[str, NDArray[Any]]:
    parts = [flow.endpoints.requests for flow in flows]
    return {
        "request_flow": np.repeat(np.arange(len(flows)), [len(part) for part in parts]),
        "request_connection": np.concatenate([part.connection for part in parts]),
        "request_number": np.concatenate([part.number for part in parts]),
        "request_start_s": np.concatenate([part.start_s for part in parts]),
        "request_fct_s": np.concatenate([part.duration_s for part in parts]),
        "request_bytes": np.concatenate([part.bytes for part in parts]),
    }


def _pages(measurement: Measurement) -> dict[str, Any]:
    return dict(page_series(measurement))


_CURVE = {
    "metric": str,
    "flow": str,
    "curve": str,
    "scale": int,
    "x": float,
    "y": float,
    "low": float,
    "high": float,
}


def _curves(curves: tuple[Curve, ...]) -> Rows:
    return rows(
        _CURVE,
        [
            (curve.metric, curve.flow or "", curve.name, curve.scale, *point)
            for curve in curves
            for point in zip(curve.x, curve.y, curve.low, curve.high, strict=True)
        ],
    )


def _traces(traces: tuple[Trace, ...]) -> dict[str, NDArray[Any]]:
    return {
        "trace_metric": np.array([trace.metric for trace in traces], np.str_),
        "trace_flow": np.array([trace.flow or "" for trace in traces], np.str_),
        "trace_of": np.repeat(np.arange(len(traces)), [len(trace.t_s) for trace in traces]),
        "trace_t_s": np.concatenate([np.empty(0), *(trace.t_s for trace in traces)]),
        "trace_value": np.concatenate([np.empty(0), *(trace.values for trace in traces)]),
    }

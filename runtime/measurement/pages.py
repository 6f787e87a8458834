"""What is kept of page loads: rows of loads, of their objects, and of what their connections
received.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import Cell

from .loads import PageLoad, Resource
from .record import FlowRecord, Measurement
from .slow_start import is_split, slow_start_s

Rows = NDArray[np.void]
_UNKNOWN = float("nan")


def _text(value: str | None) -> str:
    return value or ""


def _number(value: float | None) -> float:
    return _UNKNOWN if value is None else float(value)


def rows(columns: Mapping[str, type], values: Sequence[Sequence[Any]]) -> Rows:
    """Return rows as one array with a field for each column; unknown numbers are NaN.

    columns: name -> `str`, `int`, `float` or `bool`.
    """
    kinds: list[tuple[str, str]] = []
    for place, (name, kind) in enumerate(columns.items()):
        longest = max((len(row[place]) for row in values), default=0) if kind is str else 0
        kinds.append(
            (name, {str: f"<U{max(1, longest)}", int: "<i8", float: "<f8", bool: "?"}[kind])
        )
    table = np.zeros(len(values), kinds)
    for place, (name, _) in enumerate(kinds):
        table[name] = [row[place] for row in values]
    return table


_LOAD: Mapping[str, tuple[type, Callable[[PageLoad], Any]]] = {
    "load": (int, lambda load: load.number),
    "wanted": (str, lambda load: load.wanted),
    "protocol": (str, lambda load: _text(load.protocol)),
    "status": (float, lambda load: _number(load.status)),
    "error": (str, lambda load: load.error),
    "client": (str, lambda load: load.client),
    "version": (str, lambda load: load.version),
    "begin_s": (float, lambda load: load.begin_s),
    "connect_start_s": (float, lambda load: _number(load.connect_start_s)),
    "secure_start_s": (float, lambda load: _number(load.secure_start_s)),
    "connect_end_s": (float, lambda load: _number(load.connect_end_s)),
    "request_start_s": (float, lambda load: _number(load.request_start_s)),
    "response_start_s": (float, lambda load: _number(load.response_start_s)),
    "response_end_s": (float, lambda load: _number(load.response_end_s)),
    "dom_content_loaded_s": (float, lambda load: _number(load.dom_content_loaded_s)),
    "load_event_end_s": (float, lambda load: _number(load.load_event_end_s)),
    "end_s": (float, lambda load: load.end_s),
    "connect_s": (float, lambda load: _number(load.since_connect_s(load.connect_end_s))),
    "ttr_s": (float, lambda load: _number(load.since_connect_s(load.response_start_s))),
    "fcp_s": (float, lambda load: _number(load.since_connect_s(load.fcp_s))),
    "lcp_s": (float, lambda load: _number(load.since_connect_s(load.lcp_s))),
    "plt_s": (float, lambda load: _number(load.since_connect_s(load.load_event_end_s))),
    "objects": (int, lambda load: len(load.resources)),
    "bytes": (int, lambda load: load.bytes),
}
_RESOURCE: Mapping[str, tuple[type, Callable[[Resource], Any]]] = {
    "path": (str, lambda one: one.path),
    "type": (str, lambda one: one.type),
    "protocol": (str, lambda one: _text(one.protocol)),
    "status": (float, lambda one: _number(one.status)),
    "bytes": (int, lambda one: one.bytes),
    "start_s": (float, lambda one: one.start_s),
    "connect_start_s": (float, lambda one: _number(one.connect_start_s)),
    "connect_end_s": (float, lambda one: _number(one.connect_end_s)),
    "request_start_s": (float, lambda one: _number(one.request_start_s)),
    "response_start_s": (float, lambda one: _number(one.response_start_s)),
    "response_end_s": (float, lambda one: _number(one.response_end_s)),
}
_POINT = {
    "flow": int,
    "load": int,
    "connection": int,
    "transport": str,
    "t_s": float,
    "bytes": float,
}


def page_series(measurement: Measurement) -> dict[str, Rows]:
    """Return the arrays `loads`, `resources` and `sequences`; `flow` indexes the cell's flows.

    loads: in order, failed ones included; number 0 is a browser's load without a network.
    resources: `object` numbers them within a load, from 0. sequences: what connections had received
    `t_s` after their load's connectStart.
    """
    loads = [
        (at, flow, load)
        for at, flow in enumerate(measurement.flows)
        for load in (
            *([flow.endpoints.own_time] if flow.endpoints.own_time else []),
            *flow.endpoints.loads,
        )
    ]
    return {
        "loads": rows(
            {
                "flow": int,
                **{name: kind for name, (kind, _) in _LOAD.items()},
                "split": bool,
                "slow_start_s": float,
            },
            [
                (
                    at,
                    *(get(load) for _, get in _LOAD.values()),
                    *_theory(measurement.cell, flow, load),
                )
                for at, flow, load in loads
            ],
        ),
        "resources": rows(
            {
                "flow": int,
                "load": int,
                "object": int,
                **{name: kind for name, (kind, _) in _RESOURCE.items()},
            },
            [
                (at, load.number, number, *(get(one) for _, get in _RESOURCE.values()))
                for at, _, load in loads
                for number, one in enumerate(load.resources)
            ],
        ),
        "sequences": rows(
            _POINT, [point for at, flow, load in loads for point in _points(at, flow, load)]
        ),
    }


def _theory(cell: Cell, flow: FlowRecord, load: PageLoad) -> tuple[bool, float]:
    if not load.number:
        return False, _UNKNOWN
    return (
        is_split(cell, flow.plan, load.wanted),
        _number(slow_start_s(cell, flow.plan, load.wanted)),
    )


def _points(at: int, flow: FlowRecord, load: PageLoad) -> Iterator[tuple[Any, ...]]:
    if load.error or not load.number:
        return
    for curve in flow.received_in(load):
        for t_s, received in zip(curve.t_s.tolist(), curve.bytes.tolist(), strict=True):
            yield at, load.number, curve.connection, curve.transport, t_s, received

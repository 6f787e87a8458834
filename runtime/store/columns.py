"""The tables of a run: their columns with units, and the rows that a cell's result adds to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairc.compiler.plan import Cell
from fairc.dsl.model.names import label_of
from fairc.runtime.measurement.results import CellResult, MetricValue
from fairc.runtime.measurement.schema import (
    CELL,
    FLOW,
    TRANSPORT,
    Column,
    Columns,
    Table,
    time_column,
)
from fairc.runtime.measurement.series import SERIES

from .baselines import Alone


@dataclass(frozen=True, slots=True)
class Stored:
    """One cell of the plan with its result; folder: of the tables that the result names.

    alone: what its flows have in its baselines.
    """

    cell: Cell
    result: CellResult
    folder: Path
    alone: tuple[Alone, ...] = ()


def _cells(stored: Stored) -> Columns:
    cell, result = stored.cell, stored.result
    row = {
        "key": result.key,
        "configuration": cell.configuration,
        "repetition": cell.repetition,
        "seed": str(cell.seed),
        "status": result.status,
        "verdict": result.verdict,
        "reasons": list(result.why),
        "ended_by": result.ended_by,
        "virtual_s": result.virtual_s,
        "wall_s": result.wall_s,
        "engine": result.engine,
        "image": result.image,
        "result_sha256": result.result_sha256,
    }
    return {name: [value] for name, value in row.items()}


def _metrics(stored: Stored) -> Columns:
    metrics = stored.result.metrics
    protocols = {
        label_of(flow): flow.workload.http_versions
        for flow in stored.cell.flows
        if flow.workload.http_versions
    }
    return {
        **{
            name: [getattr(metric, name) for metric in metrics] for name in MetricValue.model_fields
        },
        "protocol": [
            protocols[metric.flow][metric.load - 1]
            if metric.load and metric.flow in protocols
            else None
            for metric in metrics
        ],
    }


def _entries(table: Table[Any], entries: Sequence[object], **names: str) -> Columns:
    """Return a row for each entry: a column is the attribute of the same name.

    names: column -> attribute, where they differ.
    """
    return {
        column.name: [getattr(entry, names.get(column.name, column.name)) for entry in entries]
        for column in table.columns[1:]
    }


CELLS = Table(
    "cells",
    "a cell: one configuration and one repetition",
    (
        CELL,
        Column("key", "VARCHAR", "", "name of its folder: a hash of cell, engine, image"),
        Column("configuration", "VARCHAR", "", "id that its repetitions share"),
        Column("repetition", "INTEGER", "", "number of the repetition, from 1"),
        Column("seed", "VARCHAR", "", "seed of everything random in it"),
        Column("status", "VARCHAR", "", "`ok` or `failed`"),
        Column(
            "verdict",
            "VARCHAR",
            "",
            "`valid`, `flagged`, `invalid`: judges the set-up, never the outcome;"
            " null when it failed",
        ),
        Column("reasons", "VARCHAR[]", "", "reasons against it, or why it failed"),
        Column("ended_by", "VARCHAR", "", "`finished`, `first`, `duration` or `deadline`"),
        time_column("virtual_s", "time that passed inside the machine"),
        time_column("wall_s", "time it took on the machine"),
        Column("engine", "VARCHAR", "", "engine that ran it"),
        Column("image", "VARCHAR", "", "identity of the machine that the engine ran it on"),
        Column("result_sha256", "VARCHAR", "", "SHA-256 of the raw artefacts"),
    ),
    _cells,
)

FLOWS: Table[Stored] = Table(
    "flows",
    "a flow of a cell",
    (
        CELL,
        FLOW,
        TRANSPORT,
        Column("cca", "VARCHAR", "", "congestion control; null over UDP, which has none"),
        Column("connections", "INTEGER", "", "number of its connections"),
        time_column("start_s", "planned start after the epoch"),
        time_column("first_byte_s", "first data at the client; null: none arrived"),
        time_column("end_s", "last byte or stop; null: a connection never ended"),
        Column("completed", "BOOLEAN", "", "whether it moved its whole workload"),
        Column("bytes", "BIGINT", "B", "application bytes delivered"),
        Column("goodput_bps", "DOUBLE", "bit/s", "metric `goodput`"),
        time_column(
            "rate_from_s",
            "from when on it is measured: the later of its start and the end of the warm-up;"
            " null: not at all",
        ),
        time_column("rate_until_s", "until when: its last byte, its stop or the end"),
        Column(
            "stationarity_p",
            "DOUBLE",
            "",
            "p of the test that its throughput keeps its level, 0.01 to 0.10; null:"
            " it does not take all it gets, moved all it had, or has too few slots",
        ),
        Column(
            "declared_change",
            "VARCHAR",
            "",
            "what changes as declared in the time of this test: `a link`, `a route` or"
            " `the set of flows`; null: nothing, or no test",
        ),
        Column(
            "given_up",
            "VARCHAR[]",
            "",
            "connections that ended by themselves: when after the epoch, and why",
        ),
    ),
    lambda stored: _entries(FLOWS, stored.result.flows),
)

METRICS = Table(
    "metrics",
    "a value of a metric, of a cell or of a flow",
    (
        CELL,
        Column("metric", "VARCHAR", "", "full name, such as `fairness.F`"),
        Column(
            "flow",
            "VARCHAR",
            "",
            "name of the flow, or of a group of users; null: of the whole cell",
        ),
        Column("value", "DOUBLE", "as in `unit`", "null where it is not defined"),
        Column("unit", "VARCHAR", "", "SI unit; `1` for a ratio"),
        Column("reason", "VARCHAR", "", "why it is not defined; empty where it is"),
        Column("load", "INTEGER", "", "number of its page load; null: of none"),
        Column(
            "protocol",
            "VARCHAR",
            "",
            "HTTP version of that load, as planned: the first over `h3` is over `h2`;"
            " null: of none",
        ),
        Column(
            "censored",
            "INTEGER",
            "",
            "how many transfers, loads or videos had not ended: a value leaves them out or counts"
            " them as far as they went; without a value, they make it larger than any",
        ),
        Column("started", "INTEGER", "", "of how many; 0: the metric counts none"),
    ),
    _metrics,
)

CONDITIONS: Table[Stored] = Table(
    "conditions",
    "a condition of a flow that transports may differ in",
    (
        CELL,
        FLOW,
        Column("transport", "VARCHAR", "", "`tcp` or `quic`"),
        Column("condition", "VARCHAR", "", "such as `pacing`"),
        Column("value", "VARCHAR", "", "the value, as text"),
    ),
    lambda stored: _entries(CONDITIONS, stored.result.conditions),
)

LIMITS: Table[Stored] = Table(
    "limits",
    "what limited a flow, other than the network and its congestion control (metric `limited`);"
    " limits that the sender does not report have no row",
    (
        CELL,
        FLOW,
        Column(
            "held_by", "VARCHAR", "", "`window_cap`, `receiver`, `send_buffer` or `application`"
        ),
        Column("share", "DOUBLE", "1", "share of the flow's time after the warm-up"),
    ),
    lambda stored: _entries(LIMITS, stored.result.limits, held_by="limit"),
)

BASELINES: Table[Stored] = Table(
    "baselines",
    "what a flow of a cell has in the cell's baseline, where others are gone (metrics `harm` and"
    " `share.fair`)",
    (
        CELL,
        Column("flows", "VARCHAR", "", "what the flows that are alone there are called together"),
        Column("flow", "VARCHAR", "", "name of the flow"),
        Column("load", "INTEGER", "", "number of its page load; null: of none"),
        Column("metric", "VARCHAR", "", "full name, such as `goodput`"),
        Column("value", "DOUBLE", "as in `unit`", "the value alone; null where it is not known"),
        Column("unit", "VARCHAR", "", "SI unit; `1` for a ratio"),
        Column("reason", "VARCHAR", "", "why it is not known; empty where it is"),
        Column("baseline", "VARCHAR", "", "id of the baseline; null: it has not been run"),
        Column("verdict", "VARCHAR", "", "of the baseline: as in `cells`, or `failed`"),
    ),
    lambda stored: _entries(BASELINES, stored.alone),
)

RESULTS: Mapping[str, Table[Stored]] = {
    table.name: table for table in (CELLS, FLOWS, METRICS, BASELINES, CONDITIONS, LIMITS)
}
"""The tables that are made from `result.json`."""

TABLES: Mapping[str, Table[Any]] = {**RESULTS, **SERIES}

"""Synthetic run directories: the documented tables and columns, filled with invented numbers."""

from __future__ import annotations

import csv
import json
import math
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest
from chromium import CHROMIUM, DRIVER, FLAGS, LACKS
from pictures import page_width, without_drawing

from fairc.compiler import plan
from fairc.compiler.plan import cell_json
from fairc.dsl.model.names import base, label_of, on_machine
from fairc.mechanisms.queues.fifo.cell import Fifo
from fairc.mechanisms.workloads.file.cell import FileWorkload
from fairc.runtime.run.history import as_declared
from fairc.runtime.store.columns import TABLES
from fairc.runtime.store.tables import axis_columns, quoted

SLOT_S = 0.1
RATE_BPS = 1_000_000
__all__ = ["page_width", "without_drawing"]

SCHEMAS = {
    name: ", ".join(f"{column.name} {column.type}" for column in table.columns)
    for name, table in TABLES.items()
    if name != "cells"
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium, with what pages log and ask for."""
    if LACKS:
        pytest.skip(LACKS)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@dataclass
class Spec:
    """What a synthetic run is made of.

    sweep: swept name -> values. bad: (configuration index, repetition) -> (status, verdict,
    reasons). undefined: (configuration index, repetition) -> why F is. first_ends_early: slots
    before the end of the cell. transports: of the flows; a swept name `over_FLOW` changes it.
    conditions: name -> value of each flow. limits: (configuration index, limit) -> share of the
    first flow. constant: every repetition has the same numbers. moves: (configuration index,
    repetition) -> p of the first flow's test of its level. given_up: likewise -> its connections
    that ended by themselves. ends_s: flow -> when it ends, where that is before the cell's. more:
    configuration index, repetition, then the columns of more values, from the metric to `started`.
    points: of the sweep, where they are not all combinations. states: of the CCA of a flow, each
    with the time from which it holds, s.
    """

    title: str = "CUBIC against BBR on a 1 Mbit/s link"
    flows: tuple[str, ...] = ("cubic", "bbr")
    sweep: dict[str, tuple[str, ...]] = field(default_factory=dict)
    repeat: int = 6
    duration_s: float = 60.0
    bad: dict[tuple[int, int], tuple[str, str | None, list[str]]] = field(default_factory=dict)
    undefined: dict[tuple[int, int], str] = field(default_factory=dict)
    constant: bool = False
    connections: int = 1
    engine: str = "vm"
    engine_reasons: tuple[str, ...] = ()
    first_ends_early: int = 0
    fairness: bool = True
    transports: tuple[str, ...] = ("tcp", "tcp")
    conditions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    limits: dict[tuple[int, str], float] = field(default_factory=dict)
    source: str = (
        "fexp 1\n\nexperiment quickstart {\n  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)\n}\n"
    )
    figures: tuple[plan.FigureRequest, ...] = ()
    axes: tuple[plan.Axis, ...] = ()
    users: dict[str, str] = field(default_factory=dict)
    common: tuple[str, ...] = ()
    moves: dict[tuple[int, int], float] = field(default_factory=dict)
    given_up: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    more: tuple[tuple[object, ...], ...] = ()
    ends_s: dict[str, float] = field(default_factory=dict)
    states: dict[str, tuple[tuple[float, str], ...]] = field(default_factory=dict)
    points: tuple[dict[str, str], ...] = ()
    citation: str = ""


def bindings_of(spec: Spec) -> list[dict[str, str]]:
    if spec.points:
        return list(spec.points)
    points: list[dict[str, str]] = [{}]
    for name, values in spec.sweep.items():
        points = [{**p, name: v} for p in points for v in values]
    return points


def around(
    bottleneck: plan.Interface, flows: int
) -> tuple[tuple[plan.Node, ...], tuple[plan.Cable, ...]]:
    """Return the nodes and cables around a bottleneck of r1: a server and a client of each flow."""

    def plain(name: str, address: str) -> plan.Interface:
        return plan.Interface(name=name, address=address, source="quickstart.fexp:7")

    sides = {"r1": [bottleneck], "r2": [plain("r2-eth1", "10.0.0.2/30")]}
    hosts, cables = [], [plan.Cable(a=("r1", "r1-eth1"), b=("r2", "r2-eth1"))]
    for i in range(flows):
        for letter, net, router in (("s", 1, "r1"), ("c", 2, "r2")):
            host, there = f"{letter}{i}", f"{router}-eth{i + 2}"
            end = plain(f"{host}-eth0", f"10.{net}.{i}.1/30")
            hosts.append(plan.Node(name=host, kind="host", interfaces=(end,), routes=()))
            sides[router].append(plain(there, f"10.{net}.{i}.2/30"))
            cables.append(plan.Cable(a=(host, f"{host}-eth0"), b=(router, there)))
    routers = [
        plan.Node(name=name, kind="router", interfaces=tuple(ends), routes=())
        for name, ends in sides.items()
    ]
    return (*routers, *hosts), tuple(cables)


def cell_of(spec: Spec, index: int, bindings: dict[str, str], repetition: int) -> plan.Cell:
    interface = plan.Interface(
        name="r1-eth1",
        address="10.0.0.1/30",
        shaper=plan.Shaper(rate_bps=RATE_BPS, transmitter=None),
        queue=Fifo(limit_bytes=12_500),
        bottleneck=True,
        source="quickstart.fexp:7",
    )
    nodes, cables = around(interface, len(spec.flows))
    flows = tuple(
        plan.Flow(
            name=on_machine(name),
            server=f"s{i}",
            client=f"c{i}",
            address=f"10.1.{i}.1",
            port=5000 + i,
            transport=cast(Any, bindings.get(f"over_{name}") or spec.transports[i % 2]),
            cca=("cubic", "bbr", "reno", "vegas")[i % 4],
            connections=spec.connections,
            workload=FileWorkload(bytes=10_000_000),
            starts_ns=(0,) * spec.connections,
            stop_ns=None,
            base_rtt_ns=50_000_000,
            bottleneck=("r1", "r1-eth1"),
            buffer_bytes=50_000,
            source="quickstart.fexp:9",
            declared=spec.users.get(name, base(name)),
            users=spec.users.get(name),
        )
        for i, name in enumerate(spec.flows)
    )
    return plan.Cell(
        id=f"{index:08d}{repetition:08d}",
        experiment="quickstart",
        configuration=f"{index:016d}",
        bindings=bindings,
        repetition=repetition,
        seed=1000 * index + repetition,
        nodes=nodes,
        cables=cables,
        flows=flows,
        captures=(),
        warmup_ns=0,
        duration_ns=None,
        deadline_ns=10**12,
        stop="all",
    )


def literal(value: object) -> str:
    """Write a value as DuckDB reads it."""
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]::VARCHAR[]"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


@cache
def empty_table(schema: str) -> bytes:
    """Return a Parquet file without rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "empty.parquet")
        copy_table(path, schema, [])
        return path.read_bytes()


def write_table(path: Path, schema: str, rows: list[tuple[object, ...]]) -> None:
    """Write a Parquet file. Most tables of most runs have no rows: these are made once."""
    if rows:
        copy_table(path, schema, rows)
    else:
        path.write_bytes(empty_table(schema))


@cache
def database() -> duckdb.DuckDBPyConnection:
    """Return the connection for all tables: to open one costs more than to write a table."""
    return duckdb.connect(":memory:")


def copy_table(path: Path, schema: str, rows: list[tuple[object, ...]]) -> None:
    """Write a Parquet file through a CSV, which DuckDB loads faster than single inserts."""
    connection = database()
    connection.execute(f"CREATE OR REPLACE TABLE t ({schema})")
    if rows and any(isinstance(v, list) for v in rows[0]):
        all_rows = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
        connection.execute(f"INSERT INTO t VALUES {all_rows}")
    elif rows:
        file = path.with_suffix(".csv")
        with file.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows(["\\N" if v is None else v for v in row] for row in rows)
        connection.execute(
            f"COPY t FROM '{file}' (FORMAT csv, HEADER false, NULLSTR '\\N', QUOTE '\"')"
        )
        file.unlink()
    connection.execute(f"COPY t TO '{path}' (FORMAT parquet, COMPRESSION zstd)")


def fill(
    spec: Spec, cell: plan.Cell, index: int, rows: dict[str, list[tuple[object, ...]]]
) -> None:
    """Add one finished cell's rows: two oscillating shares of the link, a saw-tooth window."""
    draw = random.Random(1 if spec.constant else cell.seed)
    bias = 0.5 + 0.12 * math.cos(index) + draw.uniform(-0.05, 0.05)
    slots = round(spec.duration_s / SLOT_S)
    n = len(spec.flows)
    shares = [bias, 1 - bias] if n == 2 else [2 * (i + 1) / (n * (n + 1)) for i in range(n)]
    sums = [0.0] * n
    for slot in range(slots):
        t = slot * SLOT_S
        wave = 0.2 * math.sin(t / 4 + index) + draw.gauss(0, 0.04)
        parts = [
            max(0.0, s + (wave if i == 0 else -wave / max(n - 1, 1))) for i, s in enumerate(shares)
        ]
        total = sum(parts)
        for i, name in enumerate(spec.flows):
            share = parts[i] / total * RATE_BPS * 0.97 * SLOT_S / 8
            active = i > 0 or slot < slots - spec.first_ends_early
            share *= active
            sums[i] += share
            rows["slots"].append(
                (cell.id, name, slot, round(t, 3), round(share), round(share * 0.96), active)
            )
            for connection in range(spec.connections):
                phase = (t + 1.7 * i + connection) % 6
                rows["samples"].append(
                    (
                        cell.id,
                        name,
                        connection,
                        round(t, 3),
                        round(6 + 3 * phase),
                        round(6 + 3 * phase),
                        0.05 + 0.012 * phase + draw.uniform(0, 0.004),
                        None,
                        None,
                    )
                )
                held = [state for since, state in spec.states.get(name, ()) if t >= since]
                if held:
                    model = (cell.id, name, connection, round(t, 3), held[-1])
                    rows["models"].append((*model, *[None] * 6))
        backlog = max(0, round(12_500 * min(1.0, 0.6 + 0.4 * math.sin(t * 1.1 + index))))
        most = backlog, backlog // 1514
        rows["queues"].append((cell.id, "r1/r1-eth1", round(t, 3), *most, *most))
    goodputs = [s * 8 * 0.96 / spec.duration_s for s in sums]
    for i, flow in enumerate(cell.flows):
        rows["flows"].append(
            (
                cell.id,
                label_of(flow),
                flow.transport,
                flow.cca,
                flow.connections,
                0.01,
                0.11,
                spec.duration_s,
                True,
                round(sums[i] * 0.96),
                goodputs[i],
                0.01,
                spec.ends_s.get(label_of(flow), spec.duration_s),
                None if i else spec.moves.get((index, cell.repetition)),
                None,
                [] if i else spec.given_up.get((index, cell.repetition), []),
            )
        )
        for condition, values in spec.conditions.items():
            rows["conditions"].append(
                (cell.id, label_of(flow), flow.transport, condition, values[i].format(index=index))
            )
        rows["metrics"].append((cell.id, "goodput", label_of(flow), goodputs[i], "bit/s", ""))
        rows["metrics"].append((cell.id, "rtt.mean", label_of(flow), 0.09 + 0.01 * i, "s", ""))
        rows["metrics"].append((cell.id, "srtt.mean", label_of(flow), 0.09 + 0.01 * i, "s", ""))
        rows["traces"] += [
            (cell.id, "rtt.mean", label_of(flow), round(slot * SLOT_S, 3), 0.09 + 0.01 * i)
            for slot in range(slots)
        ]
    for (configuration, limit), share in spec.limits.items():
        if configuration == index:
            rows["limits"].append((cell.id, spec.flows[0], limit, share))
    jain = sum(goodputs) ** 2 / (n * sum(g * g for g in goodputs))
    if spec.fairness:
        if n == 2:
            sign = 1 if goodputs[1] > goodputs[0] else -1
            reason = spec.undefined.get((index, cell.repetition), "")
            f = None if reason else sign * (1 - jain) * 1.8
            rows["metrics"].append((cell.id, "fairness.F", None, f, "1", reason))
        rows["metrics"].append((cell.id, "fairness.jain_session", None, jain, "1", ""))
        rows["metrics"].append((cell.id, "fairness.floor", None, 0.1015625, "1", ""))
        rows["metrics"].append((cell.id, "fairness.jain_slots", None, jain - 0.06, "1", ""))
    rows["metrics"].append((cell.id, "utilization", None, 0.97, "1", ""))
    here = index, cell.repetition
    rows["metrics"] += [(cell.id, *row[2:]) for row in spec.more if row[:2] == here]


def write_run(path: Path, spec: Spec) -> Path:
    """Write a whole run directory."""
    (path / "tables").mkdir(parents=True)
    points = bindings_of(spec)
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in (*SCHEMAS, "cells")}
    cells = [
        (i, cell_of(spec, i, bindings, r))
        for i, bindings in enumerate(points)
        for r in range(1, spec.repeat + 1)
    ]
    for index, cell in cells:
        status, verdict, reasons = spec.bad.get(
            (index, cell.repetition), ("ok", "valid", list[str]())
        )
        rows["cells"].append(
            (
                cell.id,
                f"key-{cell.id}",
                cell.configuration,
                *cell.bindings.values(),
                cell.repetition,
                str(cell.seed),
                status,
                verdict,
                reasons,
                "finished",
                spec.duration_s,
                4.0,
                spec.engine,
                "image-1",
                "ab" * 32,
            )
        )
        if status == "ok":
            fill(spec, cell, index, rows)
    axes = "".join(f"{quoted(c)} VARCHAR, " for c in axis_columns(list(spec.sweep)).values())
    schemas = {
        **SCHEMAS,
        "cells": f"cell VARCHAR, key VARCHAR, configuration VARCHAR, {axes}repetition INTEGER,"
        " seed VARCHAR, status VARCHAR, verdict VARCHAR, reasons VARCHAR[], ended_by VARCHAR,"
        " virtual_s DOUBLE, wall_s DOUBLE, engine VARCHAR, image VARCHAR, result_sha256 VARCHAR",
    }
    width = len(TABLES["metrics"].columns)  # values of cells and flows are of no page load
    rows["metrics"] = [(*row, *[None] * (width - len(row))) for row in rows["metrics"]]
    for name, schema in schemas.items():
        write_table(path / "tables" / f"{name}.parquet", schema, rows[name])
    header = plan.Plan(
        experiment="quickstart",
        title=spec.title,
        citation=spec.citation,
        file="quickstart.fexp",
        source=spec.source,
        source_sha256="cd" * 32,
        axes=spec.axes or tuple(plan.Axis(name=k, values=v) for k, v in spec.sweep.items()),
        repeat=spec.repeat,
        seed=1,
        configurations=len(points),
        excluded=0,
        cells=len(cells),
        measure=(plan.MetricRequest(name="fairness"), plan.MetricRequest(name="goodput")),
        figures=spec.figures,
        varied=("the start of each flow: uniform in 0 to 50 ms", "hash secrets of the kernel"),
        engine_reasons=spec.engine_reasons,
        common=spec.common,
    )
    (path / "plan.json").write_text(header.model_dump_json(indent=2), encoding="utf-8")
    with (path / "cells.jsonl").open("w", encoding="utf-8") as out:
        out.writelines(cell_json(cell) + "\n" for _, cell in cells)
    lock = {
        "fairc": {"version": "0.1.0"},
        "engine": {
            "name": "vm",
            "identity": "ab" * 32,
            "qemu": "7.2.15",
            "image": "sha256:" + "ef" * 32,
        },
        "kernel": "6.12.43+deb12-cloud-amd64",
        "packages": {"iproute2": "6.15.0-1~bpo12+1", "mininet": "2.3.0-1.1"},
        "declared": [
            {
                "request": as_declared(request, header.requests),
                "at": "2026-11-22T06:19:18Z",
                "results": 0,
            }
            for request in header.measure
        ],
    }
    (path / "lock.json").write_text(json.dumps(lock, indent=2), encoding="utf-8")
    return path


Maker = Callable[..., Path]


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """Return a function that writes a new run directory; its arguments are those of Spec."""

    def make(**spec: Any) -> Path:
        return write_run(tmp_path_factory.mktemp("runs") / "quickstart", Spec(**spec))

    return make

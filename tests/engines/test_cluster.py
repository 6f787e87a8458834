"""A cell, run as a cluster does: the tables of `fairc run`, byte by byte."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
from specs import compilation_of

from fairc.cli.results import refresh
from fairc.compiler import emit
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.run import cluster, collection, history, lock
from fairc.runtime.run.progress import Progress
from fairc.runtime.run.sweep import Sweep
from fairc.runtime.store.folder import LOCK, Store, read_plan

SPEC = """fexp 1
experiment one {
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: fifo(2bdp))
  flow a { cca = cubic  workload = file(50kB) }
  measure = [goodput, queue_delay]
}
"""


def test_the_tables_are_those_of_a_run(tmp_path: Path) -> None:
    compiled, plan = compilation_of(SPEC), tmp_path / "plan"
    emit(compiled, plan, ["slurm"])
    engine = UmlEngine()
    engine.pinned = False
    engine.prepare()
    header = read_plan(plan)
    told: list[tuple[int, str, bool]] = []
    cluster.run(
        plan,
        header,
        [0],
        engine,
        lambda index, result, ran: told.append((index, result.status, ran)),
    )
    assert told == [(0, "ok", True)]
    with Store(tmp_path / "collected") as store:
        store.adopt(store.stage(lambda folder: emit(compiled, folder, ["json"])))
        counts, taken = collection.collect(plan, store, collection.choose(plan), Progress(), 1)
        assert (counts.total, taken.wanting) == (1, [])
        refresh(store)
    with Store(tmp_path / "whole") as store:
        store.adopt(store.stage(lambda folder: emit(compiled, folder, ["json"])))
        store.write_json(LOCK, lock.describe(store.path, engine))
        Sweep(store, engine, Progress(), 1).run()
        refresh(store)
    engine.close()
    one, other = tmp_path / "collected", tmp_path / "whole"
    # What a command asked for and declared, and when, is of the command.
    locks = [json.loads((run / LOCK).read_text()) for run in (one, other)]
    for lacking in (history.LOCKED, history.INVOCATIONS, history.DECLARED):
        locks[0].pop(lacking)
    assert locks[0] == locks[1]
    for file in sorted((other / "tables").glob("*.parquet")):
        if file.stem != "cells":  # which has the wall time
            assert (one / "tables" / file.name).read_bytes() == file.read_bytes(), file.name
    with duckdb.connect() as connection:
        query = "SELECT * EXCLUDE wall_s FROM '{}/tables/cells.parquet'"
        rows = [connection.execute(query.format(run)).fetchall() for run in (one, other)]
    assert rows[0] == rows[1] and len(rows[0]) == 1

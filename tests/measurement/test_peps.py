"""Split connections: whose packets are at the bottleneck, what cannot be told, what is checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import madeweb
import pytest
from madeartefacts import Made, crowded, write_lines
from madecell import made_cell

from fairc.compiler.plan import Cell, MetricRequest, Requests
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.measurement import load
from fairc.runtime.validity import judge


def proxies(cell: Cell, *ports: int) -> Cell:
    """Return a cell with a pair of proxies that splits the flows of these ports."""
    pep = replace(madeweb.PEP, name="sat", ports=ports, cca="cubic")
    return replace(cell, devices=(pep,))


def split(*which: int) -> Made:
    """`crowded`, with proxies for these of its two flows; what passes is as without them."""
    made = crowded()
    made.cell = proxies(made.cell, *(made.cell.flows[n].port for n in which))
    return made


def values(made: Made, folder: Path, metric: str) -> Mapping[tuple[str, str | None], Any]:
    made.write(folder)
    found = analyse(made.cell, folder, Requests(measure=(MetricRequest(name=metric),))).metrics
    return {(value.metric, value.flow): value for value in found}


def edit(end: str, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Any:
    def apply(folder: Path) -> None:
        path = folder / f"sat.{end}.ndjson"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        write_lines(path, [new for line in lines if (new := change(line)) is not None])

    return apply


def test_a_cell_with_proxies_is_valid(tmp_path: Path) -> None:
    made = split(0)
    assert judge(load(made.cell, made.write(tmp_path))) == ("valid", ())


@pytest.mark.parametrize("metric", ["throughput", "loss_rate", "queue_delay"])
def test_flows_that_share_proxies_have_no_packets_of_their_own(tmp_path: Path, metric: str) -> None:
    found = values(split(0, 1), tmp_path, metric)
    assert {value.value for value in found.values()} == {None}
    assert all("share its proxies" in value.reason for value in found.values())


def test_a_metric_of_all_flows_needs_those_of_each(tmp_path: Path) -> None:
    found = values(split(0, 1), tmp_path, "fairness")
    assert {value.value for value in found.values()} == {None}


@pytest.mark.parametrize("metric", ["goodput", "rtt"])
def test_what_the_ends_saw_is_told(tmp_path: Path, metric: str) -> None:
    shared = values(split(0, 1), tmp_path / "shared", metric)
    alone = values(crowded(), tmp_path / "alone", metric)
    assert {k: v.value for k, v in shared.items()} == {k: v.value for k, v in alone.items()}


def test_one_flow_alone_behind_its_proxies_has_all_that_they_send(tmp_path: Path) -> None:
    found = values(split(0), tmp_path, "throughput")
    assert all(value.value is not None for value in found.values())


def test_the_share_of_retransmissions_is_of_two_connections(tmp_path: Path) -> None:
    found = values(split(0), tmp_path, "retransmissions")
    a, b = (found["retransmissions.share", name] for name in ("a", "b"))
    assert a.value is None and "another one" in a.reason
    assert b.value is not None
    assert found["retransmissions", "a"].value is not None


WINDOW = {"window_packets": 10}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: None if e["event"] == "ready" else e, "sat.gateway was never ready"),
        (lambda e: e | {"cca": "reno"}, "sat.gateway used reno, not cubic"),
        (lambda e: e | WINDOW, "connections of sat.gateway began with 10 packets, not 67"),
        (lambda e: e | {"connections": 1}, "sat.gateway kept 1 connections open, not 2"),
        (
            lambda e: None if e["event"] == "joined" else e,
            "split 0 connections, and servers accepted 1",
        ),
        (lambda e: e | {"event": "error", "message": "lost"}, "sat.gateway: lost"),
    ],
)
def test_what_is_checked_of_proxies(tmp_path: Path, change: Any, words: str) -> None:
    made = split(0)
    made.write(tmp_path)
    edit("gateway", change)(tmp_path)
    found, reasons = judge(load(made.cell, tmp_path))
    assert found == "invalid"
    assert words in "\n".join(reasons)


def test_proxies_that_did_not_run(tmp_path: Path) -> None:
    made = split(0)
    made.write(tmp_path)
    ending = json.loads((tmp_path / "cell.json").read_text())
    del ending["processes"]["sat.terminal"]
    (tmp_path / "cell.json").write_text(json.dumps(ending))
    _, reasons = judge(load(made.cell, tmp_path))
    assert "sat.terminal is not among the processes that ran" in str(reasons)


def test_made_cells_have_none() -> None:
    assert made_cell().devices == ()

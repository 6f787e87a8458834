"""What hosts took for a packet: silent where it is as planned, in words where it is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from judged import edit, verdict
from madeartefacts import Made, crowded

from fairc.cell.expansion import lower
from fairc.cell.links import lower_name
from fairc.compiler.plan import Cell
from fairc.runtime.measurement import ArtefactError, load

BOUND_NS = 2_000_000
Change = Callable[[Path], None]


def planned(made: Made, bound_ns: int | None) -> Made:
    return replace(made, cell=replace(made.cell, processing_ns=bound_ns))


def put(bound_ns: object) -> Change:
    """Have the script say that it has set this up."""

    def apply(folder: Path) -> None:
        document = {"processing": {"bound_ns": bound_ns}}
        (folder / "system.json").write_text(json.dumps(document))

    return apply


def shown(cell: Cell, **other: Any) -> Change:
    """Have tc show the netem of every host; other: what the first one has instead."""

    def change(document: dict[str, list[dict[str, Any]]]) -> None:
        for number, ((node, name), (p,)) in enumerate(lower(cell).items()):
            options = {
                "limit": p.limit_packets,
                "delay": {"delay": p.delay_ns / 1e9, "jitter": p.jitter_ns / 1e9},
                "rate": {"rate": 125_000_000_000},
                "seed": p.seed,
            }
            if number == 0:
                options = {k: v for k, v in (options | other).items() if v is not None}
            entry = {"kind": "netem", "handle": "1:", "root": True, "dev": lower_name(name)}
            document.setdefault(node, []).append(entry | {"options": options})

    return edit("qdisc-before.json", change)


def slower(ms: float) -> Change:
    """Pings take so much longer."""

    def change(document: list[dict[str, Any]]) -> None:
        for entry in document:
            entry["rtts_ns"] = [round(ns + ms * 1e6) for ns in entry["rtts_ns"]]

    return edit("ping.json", change)


def judged(folder: Path, bound_ns: int | None, *changes: Change) -> tuple[str, str]:
    return verdict(planned(crowded(), bound_ns), folder, *changes)


def test_a_delay_as_planned_is_valid_and_part_of_the_base_rtt(tmp_path: Path) -> None:
    cell = planned(crowded(), BOUND_NS).cell
    as_planned = (put(BOUND_NS), shown(cell))
    # Two hosts, 1 ms each on average; ten pings move the mean by less than 2 ms of chance and 0.51
    # of tolerance.
    assert judged(tmp_path, BOUND_NS, *as_planned, slower(2)) == ("valid", "")
    found, reasons = judged(tmp_path, BOUND_NS, *as_planned, slower(6))
    assert found == "invalid" and "the base RTT is" in reasons
    # Without it the same pings are not.
    (tmp_path / "system.json").unlink()
    found, reasons = judged(tmp_path, 0, slower(2))
    assert found == "invalid" and "the base RTT is" in reasons


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"delay": {"delay": 1e-3, "jitter": 5e-4}}, "jitter (ns) 500000, not 1000000"),
        ({"delay": {"delay": 2e-3, "jitter": 1e-3}}, "delay (ns) 2000000, not 1000000"),
        ({"limit": 1000}, "limit 1000, not 1000000"),
        ({"rate": None}, "rate (bit/s) None, not 1000000000000"),
        ({"seed": 5}, "seed 5, not "),
    ],
)
def test_another_netem_is_invalid(tmp_path: Path, other: dict[str, Any], words: str) -> None:
    cell = planned(crowded(), BOUND_NS).cell
    found, reasons = judged(tmp_path, BOUND_NS, put(BOUND_NS), shown(cell, **other), slower(2))
    assert found == "invalid" and words in reasons


def test_a_netem_that_is_not_there_is_invalid(tmp_path: Path) -> None:
    found, reasons = judged(tmp_path, BOUND_NS, put(BOUND_NS), slower(2))
    assert found == "invalid" and "no netem at" in reasons


def test_an_unseeded_kernel_is_told_by_its_script_alone(tmp_path: Path) -> None:
    cell = planned(crowded(), BOUND_NS).cell
    changes = (put(BOUND_NS), shown(cell, seed=None), slower(2))
    assert judged(tmp_path, BOUND_NS, *changes) == ("valid", "")


@pytest.mark.parametrize("there", [0, 10_000])
def test_a_plan_that_says_nothing_takes_what_engines_do(tmp_path: Path, there: int) -> None:
    cell = planned(crowded(), there).cell
    changes = (put(there), shown(cell)) if there else ()
    assert judged(tmp_path, None, *changes) == ("valid", "")


@pytest.mark.parametrize(
    ("wanted", "there"), [(None, 20_000), (0, 10_000), (20_000, 10_000), (20_000, 0)]
)
def test_another_limit_than_the_plans_is_invalid(
    tmp_path: Path, wanted: int | None, there: int
) -> None:
    changes = (put(there), shown(planned(crowded(), there).cell)) if there else ()
    found, reasons = judged(tmp_path, wanted, *changes)
    assert found == "invalid" and "per packet, not" in reasons


@pytest.mark.parametrize("bound", ["10us", None, 1.5, []])
def test_a_broken_system_json_is_an_artefact_error(tmp_path: Path, bound: object) -> None:
    made = crowded()
    made.write(tmp_path)
    put(bound)(tmp_path)
    with pytest.raises(ArtefactError, match="bound_ns"):
        load(made.cell, tmp_path)

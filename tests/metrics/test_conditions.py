"""What transports may differ in, told of each flow: as reported, else as planned."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from madeartefacts import crowded
from madecell import Transport

from fairc.compiler.plan import TransportOptions
from fairc.runtime.analysis.conditions import CONDITIONS, conditions
from fairc.runtime.measurement import load


def told(
    folder: Path, transport: Transport, *reports: dict[str, Any], **changes: Any
) -> dict[str, str]:
    """Return the conditions of flow a of a cell, which has reported what is given."""
    made = crowded(transports=(transport, "tcp"))
    a, b = made.cell.flows
    made.cell = replace(made.cell, flows=(replace(a, **changes), b))
    made.write(folder)
    for side, events in (("server", ("listening", "accepted")), ("client", ("connected",))):
        with (folder / f"a.{side}.ndjson").open("a") as lines:
            for report in reports:
                if report["event"] in events:
                    lines.write(json.dumps({"t_ns": 0, "connection": 0, **report}) + "\n")
    found = conditions(load(made.cell, folder))
    assert [row.flow for row in found] == ["a"] * len(CONDITIONS) + ["b"] * len(CONDITIONS)
    return {row.condition: row.value for row in found if row.flow == "a"}


def test_conditions_of_the_plan(tmp_path: Path) -> None:
    assert told(tmp_path, "tcp") == {
        "ECN": "off",
        "pacing": "off",
        "initial window": "10 packets",
        "packet size": "1500 B",
        "acknowledgements": "each segment at first, then every second; at the latest after 40 ms",
        "HyStart": "on",
        "send buffer": "1000 kB",
        "receive window": "1000 kB",
        "window cap": "none",
        "handshake": "1 round trip, not encrypted",
        "split connection": "none: end to end",
    }


def test_conditions_of_quic(tmp_path: Path) -> None:
    found = told(
        tmp_path,
        "quic",
        {"event": "listening", "pacing": True, "ecn": False},
        {"event": "connected", "receive_window_bytes": 64_000},
        cca_parameters={"hystart": False, "max_window_packets": 1000},
        options=TransportOptions(ecn=True, initial_window_packets=32),
    )
    assert found["ECN"] == "off"
    assert found["pacing"] == "on"
    assert found["HyStart"] == "off"
    assert found["window cap"] == "1000 packets"
    assert found["receive window"] == "64 kB"
    assert found["initial window"] == "32 packets"


def test_what_was_agreed_counts_and_several_answers_are_a_range(tmp_path: Path) -> None:
    found = told(
        tmp_path,
        "tcp",
        {"event": "accepted", "ecn": True, "cca": "cubic"},
        {"event": "accepted", "ecn": False, "cca": "cubic"},
        {"event": "connected", "receive_window_bytes": 500},
        {"event": "connected", "receive_window_bytes": 400},
    )
    assert found["ECN"] == "off to on"
    assert found["receive window"] == "400 B to 500 B"


def test_a_parameter_of_the_kernel_is_told(tmp_path: Path) -> None:
    assert told(tmp_path / "off", "tcp", cca_parameters={"hystart": 0})["HyStart"] == "off"
    assert told(tmp_path / "reno", "quic", cca="reno")["HyStart"] == "none"

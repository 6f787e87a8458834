"""What transports may differ in, told of each flow: as reported, else as planned."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
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
    # No page is loaded, so there are no windows of HTTP.
    assert [row.flow for row in found] == [flow for flow in "ab" for _ in CONDITIONS[1:]]
    return {row.condition: row.value for row in found if row.flow == "a"}


def test_conditions_of_the_plan(tmp_path: Path) -> None:
    assert told(tmp_path, "tcp") == {
        "ECN": "off",
        "pacing": "off",
        "initial window": "10 packets",
        "packet size": "1500 B",
        "acknowledgements": "each segment at first, then every second; at the latest after 40 ms",
        "HyStart": "on",
        "send buffer": "no limit",
        "receive window": "no limit",
        "window cap": "none",
        "handshake": "1 round trip, not encrypted",
        "handshake retries": "up to 20, the first after 1 s, then after twice the time",
        "loss detection": "3 later segments, or (after reordering) least RTT / 4 (RACK, RFC 8985)",
        "probes": "after an RTO (at least 200 ms over the RTT), then twice the time, up to 120 s;"
        " given up after about 15 min (tcp_retries2 = 15)",
        "idle restart": "halved for each RTO, at least the initial window",
        "idle timeout": "none",
        "keep-alive": "none",
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
    assert found["probes"].endswith("never given up, but for an idle timeout")


@pytest.mark.parametrize(
    ("transport", "cca", "given", "words"),
    [
        ("tcp", "cubic", None, "halved"),
        ("tcp", "cubic", False, "none"),
        ("tcp", "bbr", None, "none: bbr follows a model"),
        ("quic", "cubic", None, "none"),
        ("quic", "cubic", True, "halved"),
        ("quic", "copa", True, "none: copa follows a model"),
    ],
)
def test_what_an_idle_time_does_to_the_window(
    tmp_path: Path, transport: Transport, cca: str, given: bool | None, words: str
) -> None:
    found = told(tmp_path, transport, cca=cca, options=TransportOptions(idle_restart=given))
    assert found["idle restart"].startswith(words)


def test_what_the_file_sets_is_told(tmp_path: Path) -> None:
    found = told(
        tmp_path,
        "quic",
        idle_timeout_ns=1_500_000_000,
        send_buffer_bytes=50_000,
        receive_buffer_bytes=60_000,
    )
    assert found["idle timeout"] == "1.5 s"
    assert (found["send buffer"], found["receive window"]) == ("50 kB", "60 kB")


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

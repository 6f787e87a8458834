"""What the program writes is what docs/reference/endpoints-protocol.md promises, field by field."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from waiting import completed

ROOT = Path(__file__).parents[2]
CONTRACT = ROOT / "docs/reference/endpoints-protocol.md"
BY = r"(?:quic-|web-|udp-)?(?:server|client)|both|capture|all"
ROW = re.compile(
    rf"\| `(?P<event>[a-z-]+)` \| (?P<by>{BY}) \| `(?P<field>[a-z_]+)` \| (?P<type>[^|]*) \| .* \|$"
)


def promised() -> dict[tuple[str, str], dict[str, bool]]:
    """(Event, by whom) -> names of its fields, and whether each is always there, from the table of
    the contract: a row for each field.
    """
    fields: dict[tuple[str, str], dict[str, bool]] = {}
    for row in filter(None, (ROW.match(line) for line in CONTRACT.read_text().splitlines())):
        always = "may be absent" not in row["type"]
        fields.setdefault((row["event"], row["by"]), {})[row["field"]] = always
    return fields


def fields_of(event: str, transport: str, side: str) -> Mapping[str, bool]:
    """What is promised of an event of a role: by the row of the role itself, if it has one."""
    rows = promised()
    by = next(by for by in (f"{transport}-{side}", side, "both", "all") if (event, by) in rows)
    return rows[event, by]


def test_the_contract_lists_the_events() -> None:
    assert {"listening", "sample", "progress", "stopped", "captured", "error"} <= {
        event for event, _ in promised()
    }


SECOND = {"kind": "constant", "parameters": {"value": 1.0}}
FILE = {"kind": "file", "bytes": 100_000}
VIDEO = {
    "kind": "video",
    "bitrate_bps": 8_000_000,
    "length_ns": 400_000_000,
    "burst_ns": 120_000_000,
    "chunk_bytes": 10_000,
    "factor": 0.5,
    "play_ns": 100_000_000,
    "stall_ns": 20_000_000,
    "send_buffer_bytes": 2_000_000,
}
REQUESTS = {
    "kind": "requests",
    "size": {"kind": "exponential", "parameters": {"mean": 5000}},
    "every": {"kind": "constant", "parameters": {"value": 0.01}},
    "seed": 1,
}
ONOFF = {
    "kind": "onoff",
    "rate_bps": 1_000_000,
    "on": SECOND,
    "off": SECOND,
    "packet_bytes": 500,
    "seed": 1,
}
SERVED = {"listening", "accepted", "request", "sample"}
TAKEN = {"opened", "connected", "first-byte"}
ASKED = {"listening", "accepted", "served", "fetched", "asked", "stopped"}


@pytest.mark.parametrize(
    ("transport", "workload", "always"),
    [
        ("tcp", FILE, SERVED | TAKEN | {"done"}),
        ("tcp", {"kind": "bulk"}, SERVED | TAKEN | {"stopped", "progress"}),
        ("tcp", VIDEO, SERVED | TAKEN | {"done", "playing", "stalled", "played"}),
        ("tcp", ONOFF, SERVED | TAKEN | {"stopped", "progress"}),
        ("tcp", REQUESTS, TAKEN | ASKED),
        ("quic", FILE, SERVED | TAKEN | {"done"}),
        ("quic", {"kind": "bulk"}, SERVED | TAKEN | {"stopped", "progress"}),
        ("quic", VIDEO, SERVED | TAKEN | {"done", "playing", "stalled", "played"}),
        ("quic", REQUESTS, TAKEN | ASKED),
        ("udp", FILE, {"opened", "first-byte", "sent", "received", "done", "logged"}),
        (
            "udp",
            ONOFF,
            {"opened", "first-byte", "sent", "received", "progress", "stopped", "logged"},
        ),
    ],
)
def test_every_event_has_the_fields_that_are_promised(
    transfer: Callable[..., Any], transport: str, workload: dict[str, object], always: set[str]
) -> None:
    rate_bps = 50_000_000 if transport == "udp" else None
    server, client = transfer(workload, connections=2, transport=transport, rate_bps=rate_bps)
    seen = set()
    for side, events in (("server", server), ("client", client)):
        for event in events:
            fields = fields_of(event["event"], transport, side)
            always_there = {name for name, always in fields.items() if always}
            assert {"t_ns", "event", *always_there} <= event.keys() <= {"t_ns", "event", *fields}
            seen.add(event["event"])
    assert always <= seen


def test_the_program_needs_no_library_of_the_machine_it_runs_on(program: Path) -> None:
    output = completed(["readelf", "--program-headers", "--dynamic", program], check=True).stdout
    assert "INTERP" not in output
    assert "NEEDED" not in output

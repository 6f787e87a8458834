"""What a cell left behind, looked up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairc.runtime.measurement import FlowRecord, Measurement


def events(folder: Path, name: str, kind: str) -> list[dict[str, Any]]:
    """Return the events of one kind that a program wrote; name: `flow.client`."""
    lines = (folder / f"{name}.ndjson").read_text().splitlines()
    return [event for line in lines if (event := json.loads(line)).get("event") == kind]


def flow_of(measured: Measurement, name: str) -> FlowRecord:
    """Return the flow with a name."""
    (found,) = [flow for flow in measured.flows if flow.name == name]
    return found

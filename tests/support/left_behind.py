"""What a cell left behind, looked up."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.samples import STATES


def events(folder: Path, name: str, kind: str) -> list[dict[str, Any]]:
    """Return the events of one kind that a program wrote; name: `flow.client`."""
    lines = (folder / f"{name}.ndjson").read_text().splitlines()
    return [event for line in lines if (event := json.loads(line)).get("event") == kind]


def flow_of(measured: Measurement, name: str) -> FlowRecord:
    """Return the flow with a name."""
    (found,) = [flow for flow in measured.flows if flow.name == name]
    return found


def states(flow: FlowRecord) -> list[tuple[float, str]]:
    """Return when the model of a flow's controller entered each state, s, and which."""
    samples = flow.endpoints.samples
    known = np.isfinite(samples.model_state)
    names = [STATES[int(number)] for number in samples.model_state[known]]
    found = list(zip(samples.t_s[known].tolist(), names, strict=True))
    return [*found[:1], *(after for before, after in pairwise(found) if before[1] != after[1])]

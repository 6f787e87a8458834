"""A policer in a container: the same decisions as everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairc.compiler import Compilation
from fairc.mechanisms.devices.policer.check import MOST_DIFFERENT, differences
from fairc.mechanisms.devices.policer.record import policers_of
from fairc.runtime.engines.docker import DockerEngine
from fairc.runtime.measurement import load

Compiled = Callable[..., Compilation]


def test_packets_are_policed_as_computed(
    compiled: Compiled, engine: DockerEngine, tmp_path: Path
) -> None:
    """One flow overflows a queue of 20 packets and pays; this host's clock decides how often."""
    gate = (
        "}  policer gate { at = r  to = c  mode = conex(rate: 2pkt/s, depth: 3pkt, harshness:"
        " strict) "
    )
    (cell,) = compiled("cca = reno  workload = bulk", more="duration = 3s", change=gate).cells()
    raw = engine.run(cell, tmp_path)
    assert raw.error == ""
    measurement = load(cell, raw.artefacts)
    (policer,) = policers_of(measurement)
    assert policer.total is not None and policer.total.dropped > 0
    assert differences(policer) <= MOST_DIFFERENT * len(policer.decisions)
    assert len(measurement.queues[0].left) > 50

"""Helpers of the language's tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from fairc.dsl import Diagnostics, Source, load
from fairc.dsl.experiment import Experiment
from fairc.dsl.model import Configuration

TOPOLOGY = "topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)"
FLOW = "flow a { cca = cubic  workload = file(1MB) }"
MEASURE = "measure = [goodput]"

Check = Callable[..., Diagnostics]
Build = Callable[..., list[Configuration]]


def text_of(*statements: str, topology: str = TOPOLOGY, before: str = "") -> str:
    """Return a file with these statements, completed to an experiment that runs."""
    parts = list(statements)
    if not any(part.startswith(("topology =", "topology {")) for part in parts):
        parts.append(topology)
    if not any(part.startswith("flow ") for part in parts):
        parts.append(FLOW)
    if not any(part.startswith("measure") for part in parts):
        parts.append(MEASURE)
    body = "\n  ".join(parts)
    return f"fexp 1\n{before}\nexperiment e {{\n  {body}\n}}\n"


@pytest.fixture
def check() -> Check:
    """Return a function from statements to the diagnostics of a file with them."""

    def run(*statements: str, before: str = "") -> Diagnostics:
        return load(Source("file.fexp", text_of(*statements, before=before)))[1]

    return run


@pytest.fixture
def experiment() -> Callable[..., Experiment]:
    """Return a function from statements to an experiment without any finding."""

    def run(
        *statements: str, before: str = "", settings: Mapping[str, str] | None = None
    ) -> Experiment:
        source = Source("file.fexp", text_of(*statements, before=before))
        made, found = load(source, settings or {})
        assert [d.message for d in found.errors] == []
        assert made is not None
        return made

    return run


@pytest.fixture
def build(experiment: Callable[..., Experiment]) -> Build:
    """Return a function from statements to all configurations."""

    def run(
        *statements: str, before: str = "", settings: Mapping[str, str] | None = None
    ) -> list[Configuration]:
        return list(experiment(*statements, before=before, settings=settings).configurations())

    return run

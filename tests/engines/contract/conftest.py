"""The engines that the contract is tried on. An engine joins by an entry in ENGINES."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import docker_daemon
import pytest
from specs import only_cell_of

from fairc.compiler import Cell
from fairc.runtime.engines import host
from fairc.runtime.engines.base import Engine
from fairc.runtime.engines.docker import DockerEngine
from fairc.runtime.engines.mininet import MininetEngine
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.host.faults import EngineUnavailable
from fairc_fake.engine import FakeEngine

# No loss, no delay, no transmission: a host without netem can run it, too.
SPEC = """fexp 1
topology pair() {
  node s  router r  node c
  link s -- r { rate = 20Mbit/s  transmit = bucket }
  link r -- c { rate = 2Mbit/s  queue = fifo(20pkt)  transmit = bucket }
}
experiment contract {
  topology = pair()
  flow f { from = s  to = c  cca = reno  workload = WORKLOAD }
  DURATION
  measure = [goodput]
}
"""


@dataclass(frozen=True)
class Subject:
    """An engine under test.

    make: a new engine. short: a cell that ends; endless: one that runs until it is stopped.
    exact: whether the same cell gives the same bytes. computes_s: the CPU time of its processes
    that shows that a cell runs, s; 0 if it has no processes of ours.
    """

    make: Callable[[], Engine]
    short: Cell
    endless: Cell
    exact: bool
    computes_s: float = 0.5


def cell(workload: str, more: str) -> Cell:
    """Compile the only cell of an experiment."""
    text = SPEC.replace("WORKLOAD", workload).replace("DURATION", more)
    return only_cell_of(text)


def fake() -> Subject:
    """The fake engine hangs where it is told to: in repetition 2."""
    short = cell("file(100kB)", "")
    endless = replace(short, repetition=2)
    return Subject(
        lambda: FakeEngine(faults={2: "hang"}), short, endless, exact=True, computes_s=0.0
    )


def mininet() -> Subject:
    """The mininet engine, if this user and this kernel can run the cell."""
    short, endless = cell("file(100kB)", ""), cell("bulk", "duration = 300s")
    try:
        MininetEngine().prepare()
    except EngineUnavailable as lacking:
        pytest.skip(f"mininet: {lacking}")
    missing = [what for what, there in host.needs(short) if not there]
    if missing:
        pytest.skip(f"mininet: this kernel lacks {', '.join(missing)}")
    return Subject(MininetEngine, short, endless, exact=False)


def vm() -> Subject:
    """The vm engine: `make setup` has built its image."""
    short, endless = cell("file(100kB)", ""), cell("bulk", "duration = 300s")
    return Subject(VmEngine, short, endless, exact=True)


def uml() -> Subject:
    """The uml engine: `make setup` has built its kernel and image."""
    short, endless = cell("file(100kB)", ""), cell("bulk", "duration = 10000s")
    return Subject(UmlEngine, short, endless, exact=True)


def docker() -> Subject:
    """The docker engine; the fixture `docker_engine` has seen to it that it runs."""
    short, endless = cell("file(100kB)", ""), cell("bulk", "duration = 300s")
    return Subject(DockerEngine, short, endless, exact=False, computes_s=0.0)


ENGINES: dict[str, Callable[[], Subject]] = {
    "docker": docker,
    "fake": fake,
    "mininet": mininet,
    "uml": uml,
    "vm": vm,
}


@pytest.fixture(params=ENGINES)
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Return each engine in turn.

    Tests of other processes with the Docker engine wait: some take all addresses there are.
    """
    if request.param == "docker":
        request.getfixturevalue("docker_engine")
        with docker_daemon.turn():
            yield docker()
    else:
        yield ENGINES[request.param]()


@pytest.fixture
def engine(subject: Subject) -> Iterator[Engine]:
    """Return a prepared engine that is closed afterwards."""
    made = subject.make()
    made.prepare()
    yield made
    made.close()


@pytest.fixture
def ended(tmp_path: Path) -> Callable[[Path], str]:
    """Return what says how a cell ended, by its cell.json."""
    return lambda artefacts: str(json.loads((artefacts / "cell.json").read_text())["ended_by"])

"""Cells that any kernel can run: no delay, no loss, no AQM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

import docker_daemon
import pytest
from specs import compilation_of

from fairc.compiler import Cell, Compilation
from fairc.runtime.containers import leftovers
from fairc.runtime.containers.client import Client, connect
from fairc.runtime.engines.docker import DockerEngine

SPEC = """fexp 1
topology pair() {{
  node s  router r  node c
  link s -- r {{ rate = 20Mbit/s  transmit = bucket }}
  link r -- c {{ rate = 2Mbit/s  queue = fifo(20pkt)  transmit = bucket  {change} }}
}}
experiment pair {{
  topology = pair()
  flow f {{ from = s  to = c  {flow} }}
  {more}
  measure = [goodput]
}}
"""
SHORT = "cca = reno  workload = file(100kB)"
Compiled = Callable[..., Compilation]


@pytest.fixture
def compiled() -> Compiled:
    """Compile two hosts and a router, with one flow."""

    def make(flow: str = SHORT, more: str = "", change: str = "") -> Compilation:
        text = SPEC.format(flow=flow, more=more, change=change)
        return compilation_of(text)

    return make


@pytest.fixture
def cell(compiled: Compiled) -> Cell:
    """A short cell."""
    (only,) = compiled().cells()
    return only


@pytest.fixture
def client(docker_engine: None) -> Iterator[Client]:
    """The Docker engine, for one test of all test processes at a time; nothing of this process or
    of one that has ended may be left there after it.
    """
    with docker_daemon.turn(), closing(connect()) as made:
        yield made
        chosen = {"filters": {"label": leftovers.LABEL}}
        for kind in (partial(made.api.containers, all=True), made.api.networks):
            labels = [found["Labels"][leftovers.LABEL] for found in kind(**chosen)]
            assert not [
                x for x in labels if leftovers.is_left(x) or x in leftovers.label().values()
            ]


@pytest.fixture
def engine(client: Client) -> Iterator[DockerEngine]:
    """A prepared engine."""
    made = DockerEngine()
    made.prepare()
    yield made
    made.close()

"""`pep`: proxies in topologies, and what goes with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tables import rows

from fairc.dsl import Diagnostics
from fairc.dsl.model import Configuration
from fairc.mechanisms.devices.pep.declaration import Pep

Check = Callable[..., Diagnostics]
Build = Callable[..., list[Configuration]]

HOME = """topology {
    node server, client
    router gateway, terminal
    link server -- gateway, terminal -- client { rate = 1Gbit/s }
    link gateway -- terminal { rate = 10Mbit/s  delay = 250ms }
    pep sat { %s }
  }"""


def test_proxies(build: Build) -> None:
    (configuration,) = build("topology = geo(pep: split(cca: bbr, connections: 3, window: 50kB))")
    (pep,) = configuration.scenario.network.proxies
    assert isinstance(pep, Pep)
    assert (pep.name, pep.terminal, pep.gateway, pep.cca) == (
        "satellite",
        "terminal",
        "gateway",
        "bbr",
    )
    assert (pep.connections, pep.window.canonical) == (3, "50kB")
    (configuration,) = build(HOME % "terminal = terminal  gateway = gateway")
    (pep,) = configuration.scenario.network.proxies
    assert isinstance(pep, Pep)
    assert (pep.cca, pep.connections, pep.window.canonical) == ("cubic", 8, "1bdp")


@pytest.mark.parametrize("text", ["geo", "geo(pep: none)"])
def test_no_proxies(build: Build, text: str) -> None:
    (configuration,) = build(f"topology = {text}")
    assert configuration.scenario.network.proxies == ()


def test_accesses_with_and_without_proxies_are_swept(experiment: Callable[..., Any]) -> None:
    made = experiment("sweep { access = [geo(pep: split), geo, 4g] }", "topology = access")
    assert [len(c.scenario.network.proxies) for c in made.configurations()] == [1, 0, 0]


WRONG = """
gateway = gateway | missing-key | sat
terminal = terminal  gateway = nowhere | unknown-node | nowhere
terminal = terminal  gateway = server | wrong-type | server
terminal = terminal  gateway = terminal | no-pep-link | terminal
terminal = terminal  gateway = gateway  speed = 3 | unknown-key | speed
terminal = terminal  gateway = gateway  mode = split(cca: pcc) | impossible-pair | pcc
terminal = terminal  gateway = gateway  mode = split(connections: 0) | out-of-range | 0
terminal = terminal  gateway = gateway  mode = split(window: 3pkt) | wrong-dimension | 3pkt
"""


@pytest.mark.parametrize(("settings", "code", "place"), rows(WRONG))
def test_wrong_proxies(check: Check, settings: str, code: str, place: str) -> None:
    found = check(HOME % settings)
    assert (code, place) in [(d.code, d.span.text) for d in found.errors if d.span]


def test_proxies_and_flows_share_the_parameters_of_a_cca(check: Check) -> None:
    found = check("topology = geo(pep: split(cca: cubic(hystart: off)))")
    assert [d.code for d in found.errors] == ["conflicting-parameters"]
    (error,) = found.errors
    assert "`a` and `satellite` disagree on the parameters of `cubic`" in error.message

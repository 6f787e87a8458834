"""Emitted Mininet programs, run with a Mininet that only writes down what it is asked for."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from specs import compilation_of

from fairc import compiler
from fairc.cell.expansion import expand
from fairc.cell.summary import restore
from fairc.compiler import Cell
from fairc.compiler.targets import mininet, program
from fairc.dsl import load, read

ROOT = Path(__file__).parents[2]
PARTS = {
    "cli": ("CLI",),
    "link": ("Intf", "Link"),
    "net": ("Mininet",),
    "node": ("Node",),
    "topo": ("Topo",),
}
RANDOM = """fexp 1
experiment drawn {
  sweep { loss = [1%, 2%] }
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, loss: loss)
  flow a { cca = cubic  workload = file(1MB)  start = uniform(0s, 1s) }
  flow noise { over = udp  workload = onoff(1Mbit/s, exponential(100ms), 50ms) }
  duration = 4s
  repeat = 3
  measure = [goodput]
}
"""
POLICED = """fexp 1
experiment policed {
  topology = access(rate: 10Mbit/s, rtt: 100ms, policer: conex(rate: 15pkt/s, depth: 45pkt))
  users heavy { count = 1 }
  flow f { users = heavy  cca = reno  workload = bulk }
  duration = 1s
  measure = [goodput]
}
"""


class Topo:
    """A topology that remembers what it gets."""

    def __init__(self, *arguments: Any) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.links: list[dict[str, Any]] = []
        self.build(*arguments)

    def build(self, *arguments: Any) -> None:
        """Add nodes and links."""

    def addHost(self, name: str, **options: Any) -> None:
        self.nodes.append({"name": name, **options})

    def addLink(self, a: str, b: str, **options: Any) -> None:
        self.links.append({"ends": (a, b), **options})


@pytest.fixture(autouse=True)
def recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mininet, as programs import it."""
    monkeypatch.setitem(sys.modules, "mininet", ModuleType("mininet"))
    for part, names in PARTS.items():
        module = ModuleType(f"mininet.{part}")
        for name in names:
            setattr(module, name, Topo if name == "Topo" else type(name, (), {}))
        module.VERSION = "2.3.0"  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, f"mininet.{part}", module)


def configurations(name: str) -> Iterator[list[Cell]]:
    """Yield the cells of each configuration of an example, or of a text."""
    if name.endswith(".fexp"):
        experiment, found = load(read(ROOT / name))
        assert experiment is not None, [d.message for d in found]
        made = compiler.compile(experiment, "fake")
    else:
        made = compilation_of(name, engine="fake")
    several: dict[str, list[Cell]] = {}
    for cell in made.cells():
        several.setdefault(cell.configuration, []).append(cell)
    yield from list(several.values())[:3]


def executed(text: str) -> dict[str, Any]:
    """Return what a program defines."""
    scope: dict[str, Any] = {"__name__": "emitted"}
    exec(compile(text, "emitted.py", "exec"), scope)  # noqa: S102
    return scope


def without_comments(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_comments(v) for k, v in value.items() if k != program.ABOVE}
    if isinstance(value, list | tuple):
        return [without_comments(part) for part in value]
    return value


@pytest.mark.parametrize(
    "name",
    [
        *("examples/quickstart.fexp", "examples/satcom-quick.fexp", "tests/golden/custom.fexp"),
        *("examples/mobile.fexp", RANDOM, POLICED),
    ],
)
def test_a_program_says_of_each_repetition_what_its_cell_says(name: str) -> None:
    """The network that is asked of Mininet, and the document that the conductor gets."""
    for cells in configurations(name):
        scope = executed(mininet.render(*cells))
        (name_of_topo,) = scope["topos"]
        assert name_of_topo == cells[0].experiment
        for cell in cells:
            expected = without_comments(json.loads(json.dumps(program.view(cell))))
            network = scope["topos"][name_of_topo](cell.repetition)
            assert [
                {
                    "name": node["name"],
                    "sysctls": node["sysctls"],
                    "commands": node.get("commands", []),
                }
                for node in network.nodes
            ] == [
                {key: node[key] for key in ("name", "sysctls", "commands")}
                for node in expected["nodes"]
            ]
            assert [
                [
                    {"node": end, "name": link[f"intfName{n}"], **link[f"params{n}"]}
                    for n, end in enumerate(link["ends"], 1)
                ]
                for link in network.links
            ] == [[link["a"], link["b"]] for link in expected["links"]]
            said = scope["experiment"](cell.repetition)
            assert said == expected["experiment"]
            assert_same_document(said, network, cell)


def assert_same_document(said: dict[str, Any], network: Any, cell: Cell) -> None:
    """What the conductor gets is what follows from the cell, apart from the network."""
    hosts = {
        node["name"]: Part(node["name"], {"sysctls": node["sysctls"]}) for node in network.nodes
    }
    for link in network.links:
        for number, end in enumerate(link["ends"], 1):
            hosts[end].ports.append(Part(link[f"intfName{number}"], link[f"params{number}"]))
    tc = {
        name: [c for port in host.ports for c in port.params.get("commands", ())]
        for name, host in hosts.items()
    }
    net = Part("net", {})
    net.hosts = [*hosts.values()]
    whole: Any = expand(cell)
    made: Any = restore(said, of_program("network_of")(net), tc)
    assert made.keys() == whole.keys()
    for node, planned in zip(made["network"]["nodes"], whole["network"]["nodes"], strict=True):
        assert {str((i["name"], i["lower"])) for i in node["interfaces"]} == {
            str((i["name"], i["lower"])) for i in planned["interfaces"]
        }
        assert (node["name"], node["sysctls"]) == (planned["name"], planned["sysctls"])
        assert bool(node["beyond_tc"]) == bool(planned["beyond_tc"])
    for key in made.keys() - {"seeds", "network"}:
        assert plain(made[key]) == plain(whole[key]), key
    assert sorted(map(str, made["seeds"])) == sorted(map(str, whole["seeds"]))


class Part:
    """A node or an interface, as Mininet has it."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        self.name, self.params = name, params
        self.ports: list[Part] = []
        self.hosts: list[Part] = []

    def intfList(self) -> list[Part]:
        return self.ports


def of_program(name: str) -> Any:
    """Return what programs import of `cell.mininet`, which needs a Mininet."""
    sys.modules.pop("fairc.cell.mininet", None)
    module = importlib.import_module("fairc.cell.mininet")
    del sys.modules["fairc.cell.mininet"]
    return getattr(module, name)


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_repetitions_differ_by_a_table_of_random_numbers() -> None:
    cells = next(configurations(RANDOM))
    text = mininet.render(*cells)
    scope = executed(text)
    assert [*scope["DRAWN"]] == [1, 2, 3]
    assert len({str(sorted(table)) for table in scope["DRAWN"].values()}) == 1
    assert {"id", "a starts_ns"} <= scope["DRAWN"][1].keys()
    assert "seed {drawn[" in text and "rate 10000000bit" in text
    alone = mininet.render(cells[1])
    assert "DRAWN" not in alone and cells[1].id in alone


def test_a_program_without_mininet_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mininet.net", None)
    text = mininet.render(next(configurations(POLICED))[0])
    with pytest.raises(SystemExit, match=r"needs Mininet \(apt-get install mininet\)"):
        executed(text)


def test_the_options_of_a_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/bin")
    arguments = of_program("arguments")

    def called(*given: str) -> Any:
        monkeypatch.setattr(sys, "argv", ["/plan/cells/loss=1%.py", *given])
        return arguments("About it.", [1, 2])

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert called("--cli").cli and os.environ["PATH"].startswith("/plan/cells:/bin")
    assert called("--repetition", "2").outdir == "loss=1%.2"
    assert called("there").outdir == "there"
    with pytest.raises(SystemExit, match="2"):
        called("--repetition", "3")
    said = capsys.readouterr().err
    assert re.search(r"invalid choice: '?3'? \(choose from 1, 2\)", said)  # Python 3.13 quotes it
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit, match="run it as root"):
        called()
    with pytest.raises(SystemExit, match="0"):
        called("--help")
    assert "About it." in capsys.readouterr().out

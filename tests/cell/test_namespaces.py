"""What is run in the nodes of a cell that are network namespaces: with nodes that run nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fairc.cell.batch import cable_lines, node_lines
from fairc.cell.expansion import expand
from fairc.cell.namespaces import Namespace, Namespaces
from fairc.compiler import Cell


class Recorded(Namespace):
    """A node that says which commands it was asked to run, and in which order."""

    ran: list[tuple[str, str, list[str]]]

    def __init__(self, name: str) -> None:
        self.name, self.path = name, f"/of/{name}"

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Say that nothing is in force."""
        return {}

    def run(self, command: Sequence[str], lines: Sequence[str] = ()) -> str:
        """Keep a command, and print no queues."""
        self.ran.append((self.name, " ".join(command), [*lines]))
        return "[]"


@pytest.fixture
def nodes(golden_cell: Cell, monkeypatch: pytest.MonkeyPatch) -> Namespaces:
    monkeypatch.setattr(Recorded, "ran", [], raising=False)
    return Namespaces({node.name: Recorded(node.name) for node in golden_cell.nodes})


def test_cables_come_first_then_each_node_in_turn(golden_cell: Cell, nodes: Namespaces) -> None:
    network = expand(golden_cell)["network"]
    in_force = nodes.set_up(network, "endpoints")
    names = [node["name"] for node in network["nodes"]]
    cables = cable_lines(network["cables"], {name: f"/of/{name}" for name in names})
    assert Recorded.ran[0] == (names[0], "ip -batch -", cables)
    wanted = []
    for node in network["nodes"]:
        wanted.append((node["name"], "ip -batch -", list(node_lines(node))))
        if node["qdiscs"]:
            wanted.append((node["name"], "tc -batch -", node["qdiscs"]))
    assert Recorded.ran[1:] == wanted
    assert any(command.startswith("tc") for _, command, _ in wanted)
    assert list(in_force["sysctl"]) == list(in_force["offloads"]) == names


def test_the_queues_of_every_node_are_read(golden_cell: Cell, nodes: Namespaces) -> None:
    names = [node.name for node in golden_cell.nodes]
    assert nodes.queues("endpoints", ()) == {name: [] for name in names}
    assert Recorded.ran == [(name, "tc -s -j qdisc show", []) for name in names]

"""What follows from a cell of the plan, as tests look at it."""

from __future__ import annotations

import json
from typing import Any

from fairc.cell import links
from fairc.cell.batch import node_lines
from fairc.cell.document import Program
from fairc.cell.expansion import expand
from fairc.cell.links import REAL_TIME_SLACK_NS, egress_lines
from fairc.compiler import Cell, plan
from fairc.mechanisms.devices.pep.cell import Pep

Told = tuple[str, str, str, str]
"""Name, node, role, description."""


def constants(cell: Cell, **how: Any) -> dict[str, Any]:
    """Return the parts of a cell's document: lines per node, programs as (name, node, role,
    description).
    """
    document = expand(cell, **how)
    nodes = document["network"]["nodes"]
    return {
        "IP": {node["name"]: list(node_lines(node)) for node in nodes},
        "TC": {node["name"]: node["qdiscs"] for node in nodes},
        "SYSCTL": {node["name"]: node["sysctls"] for node in nodes},
        "SEEDS": [(seed["node"], seed["interface"], seed["seed"]) for seed in document["seeds"]],
        "MODULES": document["modules"],
        "SERVERS": [told(program) for program in document["servers"]],
        "CLIENTS": [told(program) for program in document["clients"]],
        "DOCUMENT": document,
    }


def told(program: Program) -> Told:
    """Return a program with its description as the endpoints get it."""
    text = json.dumps(program["description"])
    return program["name"], program["node"], program["role"], text


def program(cell: Cell, flow: plan.Flow, side: str) -> tuple[str, dict[str, Any]]:
    """Return role and description of an end of a flow."""
    made = constants(cell)["DOCUMENT"][f"{side}s"]
    (found,) = (each for each in made if each["name"] == f"{flow.name}.{side}")
    return found["role"], found["description"]


def interface_lines(interface: plan.Interface, slack_ns: int = REAL_TIME_SLACK_NS) -> list[str]:
    """Return the lines of tc that make what packets meet at an interface."""
    return egress_lines(interface, slack_ns)


def changed_lines(
    interface: plan.Interface, change: plan.Change, slack_ns: int = REAL_TIME_SLACK_NS
) -> list[str]:
    """Return the lines of tc that carry out a first change."""
    return links.change_lines(interface, change.in_force, interface.initial, slack_ns, below=1)


def proxies(pep: Pep) -> list[Program]:
    """Return the two ends of a split connection."""
    return list(pep.proxies(syn_retries=1))


def queue_words(queue: plan.Queue, rate_bps: int) -> str:
    """Return what tc takes for a queue."""
    return f"{queue.tc_name} {queue.words(rate_bps)}"


def red_weight(least: int, burst: int, packet: int) -> int:
    """Return -log2 of the weight that tc gives an average (iproute2, tc_red_eval_ewma)."""
    wanted = burst + 1 - least / packet
    for log in range(1, 32):
        share = 2.0**-log
        if wanted <= (1 - (1 - share) ** burst) / share:
            return log
    raise AssertionError("tc would refuse it")

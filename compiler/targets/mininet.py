"""Target `mininet`: one Mininet program per cell (template: `mininet.py.j2`), and what runs it: `cell/`."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from fairc.cell import experiment as values
from fairc.cell.expansion import expand
from fairc.cell.links import MTU
from fairc.compiler.plan import Cell, LoadWorkload

from . import images, iperf3, processing, runner
from .binary import NAME, find_endpoints
from .code import COLUMNS, code
from .single import single_file
from .values import experiment, network

MEANINGS = {"client": "client of page loads", "policer": "what a policer sees"}
"""Of captures that are not of a queue, by their point."""


def begin(directory: Path, alone: bool = False) -> Callable[[Cell], None]:
    """Copy what runs the programs next to them; return what writes `cells/<id>.py`.

    alone: write `cell/` into each program instead. Raises EndpointsMissing.
    """
    cells = directory / "cells"
    cells.mkdir(exist_ok=True)
    shutil.copy(find_endpoints(), cells / NAME)
    if not alone:
        runner.copy(cells)

    def write(cell: Cell) -> None:
        images.refuse(cell, "mininet")
        script = cells / f"{cell.id}.py"
        program = render(cell)
        script.write_bytes((single_file(program) if alone else program).encode())
        script.chmod(0o755)

    return write


def render(cell: Cell) -> str:
    """Write the Mininet program of a cell: equal text for equal cells.

    Raises ValueError for a cell that nobody has checked, and whose texts could be more than texts.
    """
    resolved = processing.resolved(cell, computing_is_free=False)
    net, what = network(resolved), experiment(resolved)
    expand(net, what)  # refuses what is not data
    runs = ("run",) if {*net.nodes.values()} == {"host"} else ("Router", "run")
    return template("mininet.py.j2").render(
        header=list(header(cell)),
        iperf3=any(map(iperf3.uses, cell.flows)),
        browsers=browsers(cell),
        imports=imports(what, "topology", runs),
        nodes=[_node(name, kind) for name, kind in net.nodes.items()],
        links=list(_links(cell, net)),
        code=code(what, comments(cell)),
    )


def imports(what: object, runs: str, names: tuple[str, ...]) -> str:
    """Return the lines that import what an experiment is written with, and what runs it."""
    used = sorted({type(part).__name__ for part in _walk(what)})
    of = dict.fromkeys(used, "experiment")
    of |= dict.fromkeys(("Egress", "GilbertElliott", "Netem", "Shaper"), "links")
    of |= dict.fromkeys(_QUEUES, "queues")
    wanted = {"experiment": list[str](), "links": list[str](), "queues": list[str]()}
    for name in used:
        wanted[of[name]].append(name)
    lines = [(module, found) for module, found in (*wanted.items(), (runs, [*names])) if found]
    return "\n".join(_import(module, found) for module, found in sorted(lines))


_QUEUES = (
    "Cake",
    "CoDel",
    "DualPi2",
    "Fifo",
    "Fq",
    "FqCoDel",
    "FqPie",
    "Pie",
    "Qdisc",
    "Red",
    "Sfq",
)


def _import(module: str, names: list[str]) -> str:
    line = f"from cell.{module} import {', '.join(names)}"
    if len(line) <= COLUMNS:
        return line
    return f"from cell.{module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"


def _walk(value: object) -> Iterator[object]:
    """Yield the typed values of which a value is made."""
    if isinstance(value, values.Workload):
        yield value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in dataclasses.fields(value):
            given = getattr(value, field.name)
            if given != field.default:
                yield from _walk(given)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item)
    elif isinstance(value, dict):
        yield from _walk([*value.values()])


def comments(cell: Cell) -> Callable[[object], str]:
    """Return what is said above a value: the line of the file, what a capture shows."""
    places = {(node.name, i.name): i.source for node in cell.nodes for i in node.interfaces}
    named = {
        "Flow": {flow.name: flow.source for flow in cell.flows},
        "Pep": {pep.name: pep.source for pep in cell.peps},
        "Policer": {policer.name: policer.source for policer in cell.policers},
        "Capture": {
            capture.name: MEANINGS.get(
                capture.point, f"{capture.point} of the bottleneck {'/'.join(capture.queue)}"
            )
            for capture in cell.captures
        },
    }

    def said(value: object) -> str:
        if isinstance(value, values.Egress):
            return comment(places[value.node, value.interface])
        name = getattr(value, "name", "")
        return comment(named.get(type(value).__name__, {}).get(name, ""))

    return said


KINDS = {"host": ")", "router": ", cls=Router)", "hop": ", cls=Router)  # a hop"}


def _node(name: str, kind: str) -> str:
    return f"self.addHost({literal(name)}{KINDS[kind]}"


def literal(value: object) -> str:
    """Return an expression that makes a value."""
    return code(value, lambda _: "")


def _links(cell: Cell, net: values.Network) -> Iterator[tuple[str, str]]:
    """Yield (line of the file, statement) for each cable; interfaces have Mininet's names if they can."""
    sources = {(node.name, i.name): i.source for node in cell.nodes for i in node.interfaces}
    ports = dict.fromkeys(net.nodes, 0)
    last = ""
    for link in net.links:
        words = [literal(end.node) for end in (link.a, link.b)]
        for number, end in ((1, link.a), (2, link.b)):
            if end.interface != f"{end.node}-eth{ports[end.node]}":
                words.append(f"intfName{number}={literal(end.interface)}")
            ports[end.node] += 1
        for number, end in ((1, link.a), (2, link.b)):
            words.append(f"params{number}={literal({'ip': end.address})}")
        if link.mtu != MTU:
            words.append(f"mtu={link.mtu}")
        statement = f"self.addLink({', '.join(words)})"
        if 8 + len(statement) > COLUMNS:
            inner = ", ".join(words)
            if 12 + len(inner) > COLUMNS:
                inner = f",\n{12 * ' '}".join(words) + ","
            statement = f"self.addLink(\n{12 * ' '}{inner}\n{8 * ' '})"
        source = sources[link.a.node, link.a.interface]
        yield ("" if source == last else source), statement
        last = source


def browsers(cell: Cell) -> int:
    """Return how many flows load pages in a browser."""
    loads = (flow.workload for flow in cell.flows if isinstance(flow.workload, LoadWorkload))
    return sum(load.client != "plain" for load in loads)


def header(cell: Cell) -> Iterator[str]:
    """Yield the comment lines that say which cell this is."""
    yield f"cell           {cell.id}"
    yield f"experiment     {cell.experiment}"
    yield f"configuration  {cell.configuration}"
    for name, value in cell.bindings.items():
        yield f"  {name} = {value}"
    yield f"repetition     {cell.repetition}, seed {cell.seed}"


@cache
def template(name: str) -> Template:
    """Compile a template once."""
    environment = Environment(
        loader=PackageLoader("fairc.compiler.targets"),
        undefined=StrictUndefined,
        line_statement_prefix="#%",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["yaml"] = quoted
    environment.filters["comment"] = comment
    return environment.get_template(name)


def quoted(text: object) -> str:
    """Write a text for Compose: quoted as YAML and JSON have it, and a dollar stands for itself."""
    return json.dumps(text).replace("$", "$$")


def comment(text: object) -> str:
    """Make a text safe for a comment: one line, nothing but printable characters."""
    line = str(text)
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else "?" for char in line)

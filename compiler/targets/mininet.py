"""Target `mininet`: one Mininet program per cell (template: `mininet.py.j2`), and `cell/`, which
runs it.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from fairc.cell import experiment as values
from fairc.cell import links as cell_links
from fairc.cell import queues, workloads
from fairc.cell.batch import word
from fairc.cell.expansion import expand
from fairc.cell.frames import MTU
from fairc.cell.links import Egress
from fairc.compiler.plan import Capture, Cell, LoadWorkload, Node

from . import images, iperf3, processing, runner
from .binary import NAME, find_endpoints
from .code import COLUMNS, INDENT, Comment, code
from .single import single_file
from .values import experiment, network

MEANINGS = {
    "client": "client of page loads",
    "policer": "what a policer sees",
    "sender": "data and ACKs at a sender",
}
"""What captures away from a queue show, by their point."""


def begin(directory: Path, alone: bool = False) -> Callable[[Cell], None]:
    """Copy `cell/` next to the programs; return the function that writes `cells/<id>.py`.

    alone: write `cell/` into each program instead. Raises EndpointsMissing.
    """
    cells = directory / "cells"
    cells.mkdir(exist_ok=True)
    shutil.copy(find_endpoints(), cells / NAME)
    if not alone:
        runner.copy(cells)
    program_of = Programs()

    def write(cell: Cell) -> None:
        images.refuse(cell, "mininet")
        program = program_of(cell)
        script = cells / f"{cell.id}.py"
        script.write_bytes((single_file(program) if alone else program).encode())
        script.chmod(0o755)

    return write


class Programs:
    """Writes the programs of many cells: `render` is called once for those that differ only in a
    few numbers.

    Repetitions of a configuration have the same text but for their names, their seeds and when
    their flows start, if nothing else of them is drawn.
    """

    def __init__(self) -> None:
        self._written: dict[str, tuple[object, list[str]]] = {}

    def __call__(self, cell: Cell) -> str:
        """Return what `render` returns."""
        word(cell.id)
        drawn, rest = list(_drawn(cell)), _rest(cell)
        known = self._written.get(cell.configuration)
        if known is None or known[0] != rest:
            program = render(cell)
            between = _between(program, drawn)
            if between is None:
                return program
            if len(self._written) >= KEPT:
                self._written.clear()
            known = self._written[cell.configuration] = rest, between
        return "".join(chain.from_iterable(zip_longest(known[1], drawn, fillvalue="")))


KEPT = 2000
"""Programs: as many as configurations (`compilation.KEPT_CONFIGURATIONS`)."""


def _drawn(cell: Cell) -> Iterator[str]:
    """Yield what differs between the programs of a configuration's repetitions, in order: whole
    lines.

    That of a flow's starts is one, because no flow is short enough to be written on one line.
    """
    yield f"\n# {comment(_name(cell))}"
    yield f"\n# {comment(_repetition(cell))}"
    for name in ("id", "repetition", "deadline_ns"):
        yield f"\n    {name}={literal(getattr(cell, name))},"
    for flow in cell.flows:
        starts = code(flow.starts_ns).text(3 * INDENT, len("starts_ns="))
        yield f"\n            starts_ns={starts},"


def _rest(cell: Cell) -> object:
    """Return all of a cell that the rest of its program follows from."""
    seed = cell.seed if cell.processing_ns else None
    own: dict[str, object] = {
        "id": "",
        "repetition": 0,
        "deadline_ns": 0,
        "seed": seed,
        "flows": (),
    }
    return vars(cell) | own, [vars(flow) | {"starts_ns": ()} for flow in cell.flows]


def _between(program: str, drawn: list[str]) -> list[str] | None:
    """Return what stands before, between and after these texts; None where one of them is not
    there.
    """
    pieces = []
    for text in drawn:
        before, found, program = program.partition(text)
        if not found:
            return None
        pieces.append(before)
    return [*pieces, program]


def render(cell: Cell) -> str:
    """Write the Mininet program of a cell: equal text for equal cells.

    Raises ValueError for an unchecked cell whose texts could contain code.
    """
    resolved = processing.resolved(cell, computing_is_free=False)
    net, what = network(resolved), experiment(resolved)
    expand(net, what)  # refuses what is not data
    runs = ("run",) if {*net.nodes.values()} == {"host"} else ("Router", "run")
    written = code(what, comments(cell))
    return template("mininet.py.j2").render(
        header=list(header(cell)),
        iperf3=any(map(iperf3.uses, cell.flows)),
        browsers=browsers(cell),
        imports=imports(written.classes(), "topology", runs),
        nodes=[_node(name, kind) for name, kind in net.nodes.items()],
        links=_links(cell.nodes, net),
        code=written.text(),
    )


@cache
def imports(used: frozenset[str], runs: str, names: tuple[str, ...]) -> str:
    """Return the lines that import what an experiment is written with, and what runs it."""
    of = {
        name: module.__name__.rpartition(".")[2]
        for module in (values, cell_links, queues, workloads)
        for name, kind in vars(module).items()
        if getattr(kind, "__module__", "") == module.__name__
    }
    wanted: dict[str, list[str]] = defaultdict(list)
    for name in sorted(used):
        wanted[of[name]].append(name)
    lines = [(module, found) for module, found in (*wanted.items(), (runs, [*names])) if found]
    return "\n".join(_import(module, found) for module, found in sorted(lines))


def _import(module: str, names: list[str]) -> str:
    line = f"from cell.{module} import {', '.join(names)}"
    if len(line) <= COLUMNS:
        return line
    return f"from cell.{module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"


def comments(cell: Cell) -> Comment:
    """Return the comment above a value: the line of the file, what a capture shows."""
    places = _sources(cell.nodes)
    named = {
        "Flow": {flow.name: flow.source for flow in cell.flows},
        "Pep": {pep.name: pep.source for pep in cell.peps},
        "Policer": {policer.name: policer.source for policer in cell.policers},
        "Capture": _meanings(cell.captures),
    }

    def comment_of(value: object) -> str:
        if isinstance(value, Egress):
            return comment(places[value.node, value.interface])
        name = getattr(value, "name", "")
        return comment(named.get(type(value).__name__, {}).get(name, ""))

    return comment_of


def _sources(nodes: tuple[Node, ...]) -> dict[tuple[str, str], str]:
    """Return the line of the file from which each interface comes."""
    return {(node.name, i.name): i.source for node in nodes for i in node.interfaces}


def _meanings(captures: tuple[Capture, ...]) -> dict[str, str]:
    """Return what each capture shows."""
    return {
        capture.name: MEANINGS.get(
            capture.point, f"{capture.point} of the bottleneck {'/'.join(capture.queue)}"
        )
        for capture in captures
    }


KINDS = {"host": ")", "router": ", cls=Router)", "hop": ", cls=Router)  # a hop"}


def _node(name: str, kind: str) -> str:
    return f"self.addHost({literal(name)}{KINDS[kind]}"


def literal(value: object) -> str:
    """Return an expression that makes a value."""
    return code(value).text()


def _links(nodes: tuple[Node, ...], net: values.Network) -> list[tuple[str, str]]:
    """Return (line of the file, statement) for each cable; interfaces have Mininet's names if they
    can.
    """
    sources = _sources(nodes)
    ports = dict.fromkeys(net.nodes, 0)
    found, last = [], ""
    for link in net.links:
        arguments = [literal(end.node) for end in (link.a, link.b)]
        for number, end in ((1, link.a), (2, link.b)):
            if end.interface != f"{end.node}-eth{ports[end.node]}":
                arguments.append(f"intfName{number}={literal(end.interface)}")
            ports[end.node] += 1
        for number, end in ((1, link.a), (2, link.b)):
            arguments.append(f"params{number}={literal({'ip': end.address})}")
        if link.mtu != MTU:
            arguments.append(f"mtu={link.mtu}")
        statement = f"self.addLink({', '.join(arguments)})"
        if 8 + len(statement) > COLUMNS:
            inner = ", ".join(arguments)
            if 12 + len(inner) > COLUMNS:
                inner = f",\n{12 * ' '}".join(arguments) + ","
            statement = f"self.addLink(\n{12 * ' '}{inner}\n{8 * ' '})"
        source = sources[link.a.node, link.a.interface]
        found.append(("" if source == last else source, statement))
        last = source
    return found


def browsers(cell: Cell) -> int:
    """Return how many flows load pages in a browser."""
    loads = (flow.workload for flow in cell.flows if isinstance(flow.workload, LoadWorkload))
    return sum(load.client != "plain" for load in loads)


def header(cell: Cell) -> Iterator[str]:
    """Yield the comment lines that say which cell this is."""
    yield _name(cell)
    yield f"experiment     {cell.experiment}"
    yield f"configuration  {cell.configuration}"
    for name, value in cell.bindings.items():
        yield f"  {name} = {value}"
    yield _repetition(cell)


def _name(cell: Cell) -> str:
    return f"cell           {cell.id}"


def _repetition(cell: Cell) -> str:
    return f"repetition     {cell.repetition}, seed {cell.seed}"


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

"""Target `mininet`: one Mininet program per cell (template: `mininet.py.j2`), and what runs it: `cell/`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from fairc.cell import experiment as values
from fairc.cell.batch import word
from fairc.cell.expansion import expand
from fairc.cell.links import MTU
from fairc.compiler.plan import Capture, Cell, Flow, LoadWorkload, Node

from . import images, iperf3, processing, runner
from .binary import NAME, find_endpoints
from .code import COLUMNS, INDENT, Comment, arguments, code, types
from .shared import Kept, shared
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

    Raises ValueError for an unchecked cell whose texts could contain code.
    """
    resolved = processing.resolved(cell, computing_is_free=False)
    net, what = network(resolved), experiment(resolved)
    _refuse(cell, net, what)
    runs = ("run",) if {*net.nodes.values()} == {"host"} else ("Router", "run")
    fields, used = _fields(cell, what)
    return template("mininet.py.j2").render(
        header=list(header(cell)),
        iperf3=any(map(iperf3.uses, cell.flows)),
        browsers=browsers(cell),
        imports=imports(used, "topology", runs),
        nodes=[_node(name, kind) for name, kind in net.nodes.items()],
        links=_links(cell.nodes, net),
        code="\n".join(["Experiment(", *(f"    {field}," for field in fields), ")"]),
    )


_EXPANDED = Kept[bool]()
_FIELDS = Kept[tuple[str, frozenset[str]]]()
_FLOWS = Kept[tuple[list[str], frozenset[str]]]()


def _refuse(cell: Cell, net: values.Network, what: values.Experiment) -> None:
    """Raise ValueError for what is not data: once for cells that differ in numbers and workloads only."""
    word(cell.id)
    flows = tuple(
        (flow.workload.kind, *(v for n, v in vars(flow).items() if n not in _VARIED))
        for flow in cell.flows
    )
    parts = (cell.nodes, cell.cables, cell.captures, cell.peps, cell.policers, flows)
    _EXPANDED.of(parts, lambda: bool(expand(net, what)))


_VARIED = ("starts_ns", "workload")


def _fields(cell: Cell, what: values.Experiment) -> tuple[list[str], frozenset[str]]:
    """Return the fields of an experiment as they are written, and the classes that they need."""
    said = comments(cell)
    net = network(cell)  # the very same for the same nodes
    of: dict[str, object] = {"routes=": net, "egress=": net, "captures=": cell.captures}
    texts, used = [], {"Experiment"}
    for prefix, part in arguments(what):

        def field(prefix: str = prefix, part: object = part) -> tuple[str, frozenset[str]]:
            return prefix + code(part, said, INDENT, len(prefix)), types(part)

        if prefix == "flows=" and all(map(said, what.flows)):
            text, names = _flows(cell, what, said)
        else:
            text, names = _FIELDS.of((prefix, of[prefix]), field) if prefix in of else field()
        texts.append(text)
        used |= names
    return texts, frozenset(used)


def _flows(cell: Cell, what: values.Experiment, said: Comment) -> tuple[str, frozenset[str]]:
    """Return flows that have comments as `code` writes them, and the classes that they need."""
    lines, last, used = ["flows=["], "", frozenset[str]()
    inner = " " * 2 * INDENT
    for planned, flow in zip(cell.flows, what.flows, strict=True):
        text, names = _flow(planned, flow)
        line = said(flow)
        lines += [f"{inner}# {line}"] * (line != last) + [f"{inner}{text},"]
        last, used = line, used | names
    return "\n".join([*lines, " " * INDENT + "]"]), used


def _flow(planned: Flow, flow: values.Flow) -> tuple[str, frozenset[str]]:
    """Return a flow as it is written; of repetitions that differ in its starts alone, these are filled in."""
    starts = f"starts_ns={literal(flow.starts_ns)}"

    def pieces() -> tuple[list[str], frozenset[str]]:
        return code(flow, _nothing, 2 * INDENT).split(starts), types(flow)

    if "\n" in starts:  # as many as do not fit on a line
        found, names = pieces()
    else:
        others = (v for n, v in vars(flow).items() if n not in _VARIED)
        varied = flow.workload.parameters.get("vary_gaps")
        # Starts of one length leave every line as long as it is.
        found, names = _FLOWS.of((len(starts), planned.workload, varied, *others), pieces)
    return starts.join(found), names


def _nothing(part: object) -> str:
    return ""


@cache
def imports(used: frozenset[str], runs: str, names: tuple[str, ...]) -> str:
    """Return the lines that import what an experiment is written with, and what runs it."""
    of = dict.fromkeys(used, "experiment")
    of |= dict.fromkeys(("Egress", "GilbertElliott", "Netem", "Shaper"), "links")
    of |= dict.fromkeys(_QUEUES, "queues")
    wanted = {"experiment": list[str](), "links": list[str](), "queues": list[str]()}
    for name in sorted(used):
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


def comments(cell: Cell) -> Comment:
    """Return what is said above a value: the line of the file, what a capture shows."""
    places = _sources(cell.nodes)
    named = {
        "Flow": {flow.name: flow.source for flow in cell.flows},
        "Pep": {pep.name: pep.source for pep in cell.peps},
        "Policer": {policer.name: policer.source for policer in cell.policers},
        "Capture": _meanings(cell.captures),
    }

    def comment_of(value: object) -> str:
        if isinstance(value, values.Egress):
            return comment(places[value.node, value.interface])
        name = getattr(value, "name", "")
        return comment(named.get(type(value).__name__, {}).get(name, ""))

    return comment_of


@shared
def _sources(nodes: tuple[Node, ...]) -> dict[tuple[str, str], str]:
    """Return the line of the file from which each interface comes."""
    return {(node.name, i.name): i.source for node in nodes for i in node.interfaces}


@shared
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
    return code(value, _nothing)


@shared
def _links(nodes: tuple[Node, ...], net: values.Network) -> list[tuple[str, str]]:
    """Return (line of the file, statement) for each cable; interfaces have Mininet's names if they can."""
    sources = _sources(nodes)
    ports = dict.fromkeys(net.nodes, 0)
    found, last = [], ""
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
        found.append(("" if source == last else source, statement))
        last = source
    return found


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

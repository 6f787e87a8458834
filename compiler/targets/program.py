"""A configuration as a Mininet program: what its cells say, what differs between its repetitions,
and how it is written.

The program of a configuration holds all of its repetitions. What is drawn anew for each (seeds,
starts) is in a table, and the network and the flows take it from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairc.cell.batch import line, node_lines
from fairc.cell.document import End, Node
from fairc.cell.expansion import expand
from fairc.cell.frames import MTU
from fairc.cell.summary import summarize
from fairc.cell.workloads import BROWSER
from fairc.compiler.plan import Cell, interfaces_of

from .code import comment_of, scalar
from .rendering import comment, template

COLUMNS = 100
INDENT = 4
ABOVE = "#"
"""Key of the comment above a part."""
KINDS = {"host": "HOST", "router": "ROUTER", "hop": "ROUTER"}
"""Kind of a node -> name of its kernel options; a hop forwards packets as a router does."""
ABOUT = {
    "host": "Hosts.",
    "router": "Routers.",
    "hop": "Between two of them: nodes that delay, lose and transmit what is on a link.",
}
"""Kind of a node -> what is said above the first one of several."""
GENERAL = frozenset({"experiment", "flows", "both", "links", "nodes", "commands"})
"""Keys that say nothing about what is below them."""

View = dict[str, Any]


def view(cell: Cell) -> View:
    """Return what the program of a cell says, as plain data. Raises ValueError for a cell that is
    not data.
    """
    document = expand(cell)
    said: View = summarize(document)
    for flow, planned in zip(said["flows"], cell.flows, strict=True):
        flow[ABOVE] = comment_of(planned)
    for capture, captured in zip(said.get("captures", ()), cell.captures, strict=True):
        capture[ABOVE] = comment_of(captured)
    splitting = [device for device in cell.devices if device.splits for _ in device.programs]
    for proxy, device in zip(said.get("proxies", ()), splitting, strict=True):
        proxy[ABOVE] = comment_of(device)
    nodes = document["network"]["nodes"]
    by_name = {node["name"]: node for node in nodes}
    sources = {place: each.source for place, each in interfaces_of(cell).items()}
    return {
        "nodes": [
            {
                "name": node["name"],
                "kind": planned.kind,
                "sysctls": dict(node["sysctls"]),
                "commands": [*_commands(node)],
            }
            for node, planned in zip(nodes, cell.nodes, strict=True)
        ],
        "links": [
            _link(
                [_port(by_name[end["node"]], end) for end in cable], planned.a, planned.b, sources
            )
            for cable, planned in zip(document["network"]["cables"], cell.cables, strict=True)
        ],
        "experiment": said,
    }


def _commands(node: Node) -> Iterator[str]:
    """Yield the commands that give a node further addresses, its rules, its routes, and paths of
    Multipath TCP.
    """
    for text in (*node_lines(node), *node.get("mptcp", ())):
        further = text.startswith("address ") and text.endswith(" dev lo")
        if further or text.startswith(("rule ", "route ", "mptcp ")):
            yield f"ip {line(text)}"


def _link(
    ports: Sequence[View], a: tuple[str, str], b: tuple[str, str], sources: Mapping[Any, str]
) -> View:
    above = dict.fromkeys(filter(None, (sources[a], sources[b])))
    return {ABOVE: comment(", ".join(above)), "a": ports[0], "b": ports[1]}


def _port(node: Node, end: End) -> View:
    """Return an end of a cable: its interface, address, size and queues."""
    (found,) = (
        each
        for each in node["interfaces"]
        if end["interface"] in (each["lower"] or each["name"], each["name"])
    )
    devices = {found["name"], found["lower"]}
    made: View = {"node": node["name"], "name": found["name"], "ip": found["address"]}
    if found["mtu"] != MTU:
        made["mtu"] = found["mtu"]
    if found["segments"] != 1:
        made["segments"] = found["segments"]
    if found["lower"] is not None:
        made["below"] = found["lower"]
    commands = [f"tc {line(text)}" for text in node["qdiscs"] if _device(text) in devices]
    beyond = [text for text in node["beyond_tc"] if _device(text) in devices]
    if beyond:
        lines = json.dumps({"lines": [line(text) for text in beyond]})
        commands.append(f"fairc-endpoints qdiscs --epoch-ns 0 '{lines}'")
    if commands:
        made["commands"] = commands
    return made


def _device(text: str) -> str:
    return text.partition(" dev ")[2].partition(" ")[0]


# ---- What differs between repetitions ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drawn:
    """A value that each repetition has of its own, by its name in the table."""

    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """A text with words that each repetition has of its own."""

    words: tuple[str | Drawn, ...]


class Draws:
    """The table: for each repetition, the values of its own by name."""

    def __init__(self, repetitions: Sequence[int]) -> None:
        self.table: dict[int, dict[str, Any]] = {number: {} for number in repetitions}

    def merged(self, values: Sequence[Any], path: tuple[str, ...] = ()) -> Any:
        """Return the parts of the repetitions that are equal, and what stands for all others."""
        first = values[0]
        kinds = {type(value) for value in values}
        if kinds == {dict} and all(value.keys() == first.keys() for value in values):
            return {
                key: self.merged([value[key] for value in values], (*path, key)) for key in first
            }
        if all(value == first and type(value) is type(first) for value in values):
            return first
        alike = kinds == {list} and len({len(value) for value in values}) == 1
        if alike and any(isinstance(part, dict | list | str) for part in first):
            return [
                self.merged([*several], (*path, _label(several[0])))
                for several in zip(*values, strict=True)
            ]
        if kinds == {str} and " " in first:
            words = [value.split(" ") for value in values]
            if len({len(each) for each in words}) == 1:
                return Text(tuple(self._words(words, path)))
        return self._drawn(values, path)

    def _words(
        self, several: Sequence[Sequence[str]], path: tuple[str, ...]
    ) -> Iterator[str | Drawn]:
        before = ""
        for same in zip(*several, strict=True):
            equal = len(set(same)) == 1
            yield same[0] if equal else self._drawn(same, (*path, before))
            before = same[0]

    def _drawn(self, values: Sequence[Any], path: tuple[str, ...]) -> Drawn:
        name = wanted = " ".join(word for word in path if word and word not in GENERAL)
        number = 1
        while name in next(iter(self.table.values())):
            number += 1
            name = f"{wanted} {number}"
        for of_one, value in zip(self.table.values(), values, strict=True):
            of_one[name] = value
        return Drawn(name)


def _label(part: object) -> str:
    """Return what tells a part of a list from others."""
    if isinstance(part, dict):
        return str(part.get("name") or part.get("file") or part.get("interface") or "")
    return _device(part) if isinstance(part, str) else ""


# ---- How it is written ---------------------------------------------------------------------------


def flat(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(_items(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flat, value)) + "]"
    if isinstance(value, Drawn):
        return f"drawn[{scalar(value.name)}]"
    if isinstance(value, Text):
        return _template(value)
    return scalar(value)


def _template(text: Text) -> str:
    """Return a text as an f-string. Raises ValueError where it would be more than that."""
    words = []
    for word in text.words:
        if isinstance(word, Drawn):
            words.append("{drawn[" + scalar(word.name).replace('"', "'") + "]}")
        else:
            words.append(line(word))  # neither quotes nor braces
    return f'f"{" ".join(words)}"'


def _items(value: Mapping[str, Any]) -> list[str]:
    return [f"{scalar(key)}: {flat(part)}" for key, part in value.items() if key != ABOVE]


def written(value: Any, indent: int = 0, before: int = 0) -> str:
    """Return a value on as few lines as fit.

    indent: of the line that it begins on; before: how many characters precede it there.
    """
    if type(value) is str or type(value) is int:
        return scalar(value)
    if not isinstance(value, dict | list | tuple) or not value:
        return flat(value)
    if not _has_comments(value):
        text = _short(value, COLUMNS - 1 - indent - before)
        if text is not None:
            return text
    inner = " " * (indent + INDENT)
    lines: list[str] = []
    if isinstance(value, dict):
        parts = [(f"{scalar(key)}: ", part) for key, part in value.items() if key != ABOVE]
    else:
        parts = [("", part) for part in value]
    shared = False  # whether what comes next may stand beside what came last
    for prefix, part in parts:
        if above := _above(part):
            lines.append(f"{inner}# {above}")
        made = f"{prefix}{written(part, indent + INDENT, len(prefix))},"
        alone = "\n" in made or not isinstance(value, dict)
        if shared and not alone and len(lines[-1]) + 1 + len(made) <= COLUMNS:
            lines[-1] += f" {made}"
        else:
            lines.append(inner + made)
        shared = not alone
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([opening, *lines, " " * indent + closing])


def _short(value: Any, most: int) -> str | None:
    """Return a value on one line, or None where that is longer than `most` characters."""
    if not isinstance(value, dict | list | tuple):
        text = flat(value)
        return text if len(text) <= most else None
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    parts: Sequence[tuple[Any, Any]] = (
        [*value.items()] if isinstance(value, dict) else [(None, part) for part in value]
    )
    text = opening
    for key, part in parts:
        if key == ABOVE:
            continue
        text += ", " if len(text) > 1 else ""
        if key is not None:
            text += f"{scalar(key)}: "
        if type(part) is str or type(part) is int:
            text += scalar(part)
        else:
            rest = _short(part, most - len(text) - 1)
            if rest is None:
                return None
            text += rest
        if len(text) >= most:
            return None
    return text + closing if len(text) < most else None


def _above(part: Any) -> str:
    return str(part.get(ABOVE, "")) if isinstance(part, dict) else ""


def _has_comments(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(map(_above, value))


def render(cell: Cell, views: Mapping[int, View], filename: str) -> str:
    """Write the program of a configuration.

    cell: one of its cells, for what they have in common. views: by repetition. filename: as the
    program calls itself.
    """
    draws = Draws([*views])
    if len(views) > 1:
        made = draws.merged([*views.values()])
    else:
        (made,) = views.values()
    options = _Options([node["sysctls"] for node in made["nodes"]])
    nodes = []
    for before, node in zip([{"kind": ""}, *made["nodes"]], made["nodes"], strict=False):
        above = "" if node["kind"] == before["kind"] else ABOUT[node["kind"]]
        text = _call("self.addHost", [scalar(node["name"])], _node(node, options))
        nodes.append((above, text))
    links = [(link[ABOVE], _call("self.addLink", *_arguments(link))) for link in made["links"]]
    network = "\n".join(text for _, text in (*nodes, *links))
    return template("mininet.py.j2").render(
        experiment=_plain(cell.experiment),
        topos=f"{{{scalar(cell.experiment)}: Network}}",
        filename=filename,
        bindings=[comment(f"{name} = {value}") for name, value in cell.bindings.items()],
        baseline=cell.baseline,
        repetitions=flat([*views]),
        several=len(views) > 1,
        first=flat(next(iter(views))),
        programs=sorted({p for flow in cell.flows for p in flow.workload.programs} - {BROWSER}),
        browsers=any(flow.browser for flow in cell.flows),
        drawn=[(number, written(values, INDENT, 8)) for number, values in draws.table.items()]
        if len(views) > 1
        else [],
        everywhere=written(options.everywhere),
        options=options.constants(),
        nodes=nodes,
        links=links,
        network_draws="drawn[" in network,
        runs=written(made["experiment"], INDENT, len("return ")),
        node=_plain(next(n["name"] for n in made["nodes"] if n["kind"] == "host")),
    )


def _plain(text: str) -> str:
    """Make a text safe for a docstring."""
    return "".join("?" if char in "\"'\\" else char for char in comment(text))


class _Options:
    """The kernel options of nodes: those of all, and a constant for each different set.

    several: of each node.
    """

    def __init__(self, several: Sequence[Mapping[str, str]]) -> None:
        first = several[0]
        self.everywhere = {
            name: value
            for name, value in first.items()
            if all(each.get(name) == value for each in several)
        }
        self._names: dict[str, tuple[str, dict[str, str]]] = {}

    def name(self, kind: str, sysctls: Mapping[str, str]) -> str:
        """Return the constant of a node's options."""
        own = {n: v for n, v in sysctls.items() if n not in self.everywhere}
        key = flat(own)
        if key not in self._names:
            wanted = name = KINDS[kind]
            taken = {each for each, _ in self._names.values()}
            number = 1
            while name in taken:
                number += 1
                name = f"{wanted}_{number}"
            self._names[key] = name, own
        return self._names[key][0]

    def constants(self) -> list[tuple[str, str]]:
        """Return name and value of each constant, once all nodes have one."""
        return [(name, written_over(own, len(name) + 3)) for name, own in self._names.values()]


def written_over(own: dict[str, str], before: int) -> str:
    """Return the options of a node as those of all nodes and its own."""
    text = written(own, 0, before + len("EVERYWHERE | "))
    return f"EVERYWHERE | {text}"


def _node(node: View, options: _Options) -> list[tuple[str, str | Any]]:
    found: list[tuple[str, Any]] = [
        ("cls", Name("Machine")),
        ("sysctls", Name(options.name(node["kind"], node["sysctls"]))),
    ]
    if node["commands"]:
        found.append(("commands", node["commands"]))
    return found


@dataclass(frozen=True, slots=True)
class Name:
    """A name of the program."""

    text: str


def _arguments(link: View) -> tuple[list[str], list[tuple[str, Any]]]:
    a, b = link["a"], link["b"]
    own = [{k: v for k, v in port.items() if k not in ("node", "name")} for port in (a, b)]
    return [scalar(a["node"]), scalar(b["node"])], [
        ("cls", Name("Cable")),
        ("intfName1", a["name"]),
        ("intfName2", b["name"]),
        ("params1", own[0]),
        ("params2", own[1]),
    ]


def _call(function: str, positional: Sequence[str], named: Sequence[tuple[str, Any]]) -> str:
    """Return a statement of the method `build`."""
    indent = 2 * INDENT
    room = COLUMNS - indent
    texts = [value.text if isinstance(value, Name) else _short(value, room) for _, value in named]
    if None not in texts:
        given = [f"{key}={text}" for (key, _), text in zip(named, texts, strict=True)]
        one = f"{function}({', '.join([*positional, *given])})"
        if len(one) <= room:
            return one
    inner = " " * (indent + INDENT)
    lines = [inner + ", ".join(positional) + ","]
    shared = True
    for key, value in named:
        text = (
            value.text if isinstance(value, Name) else written(value, indent + INDENT, len(key) + 1)
        )
        made = f"{key}={text},"
        if shared and "\n" not in made and len(lines[-1]) + 1 + len(made) <= COLUMNS:
            lines[-1] += f" {made}"
        else:
            lines.append(inner + made)
        shared = "\n" not in made
    return "\n".join([f"{function}(", *lines, " " * indent + ")"])

"""Hostile documents: every string, number and list of a JSON document replaced by what may do
harm.
"""

from __future__ import annotations

import ast
import copy
import json
import random
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from fairc import cell
from fairc.cell.batch import node_lines
from fairc.cell.document import Document
from fairc.mechanisms import MECHANISMS, load

Path = tuple[str | int, ...]

TEXTS = (
    "",
    "a b",
    "x\nnetns exec x /bin/touch /tmp/x",
    "x\r\ny",
    "x\0y",
    "\x1b]0;owned\x07\x1b[2J",
    "\x9b31m",
    "../../../../../../tmp/x",
    "..",
    ".",
    "/tmp/x",
    "x/y",
    "-rf",
    "--help",
    "$(touch /tmp/x)",
    "`touch /tmp/x`",
    "x; touch /tmp/x #",
    "x | y & z",
    "'''\n\"\"\"\\",
    "x' + __import__('os').system('id') + '",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "#% endfor",
    "${HOME}",
    "%n%s",
    "a\u202eb",
    "a\u2028b",
    "\u0661\u0660",
    "1e400",
    "10.0.0.01",
    "10.0.0.1/33",
    "10.0.0.1 dev lo",
    "eth0 mtu 9",
    "lo",
    "all",
    "<script>alert(1)</script>",
    "x" * 300,
    "9" * 5000,
)
NUMBERS = (-1, 0, 1, 2**31, 2**63, 10**18, -(10**18), 10**400, 0.5, -0.5, 1e300)
OTHERS: tuple[Any, ...] = (None, True, [], {}, [[]], [None], {"x": "y"}, ["x"] * 3)
DEEP = "[" * 5000 + "]" * 5000


def places(document: object, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every part of a document, keys of open mappings included."""
    if path:
        yield path
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*path, key))
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from places(value, (*path, number))


def replaced(document: Any, path: Path, value: object) -> Any:
    """Return a document with another value at a path."""
    made = copy.deepcopy(document)
    at = made
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    return made


def mutants(document: Any, rng: random.Random, each: int) -> Iterator[tuple[str, Any]]:
    """Yield (what was done, document) for every place of a document."""
    for path in places(document):
        yield from at(document, path, rng, each)


def at(document: Any, path: Path, rng: random.Random, each: int) -> Iterator[tuple[str, Any]]:
    """Yield (what was done, document): at one place hostile values, keys, duplicates and gaps."""
    where = ".".join(map(str, path))
    values = (*rng.sample(TEXTS, each), rng.choice(NUMBERS), rng.choice(OTHERS))
    for value in values:
        yield f"{where} = {value!r:.60}", replaced(document, path, value)
    found: Any = document
    for part in path:
        found = found[part]
    if isinstance(found, list) and found:
        yield f"{where}: the first twice", replaced(document, path, [*found, found[0]])
        yield f"{where}: one less", replaced(document, path, found[1:])
    if isinstance(found, dict):
        key, value = rng.choice(TEXTS), next(iter(found.values()), 1)
        yield f"{where}: the key {key!r:.60}", replaced(document, path, {**found, key: value})
    if isinstance(found, str):
        yield f"{where}: and more", replaced(document, path, found + rng.choice(TEXTS))


def mutant(rng: random.Random, document: Any) -> tuple[str, str]:
    """Return what was done to a JSON document, and the text that it has become."""
    if rng.random() < 0.1:
        return broken(rng, json.dumps(document))
    made = document
    what = ""
    for _ in range(rng.choice([1, 1, 1, 2])):
        path = rng.choice([*places(made)])
        what, made = rng.choice([*at(made, path, rng, 4)])
    try:
        return what, json.dumps(made)
    except ValueError:  # a number that json does not write
        return what, json.dumps(document)


def broken(rng: random.Random, text: str) -> tuple[str, str]:
    """Return what was done to a text, and what it has become: no JSON, or twice a key, or deep."""
    at = rng.randrange(len(text) + 1)
    what, made = rng.choice(
        [
            ("cut off", text[:at]),
            ("empty", ""),
            ("deep", DEEP),
            ("a part twice", text[:at] + text[max(0, at - 40) : at] + text[at:]),
            ("a character", text[:at] + rng.choice('"{}[],:0-\\\0\x1b\u202e') + text[at + 1 :]),
            ("a long number", text.replace(": 1", ": " + "9" * 5000, 1)),
            ("no number", text.replace(": 1", ": NaN", 1).replace(": 2", ": Infinity", 1)),
            ("a surrogate", text.replace('"', '"\\ud800', 1)),
            ("a key twice", text.replace("{", '{"experiment": "/tmp/x", ', 1)),
            ("spaces", " " * 100_000 + text),
            ("all twice", text + text),
        ]
    )
    return what, made


# ---- What a program may hold -----------------------------------------------------------------

LINE = re.compile(r"[A-Za-z0-9_.:/%-]+(?: [A-Za-z0-9_.:/%-]+)*", re.ASCII)
VERBS = {
    ("mptcp", "endpoint"),
    ("mptcp", "limits"),
    *(("link", "set"), ("link", "add"), ("address", "add"), ("neighbour", "add"), ("rule", "add")),
    *(("route", "add"), ("route", "replace"), ("qdisc", "add"), ("qdisc", "change")),
    *(("class", "add"), ("class", "change"), ("filter", "add"), ("filter", "del")),
}
SAFE_FILE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
PARAMETER = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)

MODULES = (
    *(
        import_module(f"fairc.cell.{module.name}")
        for module in iter_modules(cell.__path__)
        if module.name != "mininet"  # which imports Mininet
    ),
    *(module for family in MECHANISMS for module in load(family, "cell")),
)
CONSTRUCTORS = frozenset(
    name for module in MODULES for name, value in vars(module).items() if is_dataclass(value)
)
"""The values of which a program's data are made: the dataclasses of `cell/` and of mechanisms."""


def refuse_program(program: str, usual: str) -> None:
    """Raise AssertionError unless a program is that of a cell: it does what that does, with other
    data.

    usual: the program of the cell from which the hostile one was made.
    """
    assert _code(program) == _known(usual)


@cache
def _known(usual: str) -> list[str]:
    return _code(usual)


DATA = "DATA"
NETWORK = re.compile(
    r"self\.addHost\(DATA, cls=Machine, sysctls=[A-Z_0-9]+(, commands=DATA)?\)"
    r"|self\.addLink\(DATA, DATA, cls=Cable, intfName1=DATA, intfName2=DATA, params1=DATA,"
    r" params2=DATA\)"
    r"|drawn = DRAWN\[\w+(\(repetition\))?\]"
)
"""What may be once, often, or not at all in a Mininet program."""


class _WithoutData(ast.NodeTransformer):
    """Replaces literals, and typed values of them, by one name."""

    def visit(self, node: ast.AST) -> Any:
        """Return a node without data; nothing for a statement that adds to the network."""
        if isinstance(node, ast.expr) and _is_data(node):
            return ast.Name(DATA)
        if isinstance(node, ast.JoinedStr):
            return node
        node = self.generic_visit(node)
        if isinstance(node, ast.stmt) and NETWORK.fullmatch(ast.unparse(node)):
            return None
        return node


def _code(program: str) -> list[str]:
    """Return what a module does, without its data and what it imports for them."""
    code = []
    for statement in ast.parse(program).body:
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("cell."):
            continue
        text = ast.unparse(_WithoutData().visit(statement))
        if not re.fullmatch(r"[A-Z_0-9]+ = (EVERYWHERE \| )?DATA", text):
            code.append(text)
    return code


def _is_data(value: ast.expr) -> bool:
    """Whether an expression is a literal, or made of literals alone: by the dataclasses of `cell/`,
    or with values of the table of what is drawn.
    """
    if isinstance(value, ast.Call):
        given = (*value.args, *(k.value for k in value.keywords))
        return (
            isinstance(value.func, ast.Name)
            and value.func.id in CONSTRUCTORS
            and all(map(_is_data, given))
        )
    if isinstance(value, ast.List | ast.Tuple):
        return all(map(_is_data, value.elts))
    if isinstance(value, ast.Dict):
        return all(part is not None and _is_data(part) for part in (*value.keys, *value.values))
    if isinstance(value, ast.Subscript):
        named = isinstance(value.value, ast.Name) and value.value.id == "drawn"
        return named and isinstance(value.slice, ast.Constant)
    if isinstance(value, ast.JoinedStr):
        parts = [p.value if isinstance(p, ast.FormattedValue) else p for p in value.values]
        return all(map(_is_data, parts))
    try:
        ast.literal_eval(value)
    except ValueError:
        return False
    return True


def refuse_document(document: Document) -> None:
    """Raise AssertionError unless what a conductor does with a document is what it does with
    any.
    """
    for node in document["network"]["nodes"]:
        for line in (*node_lines(node), *node.get("mptcp", []), *node["qdiscs"]):
            _refuse_line(line)
        for name, value in node["sysctls"].items():
            assert re.fullmatch(r"net\.[a-z0-9_.]+", name) and re.fullmatch(r"[0-9 ]+", value)
    for changes in document["changes"]:
        assert SAFE_FILE.fullmatch(changes["node"])
        assert SAFE_FILE.fullmatch(changes["interface"]) or changes["interface"] == ""  # routes
        assert changes["repeat_ns"] is None or changes["repeat_ns"] > 0
        for at_ns, lines in changes["lines"]:
            assert at_ns >= 0
            for line in lines:
                _refuse_line(line)
    for module, name, value in document["modules"]:
        assert PARAMETER.fullmatch(module) and module.startswith("tcp_")
        assert PARAMETER.fullmatch(name)
        assert re.fullmatch(r"[0-9A-Z.e+-]+", value)
    programs = (*document["captures"], *document["servers"], *document["clients"])
    for program in (*programs, *document["proxies"], *document["devices"]):
        assert SAFE_FILE.fullmatch(program["name"]) and len(program["name"]) <= 247, program["name"]
    for program in (*document["servers"], *document["clients"]):
        if program["role"] == "cell.timed":  # not confined, as programs of a flow are
            command = program["description"]["command"]
            assert command[0] == "iperf3"
            assert all(LINE.fullmatch(word) and " " not in word for word in command)
    for name in document["objects"]:
        assert PARAMETER.fullmatch(name)
    json.dumps(document, allow_nan=False)


def _refuse_line(line: str) -> None:
    assert LINE.fullmatch(line), line
    assert tuple(line.split(" ")[:2]) in VERBS, line
    assert "None" not in line.split(" "), line

"""Thousands of lets, nodes and errors: what is done grows as the file does, and what is said does
not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairc.dsl import Diagnostics, Source, load
from fairc.dsl.core.problems import MOST_FOUND
from fairc.dsl.expressions import names
from fairc.dsl.network import devices
from fairc.dsl.text import syntax

COUNT = 1200
HEAD = "fexp 1\n"
FLOW = "flow a { cca = cubic  workload = file(1MB) }\n  measure = [goodput]\n}\n"


def check(text: str) -> Diagnostics:
    return load(Source("large.fexp", text))[1]


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[int]:
    calls, original = [0], getattr(module, name)

    def count(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        return original(*arguments, **options)

    monkeypatch.setattr(module, name, count)
    return calls


def test_each_let_is_looked_at_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    lets = "let x0 = 1Mbit/s\n" + "".join(f"let x{n} = x{n - 1}\n" for n in range(1, COUNT))
    network = f"experiment e {{\n  topology = bottleneck(rate: x{COUNT - 1}, rtt: 50ms)\n  "
    calls = counted(monkeypatch, names, "mentioned")
    found = check(HEAD + lets + network + FLOW)
    assert [d.code for d in found] == ["too-deep"]
    assert calls[0] < 10 * COUNT


def test_which_lets_vary() -> None:
    """As `used_names` says of each, with each looked at once."""
    text = "let a = r + 0bit/s\nlet b = a\nlet c = 1\nlet d = [b, c]\nlet e = c\n"
    from fairc.dsl.text.parser import parse

    tree = parse(Source("lets.fexp", HEAD + text + "experiment e {\n}\n"))
    lets = {node.name.text: node.value for node in tree.walk() if isinstance(node, syntax.Let)}
    for swept in ({"r"}, {"c"}, {"r", "c"}, {"z"}, set()):
        slow = {let for let, value in lets.items() if names.used_names([value], lets) & swept}
        assert names.depending(lets, swept) == slow


def test_links_to_unknown_nodes_are_said_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = "".join(f"  node n{n}\n" for n in range(200))
    links = "".join(f"  link n0 -- m{n} {{ rate = 1Mbit/s }}\n" for n in range(1, COUNT))
    experiment = "experiment e {\n  topology = big()\n  "
    calls = counted(monkeypatch, devices, "refuse_unknown")
    found = check(HEAD + f"topology big() {{\n{nodes}{links}}}\n" + experiment + FLOW)
    assert {d.code for d in found} == {"unknown-node"}
    assert len(found) <= MOST_FOUND + 5
    assert calls[0] <= 3 * MOST_FOUND


def test_each_error_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairc.dsl.core.diagnostics import CompileError, Diagnostic
    from fairc.dsl.core.problems import Gather

    calls = [0]
    plain: Callable[[Diagnostic], int] = Diagnostic.__hash__

    def count(self: Diagnostic) -> int:
        calls[0] += 1
        return plain(self)

    monkeypatch.setattr(Diagnostic, "__hash__", count)
    gather = Gather()
    for n in range(COUNT):
        with gather.attempt():
            raise CompileError([Diagnostic("c", f"m{n // 2}")])
    assert len(gather.found) == COUNT / 2 and calls[0] <= 6 * COUNT

"""What a result counts for: the machine, `cell/` but for its comments, and what the cell was
given.
"""

from __future__ import annotations

import pytest
from specs import only_cell_of

from fairc.compiler import Cell
from fairc.compiler.targets import runner
from fairc.runtime.engines import ENGINES, emitted

SPEC = """fexp 1
experiment e {
  topology = bottleneck(rate: 10Mbit/s, rtt: RTT)
  flow a { cca = cubic  workload = file(500kB) }
  measure = [goodput]
}
"""


def only_cell(rtt: str = "20ms", before: str = "") -> Cell:
    return only_cell_of(SPEC.replace("RTT", rtt).replace("\n", f"\n{before}", 1))


def test_comments_docstrings_and_layout_do_not_count() -> None:
    source = b"""def f(a, *, b=1):
    return g(a,
             b)
"""
    other = b'''"""What it is for."""

def f(a, *, b=1):  # why
    """Say it."""

    return g(a, b)
'''
    assert runner.meaning(source) == runner.meaning(other)
    for change in (b"b=2", b"b=None", b"c=1"):
        assert runner.meaning(source.replace(b"b=1", change)) != runner.meaning(source)


def test_the_meaning_is_the_same_under_every_python() -> None:
    """Newer versions give nodes more fields (`type_params`), which are empty."""
    assert runner.meaning(b"class A:\n    x = 1\n") == (
        "('Module', [('body', [('ClassDef', [('name', 'A'), ('body', [('Assign', [('targets', "
        "[('Name', [('id', 'x'), ('ctx', ('Store', []))])]), ('value', ('Constant',"
        " [('value', 1)]))])])])])])"
    )


@pytest.mark.parametrize("change", [b"x = 1\n", b"# why\n"])
def test_a_changed_module_is_another_identity_unless_it_is_a_comment(
    monkeypatch: pytest.MonkeyPatch, change: bytes
) -> None:
    before, files = runner.identity(), runner.files()
    files["cell/conductor.py"] += change
    monkeypatch.setattr(runner, "files", lambda: files)
    assert (runner.identity.__wrapped__() == before) == change.startswith(b"#")


@pytest.mark.parametrize("engine", [kind.name for kind in ENGINES if kind.name != "fake"])
def test_what_a_cell_is_given_counts_and_a_comment_in_its_file_does_not(engine: str) -> None:
    cell = only_cell()
    moved = only_cell(before="# a comment that moves every line\n")
    assert cell.flows[0].source != moved.flows[0].source
    assert emitted(engine, cell) == emitted(engine, moved) != ""
    assert emitted(engine, cell) != emitted(engine, only_cell("30ms"))

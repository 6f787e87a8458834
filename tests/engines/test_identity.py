"""What a result counts for: the machine, `cell/` but for its comments, and what the cell was
given.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from specs import only_cell_of

from fairc.compiler import Cell
from fairc.compiler.targets import runner
from fairc.runtime.engines import ENGINES, emitted
from fairc.runtime.vm import initramfs, recipe

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
    before, files = runner.identity(), runner.core()
    files["cell/conductor.py"] += change
    monkeypatch.setattr(runner, "core", lambda: files)
    assert (runner.identity.__wrapped__() == before) == change.startswith(b"#")


def test_a_mechanism_counts_for_the_cells_in_which_it_occurs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A new queue makes no result stale, and a change of one only those with this queue."""
    inner = "rtt: RTT, queue: prio(ef: codel(9pkt), cs0: fifo(9pkt))"
    cells = only_cell(), only_cell_of(SPEC.replace("rtt: RTT", inner).replace("RTT", "20ms"))
    identity, before = runner.identity(), [emitted("uml", cell) for cell in cells]

    def after(**changes: bytes) -> list[bool]:
        runner._used.cache_clear()
        files = dict(files_before)
        for name, code in changes.items():
            files[f"cell/{name}.py"] = files.get(f"cell/{name}.py", b"") + code
        monkeypatch.setattr(runner, "mechanisms", lambda: files)
        return [emitted("uml", cell) == old for cell, old in zip(cells, before, strict=True)]

    files_before = dict(runner.mechanisms())
    assert after(queues_new=b"x = 1\n") == [True, True]
    assert after(queues_red=b"x = 1\n") == [True, True]
    assert after(queues_codel=b"x = 1\n") == [True, False]
    assert after(queues_codel=b"# why\n") == [True, True]
    assert after(queues_fifo=b"x = 1\n") == [False, False]
    assert runner.identity.__wrapped__() == identity
    runner._used.cache_clear()


def test_guests_have_no_mechanism(tmp_path: Path) -> None:
    """A file more in a guest moves the kernel's random numbers, and the artefacts of every cell."""
    endpoints = tmp_path / "endpoints"
    endpoints.write_bytes(b"")
    files = initramfs.guest_files(recipe.UML, endpoints, "machine_uml.py")
    assert {name for name in files if name.startswith("cell/")} == runner.core().keys()
    given = initramfs.guest_files(recipe.UML, endpoints, "machine_uml.py", True, runner.files())
    assert given == files


@pytest.mark.parametrize("engine", [kind.name for kind in ENGINES if kind.name != "fake"])
def test_what_a_cell_is_given_counts_and_a_comment_in_its_file_does_not(engine: str) -> None:
    cell = only_cell()
    moved = only_cell(before="# a comment that moves every line\n")
    assert cell.flows[0].source != moved.flows[0].source
    assert emitted(engine, cell) == emitted(engine, moved) != ""
    assert emitted(engine, cell) != emitted(engine, only_cell("30ms"))

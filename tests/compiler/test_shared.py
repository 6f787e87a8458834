"""What cells of a configuration share is written once: the programs are the same as without that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairc import dsl
from fairc.compiler import Cell, compile
from fairc.compiler.targets import mininet
from fairc.compiler.targets.shared import Kept

# All that a seed, a repetition or the sweep can change in a program.
SPEC = """fexp 1
experiment e {
  sweep { rate = [1Mbit/s, 20Mbit/s]  n = [1, 9]  cca = [cubic, bbr] }
  topology = bottleneck(rate: rate, rtt: 50ms, loss: 1%, queue: red(30pkt))
  flow a { cca = cca    count = n  workload = bulk }
  flow b { cca = cubic  workload = onoff(rate: 1Mbit/s, on: exponential(1s), off: exponential(1s)) }
  flow c { over = quic  cca = cubic(connections: 2)  workload = file(1MB)  start = 0s }
  flow d { over = udp  rate = 100kbit/s  workload = bulk  start = uniform(0s, 10s) }
  hosts { processing = uniform(0us, 20us) }
  duration = 20s
  repeat = 4
  measure = [goodput]
}
"""


def cells() -> list[Cell]:
    experiment, found = dsl.load(dsl.Source("e.fexp", SPEC))
    assert experiment is not None, dsl.render_full(found)
    return list(compile(experiment).cells())


def test_programs_are_those_of_cells_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    every = cells()
    together = [mininet.render(cell) for cell in every]

    def anew(self: Kept[object], parts: object, work: Callable[[], object]) -> object:
        return work()

    monkeypatch.setattr(Kept, "of", anew)
    assert together == [mininet.render(cell) for cell in every]
    assert len(set(together)) == len(every) == 32


def test_results_are_found_by_what_parts_are() -> None:
    kept = Kept[int]()
    counted = iter(range(100))
    texts = ("a", 5, ("b", {"c": 2.5}))
    again = ("a", 5, ("b", {"c": 2.5}))
    assert [kept.of(parts, counted.__next__) for parts in (texts, again, texts)] == [0, 0, 0]
    assert kept.of(("a", 5.0, ("b", {"c": 2.5})), counted.__next__) == 1
    one, equal = [1], [1]
    assert [kept.of((part,), counted.__next__) for part in (one, equal, one)] == [2, 3, 2]

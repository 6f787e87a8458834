"""What the cells of a configuration share is written once: the programs are the same as without
that.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from specs import compilation_of

from fairc.compiler import Cell
from fairc.compiler.plan import Node
from fairc.compiler.targets import code as source
from fairc.compiler.targets.code import CellWriter

# All that a seed, a repetition or the sweep can change in a program.
SPEC = """fexp 1
experiment e {{
  sweep {{ rate = [1Mbit/s, 20Mbit/s]  n = [1, 9]  cca = [cubic, bbr] }}
  topology = bottleneck(rate: rate, rtt: 50ms, {link}queue: red(30pkt))
  flow a {{ cca = cca    count = n  workload = bulk }}
  flow b {{ cca = cubic  workload = {source} }}
  flow c {{ over = quic  cca = cubic(connections: 2)  workload = file(1MB)  start = 0s }}
  flow d {{ over = udp  rate = 100kbit/s  workload = bulk  start = uniform(0s, 10s) }}
  {rest}
  duration = 20s
  repeat = 4
  measure = [goodput]
}}
"""
DRAWN = {
    "link": "loss: 1%, ",
    "source": "onoff(rate: 1Mbit/s, on: exponential(1s), off: exponential(1s))",
    "rest": "hosts { processing = uniform(0us, 20us) }",
}
STARTS_ONLY = {"link": "", "source": "bulk", "rest": ""}


def cells(**parts: str) -> list[Cell]:
    return list(compilation_of(SPEC.format(**parts)).cells())


@pytest.mark.parametrize(
    "parts", [STARTS_ONLY, DRAWN, *({**STARTS_ONLY, n: DRAWN[n]} for n in DRAWN)]
)
def test_programs_are_those_of_cells_alone(parts: dict[str, str]) -> None:
    every = cells(**parts)
    write = CellWriter("topology")
    together = [write(cell) for cell in every]
    assert together == [CellWriter("topology")(cell) for cell in every]
    assert len({tuple(each.arguments) for each in together}) == len(every) == 32


def test_what_repetitions_share_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    every = cells(**STARTS_ONLY)
    written = []
    write = source.code

    def counted(value: object, last: source.Code | None = None) -> source.Code:
        if isinstance(value, Node):
            written.append(value)
        return write(value, last)

    monkeypatch.setattr(source, "code", counted)
    writer = CellWriter("topology")
    for cell in every:
        writer(cell)
    assert len(written) == sum(len(cell.nodes) for cell in every if cell.repetition == 1)


def test_a_name_is_checked_in_every_repetition() -> None:
    first, *_ = cells(**STARTS_ONLY)
    writer = CellWriter("topology")
    writer(first)
    with pytest.raises(ValueError, match="word"):
        writer(replace(first, id="a b"))

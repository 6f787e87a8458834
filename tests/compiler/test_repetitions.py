"""What the cells of a configuration share is written once: the programs are the same as without
that.
"""

from __future__ import annotations

import pytest
from specs import compilation_of

from fairc.compiler import Cell
from fairc.compiler.targets import mininet

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
    program_of = mininet.Programs()
    together = [program_of(cell) for cell in every]
    assert together == [mininet.render(cell) for cell in every]
    assert len(set(together)) == len(every) == 32


def test_one_program_is_written_for_each_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    every = cells(**STARTS_ONLY)
    written = []
    render = mininet.render

    def counted(cell: Cell) -> str:
        written.append(cell.configuration)
        return render(cell)

    monkeypatch.setattr(mininet, "render", counted)
    program_of = mininet.Programs()
    for cell in every:
        program_of(cell)
    assert len(written) == len(set(written)) == 8


def test_a_name_is_checked_in_every_repetition() -> None:
    first, *_ = cells(**STARTS_ONLY)
    program_of = mininet.Programs()
    program_of(first)
    with pytest.raises(ValueError, match="word"):
        program_of(first.model_copy(update={"id": "a b"}))

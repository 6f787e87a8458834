"""How often a cell samples, what `deviations` is told at check time, and cells without captures."""

from __future__ import annotations

import pytest
from specs import cells_of, compilation_of

from fairc.compiler import Cell
from fairc.compiler.plan import SAMPLE_EVERY_NS, cell_json
from fairc.compiler.plan.identity import identity_of
from fairc.compiler.targets import mininet
from fairc.dsl.core.diagnostics import Severity

TEXT = """fexp 1
experiment e {{
  topology = bottleneck(rate: 10Mbit/s, rtt: {rtt}, queue: fifo(10pkt))
  flow a {{ cca = reno  {flow}  workload = bulk }}
  flow b {{ cca = cubic  workload = bulk }}
  flow u {{ over = udp  rate = 1Mbit/s  workload = bulk }}
  duration = {duration}
  warmup   = 60s
  {key}
  measure = [{measure}]
}}
"""


def compiled(
    measure: str, *, duration: str = "600s", rtt: str = "12ms", flow: str = "", key: str = ""
) -> tuple[list[Cell], dict[str, Severity]]:
    """Return the cells, none if there are errors, and the findings of the compiler."""
    text = TEXT.format(measure=measure, duration=duration, rtt=rtt, flow=flow, key=key)
    compilation = compilation_of(text)
    return cells_of(compilation), {d.code: d.severity for d in compilation.diagnostics}


def sampling(measure: str) -> dict[str, int]:
    (cell,), _ = compiled(measure)
    return {flow.name: flow.sample_every_ns for flow in cell.flows}


@pytest.mark.parametrize(
    ("measure", "expected_ms"),
    [
        ("goodput", (100, 100, 100)),
        ("cwnd", (100, 100, 100)),
        ("cwnd(a, every: 3ms)", (3, 100, 100)),
        ("cwnd(every: 3ms)", (3, 3, 100)),  # nothing samples a flow over UDP
        ("cwnd(a, every: 1s)", (100, 100, 100)),
        ("deviations(b)", (100, 3, 100)),
        ("cwnd(a, every: 5ms), deviations(a, every: 2ms)", (2, 100, 100)),
    ],
)
def test_the_shortest_interval_that_is_asked_for(
    measure: str, expected_ms: tuple[int, int, int]
) -> None:
    expected = dict(zip("abu", (ms * 1_000_000 for ms in expected_ms), strict=True))
    assert sampling(measure) == expected


def test_the_interval_reaches_the_server_and_the_identity() -> None:
    (usual,), _ = compiled("cwnd(a)")
    (often,), _ = compiled("cwnd(a, every: 3ms)")
    assert "sample_every_ns" not in cell_json(usual)
    assert SAMPLE_EVERY_NS == 100_000_000
    assert '"sample_every_ns": 3_000_000' in mininet.render(often)
    assert usual.id != often.id and usual.seed == often.seed


@pytest.mark.parametrize(
    ("arguments", "options", "code", "severity"),
    [
        ("a", {}, "", None),
        ("a", {"duration": "72s"}, "few-windows", Severity.WARNING),  # 1000 rounds: one window
        ("a", {"duration": "71s"}, "too-short", Severity.ERROR),
        ("a, scales: [100, 10000]", {"duration": "100s"}, "too-short", Severity.ERROR),
        ("a, every: 10ms", {}, "few-samples", Severity.WARNING),
        ("a, scales: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]", {}, "too-many", Severity.ERROR),
        ("u", {}, "nothing-to-measure", Severity.WARNING),
    ],
)
def test_what_deviations_cannot_have(
    arguments: str, options: dict[str, str], code: str, severity: Severity | None
) -> None:
    cells, found = compiled(f"deviations({arguments})", **options)
    assert found == ({code: severity} if code else {})
    assert bool(cells) == (severity is not Severity.ERROR)


def test_a_cell_without_captures_is_another_cell() -> None:
    (usual,), _ = compiled("goodput")
    (said,), _ = compiled("goodput", key="captures = full")
    (bare,), _ = compiled("goodput", key="captures = none")
    assert usual == said and "captured" not in cell_json(usual)
    assert (bare.captured, bare.captures) == ("none", ())
    assert bare.id != usual.id and identity_of(bare) == bare.id
    assert "entry.left" in mininet.render(usual) and "entry.left" not in mininet.render(bare)

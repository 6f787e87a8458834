"""Metrics that nothing in the file has a value of are warned about, and no others."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from specs import compilation_of

from fairc.dsl import CompileError

TEXT = """fexp 1
experiment e {{
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)
  {flows}
  duration = 10s
  measure = [{measure}]
}}
"""
BULK = "flow a { cca = cubic  workload = bulk }\n"
FILE = "flow b { cca = cubic  workload = file(1MB) }\n"
SWEPT = "sweep { what = [bulk, file(1MB)] }\nflow a { cca = cubic  workload = what }"
UDP = "flow u { over = udp  rate = 100kbit/s  workload = bulk }"


def warned(flows: str, measure: str) -> list[tuple[str, str]]:
    """Return the place and the message of each such warning."""
    compilation = compilation_of(TEXT.format(flows=flows, measure=measure))
    assert list(compilation.cells())
    return [
        (d.span.text, d.message)
        for d in compilation.diagnostics
        if d.code == "nothing-to-measure" and d.span
    ]


@pytest.mark.parametrize(
    ("flows", "measure", "said"),
    [
        (BULK, "goodput, qoe", [("qoe", "no flow plays a video, so `qoe` has no values")]),
        (
            BULK,
            "fairness",
            [("fairness", "no flow competes with another flow, so `fairness` has no values")],
        ),
        (
            BULK,
            "fct",
            [("fct", "no flow moves a file or answers requests, so `fct` has no values")],
        ),
        (BULK + FILE, "fct, fairness, cwnd", []),
        (BULK, "marks", [("marks", "no flow asks for ECN, so `marks` has no values")]),
        (BULK.replace("cca =", "ecn = on  cca ="), "marks", []),
        (BULK + FILE, "share(a)", []),
        (
            BULK,
            "share(a)",
            [("share(a)", "no flow competes with another flow, so `share` is 1")],
        ),
        (
            BULK + FILE,
            "fct(a)",
            [
                (
                    "fct(a)",
                    "no flow among `a` moves a file or answers requests, so `fct` has no values",
                )
            ],
        ),
        (SWEPT, "fct", []),
        (BULK, "datagrams", [("datagrams", "no flow runs over UDP, so `datagrams` has no values")]),
        (UDP, "datagrams, throughput", []),
    ],
)
def test_nothing_to_measure(flows: str, measure: str, said: list[tuple[str, str]]) -> None:
    assert warned(flows, measure) == said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("after: 5s", []),
        ("after: 9.5s", ["no flow lasts long enough after the change"]),
        ("after: 3s, every: 8s", ["no flow lasts long enough after the change"]),
        ("after: 2s, every: 0.5s", ["the time between changes is shorter than a slot"]),
    ],
)
def test_recovery_from_changes_that_nothing_shows(options: str, said: list[str]) -> None:
    compilation = compilation_of(TEXT.format(flows=BULK, measure=f"recovery_time({options})"))
    with pytest.raises(CompileError) if said else nullcontext():
        list(compilation.cells())
    assert [d.message for d in compilation.diagnostics.errors] == said

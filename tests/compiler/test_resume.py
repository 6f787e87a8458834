"""What `resume: careful(...)` is in a plan, and where it is refused."""

from __future__ import annotations

from typing import Any

import pytest
from specs import compile_spec

from fairc.dsl import Source
from fairc.dsl.core.diagnostics import CompileError

SPEC = """fexp 1
experiment e {
  topology = bottleneck(rate: RATE, rtt: RTT, queue: fifo(1bdp))
  flow a { over = OVER  cca = CCA  workload = file(1MB) }
  measure = [goodput]
}
"""


def parameters(
    cca: str, rate: str = "20Mbit/s", rtt: str = "300ms", over: str = "quic"
) -> dict[str, Any]:
    """Return the parameters of a flow's CCA. Raises CompileError."""
    text = SPEC.replace("RATE", rate).replace("RTT", rtt).replace("OVER", over).replace("CCA", cca)
    (cell,) = compile_spec(Source("e.fexp", text)).cells()
    return dict(cell.flows[0].cca_parameters)


@pytest.mark.parametrize("name", ["cubic", "reno"])
def test_a_bdp_is_the_payload_that_fills_the_path(name: str) -> None:
    found = parameters(f"{name}(resume: careful(0.5bdp))")
    wire = 20e6 * 0.3 / 8
    assert found["resume_bytes"] == pytest.approx(wire / 2 * 1472 / 1514, rel=1e-5)
    assert found["resume_rtt_us"] == 300_000


def test_bytes_are_those_of_the_window() -> None:
    assert parameters("cubic(resume: careful(100kB))")["resume_bytes"] == 100_000


@pytest.mark.parametrize("cca", ["cubic", "cubic(resume: off)"])
def test_nothing_learnt_is_nothing_in_the_plan(cca: str) -> None:
    assert not {"resume_bytes", "resume_rtt_us"} & set(parameters(cca))


@pytest.mark.parametrize(
    ("cca", "settings", "code"),
    [
        ("cubic(resume: careful(1bdp))", {"over": "tcp"}, "impossible-pair"),
        ("bbr3(resume: careful(1bdp))", {}, "unknown-argument"),
        ("cubic(resume: careful)", {}, "missing-argument"),
        ("cubic(resume: careful(0B))", {}, "out-of-range"),
        ("cubic(resume: careful(3))", {}, "missing-unit"),
        ("cubic(resume: quick)", {}, "unknown-word"),
        ("cubic(resume: 1bdp)", {}, "wrong-type"),
        ("cubic(resume: careful(100kB))", {"rtt": "0s"}, "bdp-without-rtt"),
    ],
)
def test_what_cannot_be_is_refused(cca: str, settings: dict[str, str], code: str) -> None:
    with pytest.raises(CompileError) as error:
        parameters(cca, **settings)
    assert code in {found.code for found in error.value.diagnostics}

"""What the fake engine invents looks like the work of every transport."""

from __future__ import annotations

from pathlib import Path

import pytest
from specs import only_cell_of

from fairc.compiler.plan import MetricRequest, Requests
from fairc.runtime.analysis.cells import analyse
from fairc_fake.engine import FakeEngine

SPEC = """fexp 1
experiment transports {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, loss: 1%, queue: fifo(15kB))
  flow a { FLOW }
  flow b { cca = cubic  workload = file(300kB) }
  duration = 6s
  measure = [goodput]
}
"""


@pytest.mark.parametrize(
    ("transport", "flow", "cca"),
    [
        ("tcp", "cca = reno  workload = bulk", "reno"),
        ("quic", "over = quic  cca = cubic  workload = bulk", "cubic"),
        ("udp", "over = udp  workload = onoff(rate: 1Mbit/s, on: 1s, off: 1s)", None),
    ],
)
def test_invented_cells_are_analysed_over_every_transport(
    tmp_path: Path, transport: str, flow: str, cca: str | None
) -> None:
    cell = only_cell_of(SPEC.replace("FLOW", flow))
    raw = FakeEngine(pause_s=0.0).run(cell, tmp_path)
    assert raw.error == ""
    analysis = analyse(cell, raw.artefacts, Requests(measure=(MetricRequest(name="loss_rate"),)))
    a = analysis.flows[0]
    assert (a.transport, a.cca) == (transport, cca)
    assert a.bytes > 100_000
    losses = {v.metric: v.value for v in analysis.metrics if v.flow == "a"}
    assert losses["loss_rate.queue"] == 0
    assert 0 < (losses["loss_rate.random"] or 0) < 0.1
    samples = analysis.series.get("samples", {"flow": [], "cwnd_packets": []})
    pairs = zip(samples["flow"], samples["cwnd_packets"], strict=True)
    windows = {window for flow, window in pairs if flow == "a"}
    assert windows == ({10.0} if transport != "udp" else set())
    # The model has no handshake: what answers first comes as late as its first data.
    assert [reason for reason in analysis.reasons if " started " not in reason] == []

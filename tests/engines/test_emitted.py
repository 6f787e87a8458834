"""An emitted Mininet program as it is, inside the guest of `vm`, where Mininet and netem are: links
that transmit, made by tc.
"""

from __future__ import annotations

import numpy as np
import pytest
from emitted_programs import RUN
from kept_cells import run_alone
from specs import only_cell_of

from fairc.cell.links import EMULATED_SLACK_NS
from fairc.compiler import Cell
from fairc.compiler.targets import mininet
from fairc.runtime import validity
from fairc.runtime.calibration.queueing import lindley
from fairc.runtime.engines import guest_job
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.measurement import Measurement, load

SPEC = """fexp 1
experiment emitted {
  topology = bottleneck(rate: 5Mbit/s, rtt: 20ms, queue: fifo(20pkt))
  flow tcp   { cca = cubic  workload = file(500kB)  start = 0s }
  flow small { over = udp  workload = onoff(1Mbit/s, on: 100ms, off: 50ms, packet: 200B)  start = 0s }
  duration = 4s
  measure  = [goodput]
}
"""


@pytest.fixture(scope="module")
def cell() -> Cell:
    return only_cell_of(SPEC)


@pytest.fixture(scope="module")
def measured(cell: Cell, tmp_path_factory: pytest.TempPathFactory) -> Measurement:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(guest_job, "PROGRAM", RUN.format(text=mininet.render(cell)))
        result = run_alone(VmEngine(), cell, tmp_path_factory.mktemp("emitted"))
    return load(cell, result.artefacts)


def test_its_cell_is_valid(measured: Measurement) -> None:
    assert validity.judge(measured) == ("valid", ())


def test_its_links_have_the_slack_of_real_time(measured: Measurement) -> None:
    assert measured.processing.slack_ns == 100_000


def test_frames_take_their_time_on_the_link(measured: Measurement) -> None:
    """Within the slack that its shaper has for late timers. The emulated processor works longer
    than that when the endpoints sample, every 100 ms: a frame that ends then is later, by up to as
    much again, and so are those that wait behind it.
    """
    (queue,) = measured.queues
    slack_s = measured.processing.slack_ns * 1e-9
    begin_s = lindley(queue.arrival_s, queue.serialisation_s)
    assert np.abs(queue.left_s - begin_s).max() < slack_s + 2e-6
    arrived = queue.behind.found >= 0
    there_s = queue.seconds(queue.delivered)[queue.behind.found[arrived]]
    sent_s = begin_s[arrived] + queue.serialisation_s[arrived]
    late_s = there_s - sent_s - 0.010
    late = late_s > slack_s
    first = late & ~np.concatenate(([False], late[:-1]))
    assert (sent_s[first] % 0.1 < 0.001).all()
    assert late_s.min() > 0 and late_s.max() < 2 * slack_s
    assert np.median(late_s) < EMULATED_SLACK_NS * 1e-9

"""A policer in the real kernel: every packet as computed, and users apart."""

from __future__ import annotations

import numpy as np
import pytest

from fairc.compiler.plan import MetricRequest
from fairc.mechanisms.devices.policer import metric as policing
from fairc.mechanisms.devices.policer.check import differences
from fairc.mechanisms.devices.policer.decisions import ECN, LOSS
from fairc.mechanisms.devices.policer.record import policers_of
from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

RATE, DEPTH = 5, 10
SPEC = f"""fexp 1
experiment policed {{
  topology = access(
    rate: 4Mbit/s, rtt: 40ms, queue: red(limit: 100ms, min: 10%, max: 100%, pmax: 100%, ecn: on),
    policer: conex(rate: {RATE}pkt/s, depth: {DEPTH}pkt, harshness: mild, feedback: accurate),
  )
  users heavy {{ count = 1 }}
  users light {{ count = 1 }}
  flow heavy {{ users = heavy  count = 6  cca = cubic  workload = bulk }}
  flow light {{ users = light  cca = cubic  workload = bulk }}
  duration = 6s
  measure  = [policing]
}}
"""


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    assert validity.judge(measured) == ("valid", ())


def test_every_packet_is_policed_as_the_captures_say(measured: Measurement) -> None:
    (policer,) = policers_of(measured)
    decisions = policer.decisions
    assert differences(policer) == 0
    assert len(decisions) > 300 and len(policer.log) > 50
    assert {LOSS, ECN} <= set(decisions.echo.tolist())
    heavy = decisions.bucket == 0
    assert (heavy & decisions.dropped).sum() > 20


def test_every_re_echo_that_passes_takes_a_token(measured: Measurement) -> None:
    """Since a bucket was last full: what was taken is depth + rate t - the level at the end."""
    (policer,) = policers_of(measured)
    end_s, seen = policer.arrival_s[-1], 0
    for bucket, (level,) in policer.levels(policer.arrival_s[-1:]).items():
        ours = np.flatnonzero(policer.decisions.bucket == bucket)
        since = ours[policer.decisions.level[ours] == DEPTH].max()
        taken = int(policer.charged[ours[ours >= since]].sum())
        if level == DEPTH:
            continue  # it is full, so nothing was taken since
        seen += 1
        assert taken > 0
        assert taken == pytest.approx(
            DEPTH + RATE * (end_s - policer.arrival_s[since]) - level, abs=1e-6
        )
    assert seen, "a bucket that is not full"


def test_a_packet_that_is_dropped_does_not_leave(measured: Measurement) -> None:
    (policer,) = policers_of(measured)
    (queue,) = measured.queues
    assert len(queue.entered) == int((~policer.dropped).sum())
    assert not queue.through.strangers.any()


def test_the_heavy_user_pays(measured: Measurement) -> None:
    values = {
        (value.metric, value.flow): value.value
        for value in policing.METRIC.compute(measured, MetricRequest(name="policing"))
    }
    empty = values["policing.empty", "heavy-1"], values["policing.empty", "light-1"]
    assert empty[0] is not None and empty[1] is not None and empty[0] > empty[1]

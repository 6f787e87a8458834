"""Every metric that can be computed, in one tuple."""

from __future__ import annotations

from fairc.dsl.core.registry import Registry

from . import (
    connect,
    convergence_time,
    cpu,
    cwnd,
    datagrams,
    deviations,
    fairness,
    fcp,
    fct,
    fmp,
    goodput,
    lcp,
    loss_rate,
    plt,
    policing,
    qoe,
    queue_delay,
    retransmissions,
    rtt,
    sequence,
    stalls,
    startup,
    stationarity,
    throughput,
    ttr,
    unfairness,
    utilization,
)
from .base import Metric, Value

METRICS: Registry[Metric] = Registry(
    "metric",
    "metric",
    (
        goodput.METRIC,
        throughput.METRIC,
        utilization.METRIC,
        rtt.METRIC,
        cwnd.METRIC,
        loss_rate.METRIC,
        retransmissions.METRIC,
        queue_delay.METRIC,
        fairness.METRIC,
        fmp.METRIC,
        unfairness.METRIC,
        policing.METRIC,
        convergence_time.METRIC,
        stationarity.METRIC,
        deviations.METRIC,
        fct.METRIC,
        qoe.METRIC,
        stalls.METRIC,
        startup.METRIC,
        datagrams.METRIC,
        plt.METRIC,
        ttr.METRIC,
        connect.METRIC,
        fcp.METRIC,
        lcp.METRIC,
        sequence.METRIC,
        cpu.METRIC,
    ),
)


def value_named(name: str) -> Value:
    """Return the value that a name means: `fairness.F`, or its metric's first one for `fairness`.

    Raises KeyError.
    """
    values: dict[str, Value] = {}
    for metric in METRICS:
        values[metric.name] = metric.values[0]
        values.update((value.name, value) for value in metric.values)
    return values[name]

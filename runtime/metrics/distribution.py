"""The percentiles that describe a distribution within a cell, for the metrics that have one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import MetricRequest
from fairc.runtime.formatting import ordinal
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.curves import Curve

from .base import Distribution, Value, declared

PERCENTILES = (5, 10, 25, 50, 75, 90, 95, 99)
STEPS = 200
TOO_FEW = "too few values: a 5th or 95th percentile needs 20, a 99th 100"
"""Why a percentile of a distribution has no number."""


def percentile_values(
    metric: str, what: str, prefix: str = "", censoring: str = ""
) -> tuple[Value, ...]:
    """Return the values `metric.p5` ... `metric.p99` of what is measured.

    prefix: what their names begin with after the metric's. censoring: as of `Value`.
    """
    names = {p: "median" if p == 50 else ordinal(p) for p in PERCENTILES}
    return tuple(
        declared(f"{metric}.{prefix}p{p}", f"{n} of {what}", censoring) for p, n in names.items()
    )


def percentiles(samples: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the numbers of `percentile_values`, with linear interpolation; at least one sample.

    Not a number, but for the median, of fewer than 1 / (1 - p) samples (1 / p below the median):
    it would be about the largest or smallest of them. The reason is TOO_FEW.

    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996, definition 7.
    """
    found = np.percentile(samples, PERCENTILES)
    known = [p == 50 or len(samples) * min(p, 100 - p) >= 100 for p in PERCENTILES]
    return tuple(float(n) for n in np.where(known, found, np.nan))


def distribution(metric: str, flow: str | None, samples: NDArray[np.float64]) -> Curve:
    """Return the curve `distribution` of at least one sample: what each share of them does not
    exceed. flow: None where it is of the cell.
    """
    shares = np.arange(STEPS + 1) / STEPS
    nothing = np.full(STEPS + 1, np.nan)
    places = np.quantile(samples, shares)
    return Curve(metric, flow, "distribution", len(samples), places, shares, nothing, nothing)


Samples = Callable[[Measurement, FlowRecord, MetricRequest], NDArray[np.float64] | str]


def curves_of(
    metric: str, samples: Samples
) -> Callable[[Measurement, MetricRequest], tuple[Curve, ...]]:
    """Return what gives a metric's curves: the distribution of each requested flow with samples.

    samples: returns those of a flow, or why there are none.
    """

    def curves(measurement: Measurement, request: MetricRequest) -> tuple[Curve, ...]:
        flows = measurement.sessions(request.sessions)
        each = ((flow.name, samples(measurement, flow, request)) for flow in flows)
        return tuple(
            distribution(metric, name, found)
            for name, found in each
            if not isinstance(found, str) and len(found)
        )

    return curves


def stored(
    metric: str, things: str, word: str, took: str = "took at most this long"
) -> Distribution:
    """Return where the curves of `curves_of` are in the tables; arguments as of `Distribution`."""
    return Distribution(
        table="curves",
        column="x",
        where=f"curve = 'distribution' AND metric = '{metric}{{mark}}'",
        there=f"{metric}.mean",
        things=things,
        word=word,
        took=took,
        counted="scale",
    )

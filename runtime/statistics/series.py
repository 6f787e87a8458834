"""Series: are values independent of those before them, and does a series keep its level?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fairc.runtime.arrays import Floats

from .distributions import chi_squared_above

MIN_AUTOCORRELATED = 6
MIN_STATIONARITY = 30

# Kwiatkowski, Phillips, Schmidt and Shin, 1992, table 1, upper tail of eta_mu.
_KPSS_STATISTIC = (0.347, 0.463, 0.574, 0.739)
_KPSS_P = (0.10, 0.05, 0.025, 0.01)


@dataclass(frozen=True, slots=True)
class Autocorrelation:
    """r: of lags 1, 2, ...; band: at each lag, r of 95 % of independent series lies within +-band.

    p: of the Ljung-Box test that all r are zero.
    """

    r: tuple[float, ...]
    band: float
    p: float


@dataclass(frozen=True, slots=True)
class Stationarity:
    """The KPSS test: statistic, lags of the long-run variance, p within [0.01, 0.10].

    The table ends there: 0.01 means at most, 0.10 at least.
    """

    statistic: float
    lags: int
    p: float


def autocorrelation(values: Sequence[float]) -> Autocorrelation | str:
    """Return the autocorrelation of a series in its order, or why there is none.

    r_k = sum (x_t - m)(x_(t+k) - m) / sum (x_t - m)^2, band 1.96 / sqrt(n); lags:
    min(10, n / 5), at least 1. Q = n (n + 2) sum r_k^2 / (n - k) against chi-square with `lags`
    degrees of freedom.

    Source: Box, Jenkins and Reinsel, Time Series Analysis, section 2.1; Ljung and Box, Biometrika
    65, 1978.
    """
    x = np.array(values, np.float64)
    n = len(x)
    if n < MIN_AUTOCORRELATED:
        return f"fewer than {MIN_AUTOCORRELATED} values"
    x = x - x.mean()
    power = float(x @ x)
    if power == 0:
        return "all values are equal"
    lags = max(1, min(10, n // 5))
    r = [float(x[k:] @ x[:-k]) / power for k in range(1, lags + 1)]
    q = n * (n + 2) * math.fsum(r_k**2 / (n - k) for k, r_k in enumerate(r, 1))
    return Autocorrelation(
        tuple(r), NormalDist().inv_cdf(0.975) / math.sqrt(n), chi_squared_above(lags, q)
    )


def kpss(values: Sequence[float] | Floats) -> Stationarity | str:
    """Return the KPSS test of a constant level, or why there is none.

    With e = x - mean and S_t = e_1 + ... + e_t: eta = sum S_t^2 / (n^2 s^2(l)), where
    s^2(l) = g_0 + 2 sum_(k=1..l) (1 - k / (l + 1)) g_k is the long-run variance over l lags, chosen
    from the data. A small p says that the level moves: a trend, a shift, or a swing as long as the
    series.

    Source: Kwiatkowski, Phillips, Schmidt and Shin, Testing the null hypothesis of stationarity
    against the alternative of a unit root, Journal of Econometrics 54, 1992, equations 10 to 13;
    lags: Hobijn, Franses and Ooms, Generalizations of the KPSS-test for stationarity, 1998,
    section 2 (Bartlett kernel).
    """
    x = np.asarray(values, np.float64)
    n = len(x)
    if n < MIN_STATIONARITY:
        return f"fewer than {MIN_STATIONARITY} values"
    e = x - x.mean()
    if float(np.ptp(x)) == 0:
        return "all values are equal"
    lags = _bandwidth(e)
    covariance = [float(e[k:] @ e[: n - k]) / n for k in range(lags + 1)]
    weighted = (2 * (1 - k / (lags + 1)) * g for k, g in enumerate(covariance) if k)
    variance = covariance[0] + math.fsum(weighted)
    statistic = float(np.sum(np.cumsum(e) ** 2)) / (n**2 * variance)
    return Stationarity(statistic, lags, float(np.interp(statistic, _KPSS_STATISTIC, _KPSS_P)))


def _bandwidth(e: Floats) -> int:
    """Return how many lags the long-run variance covers; e: deviations from the mean."""
    n = len(e)
    products = np.array([float(e[k:] @ e[: n - k]) for k in range(int(n ** (2 / 9)) + 1)]) * (2 / n)
    products[0] /= 2
    s0, s1 = products.sum(), float(np.arange(len(products)) @ products)
    return min(int(1.1447 * ((s1 / s0) ** 2) ** (1 / 3) * n ** (1 / 3)), n - 1)

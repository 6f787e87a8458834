"""Statistics over repetitions and over series within a run; which is used when:
docs/trust/statistics.md.

    estimates    median, mean, percentile with the interval that each deserves; `--stat` by name
    bootstrap    the mean's BCa interval
    two_samples  Welch's t, Mann-Whitney U, and the effect sizes that go with them
    medians      the difference of two medians of independent samples, whatever their shapes
    trend        Page's test and Jonckheere-Terpstra's, of values along an order
    paired       the signed-rank test, the shift of paired values, their correlation
    distributions probabilities and quantiles of Student's t, beta, binomial, ...
    dominance    first-order stochastic dominance
    verdicts     two samples compared: tests, effect size, and what they mean as text; Holm's
                 correction for several comparisons
    agreement    whether two samples agree within a margin
    sequential   intervals that stay valid under interim analyses
    repeated     summaries of a fixed number of repetitions, or of a range
    subsets      what a subset of the configurations would have shown
    series       autocorrelation, Ljung-Box, the KPSS test of stationarity

Only numpy and the standard library.
"""

from .estimates import STATISTICS as STATISTICS
from .estimates import Estimate as Estimate
from .estimates import mean as mean
from .estimates import median as median
from .estimates import percentile as percentile
from .estimates import statistic as statistic

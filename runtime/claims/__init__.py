"""The claims of an experiment, decided from the stored results: docs/trust/claims.md.

values     the values of each statistic, repetition by repetition
intervals  the interval of each quantity: order statistics, sign tests, Welch-Satterthwaite,
           Clopper-Pearson
trends     whether medians rise along a swept name: Page's test, Jonckheere-Terpstra's, and steps
power      how many repetitions would decide an undecided claim
deciding   verdicts of all claims of a run, from simultaneous intervals
wording    verdicts as sentences with units; forms: as text, JSON, JUnit and Markdown
"""

from .deciding import ClaimVerdict, Decision, Unit, decide

__all__ = ["ClaimVerdict", "Decision", "Unit", "decide"]

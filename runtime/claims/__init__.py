"""The claims of an experiment, decided from the stored results: docs/claims.md.

values     the values of each statistic, repetition by repetition
intervals  the interval of each quantity: order statistics, Hodges-Lehmann, Welch-Satterthwaite, Clopper-Pearson
power      how many repetitions would decide what is open
deciding   verdicts of all claims of a run, from simultaneous intervals
looks      which claims are still undecided at a look: a range of repetitions may end with them
wording    verdicts as sentences with units; forms: as text, JSON, JUnit and Markdown
"""

from .deciding import Decided, Decision, Unit, decide

__all__ = ["Decided", "Decision", "Unit", "decide"]

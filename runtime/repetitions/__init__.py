"""A metric over repetitions: read from the tables by one reader, for tables, claims, comparisons
and the report.

reading       which cells count, and what each of them measured, or why it has no value
crowds        many flows of one statement, shown as one
samples       the values of each group of cells, with what they leave out and their median
remarks       why cells are not valid, reasons alike as one
stationarity  flows whose throughput still moves, so that a mean depends on when it was taken
times         rates of flows that are over different times
sides         which of two sessions dominates
mixtures      whether a group mixes configurations
summaries     a table of a metric: statistic and interval of each group
"""

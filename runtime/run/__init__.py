"""Run directories: what is missing is run, and what is there is collected, checked and mended.

In order of control flow:

sweep         runs missing cells, several at a time; rounds: of a range of repetitions
progress      says how far it is; bar: on a terminal
analyst       derives a cell's results from its raw artefacts; analysis_pool: several at a time
lock          `lock.json`: what made the numbers; history: the commands of a run directory
programs      those of a compiled plan, for an engine that runs them
cluster       single cells of a plan; collection: their results in one run directory
phase         the phase check: a part of the run again, with more time per packet
warmup        metrics with another warm-up
repair        results derived again; verification: is a run directory what was written?
outcome       claims decided, cells counted
"""

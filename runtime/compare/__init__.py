"""Runs compared over their repetitions.

comparison  two runs, or the groups of one, metric by metric
agreement   do two runs agree within a margin?
"""

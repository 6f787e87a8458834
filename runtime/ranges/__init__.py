"""Ranges of repetitions: where they stop, and so which cells of a plan count and which are missing.

ending  where a range stops: when its values are precise enough, or its claims decided
cells   the cells of a run directory up to there, and those that it lacks
"""

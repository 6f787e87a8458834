"""Runs and groups compared over their repetitions; agreement of two runs."""

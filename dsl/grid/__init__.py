"""The grid: axes, their product, and what `exclude`, `sample`, `--where` and `--set` leave of
it.
"""

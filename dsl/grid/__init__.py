"""The grid: axes, their product, and what `exclude`, `sample`, `--where` and `--set` leave of it.

settings     `--set`: values in place of the file's
sweeps       axes, their product, and what `exclude` leaves
sampling     drawing by hash: `sample`, `order = shuffled`
conditions   `--where`
grid_checks  draws, conditions without effect, values without cells
memo         what depends on some swept names alone, computed once
"""

"""The grid: axes, their product, what `exclude`, `sample`, `--where` and `--set` leave of it."""

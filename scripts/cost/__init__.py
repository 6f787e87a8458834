"""The cost of a cell, in CPU seconds and memory, in one checkout or two (`make cost`)."""

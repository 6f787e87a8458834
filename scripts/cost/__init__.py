"""What a cell costs, in CPU seconds and memory, in one checkout or two (`make cost`)."""

"""From expressions to values: exact arithmetic with dimensions, functions, names."""

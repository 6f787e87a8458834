"""Expressions to values: exact arithmetic with dimensions, functions, names."""

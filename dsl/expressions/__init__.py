"""Evaluation of expressions: exact arithmetic with dimensions, functions, names."""

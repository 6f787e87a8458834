"""Evaluation of expressions: exact arithmetic with dimensions, functions, names.

names       names that an expression depends on
evaluate    a scope, and a rule for each kind of node; numbers with units
arithmetic  on quantities and lists; functions: `max`, `logspace`, ...
instances   statements with an index, loops or a condition
"""

"""Workloads: a folder each.

workload  what a workload declares, and what several have in common
registry  all of them, by their names in the language
"""

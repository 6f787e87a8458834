"""A configuration and a repetition to a cell.

In order of control flow:

lowering   a configuration through the passes to what its cells share
sampling   what metrics require of it; coverage: of any configuration
grid       what each repetition draws: a cell; baselines: cells that others are compared with
variation  what the seeds vary, as text
"""

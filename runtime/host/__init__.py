"""This machine, and the commands started on it.

faults      faults of the environment, which are no result of a cell
cores       each for one guest and one report at a time
supervisor  starts commands that outlive neither fairc nor a deadline; watcher: ends them
bounds      limits of a machine, enforced from outside; seccomp: which system calls it may make
archive     raw artefacts in one file
clean       removes what crashed runs left
"""

"""User-Mode Linux behind the `uml` engine: the real kernel as an ordinary program, in virtual time.

In order of control flow: `source` (which kernel, and what is changed in it), `kernel` (builds and
finds it), `confinement` (what of the host the program sees), `machine` (one run: its command line,
its clock, its limits), `memory` (how much
of it a cell's machine has), `trial` (whether this host lets it run). The root file system, the guest's agent and the exchange are those of the
emulated machine (`runtime/vm`).
"""

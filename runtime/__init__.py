"""A plan to results: runs cells, stores them, measures, writes tables and the report.

In order of control flow:

engines      what runs a cell: `base` is the contract; uml, vm, mininet, docker, fake
uml          the kernel as a program: its build, its confinement, a run of it
vm           the image of both engines in virtual time, snapshot, and exchange of files
supervisor   starts commands that die with fairc, through `watcher`
store        the run directory; archive: raw artefacts in one file
lock         what made the numbers
sweep        runs what is missing; progress: what it tells
cluster      single cells into a plan's folder; collection: one run of them
measurement  raw artefacts to arrays, with pcap and digests
metrics      arrays to numbers; deviations: the analysis of the metric of that name
validity     the verdict on a cell's set-up
conditions   what the compared transports differ in
har          page loads as HTTP archives
analysis     all of these, for one cell; results: what is stored of it
tables       tidy Parquet files; summary, comparison, statistics: over repetitions
report       the page and its figures
doctor       what this machine offers; clean: what crashed runs left
"""

"""A plan to results: runs cells, stores them, measures, writes tables and the report.

In order of control flow:

run          runs what is missing: sweep, progress, lock, clusters, phase check
engines      what runs a cell: `base` is the contract; uml, vm, mininet, docker; doctor: what
             this machine offers them
uml          the kernel as a program: its build, its confinement, a run of it
vm           the image of both engines in virtual time, snapshot, and exchange of files
containers   images and containers of the engine `docker`
host         this machine: its faults, supervised commands, folders in one file, what crashed runs
             left
store        the run folder, provenance, tidy tables
analysis     one cell: all of the next three, and page loads as HTTP archives
measurement  raw artefacts to arrays
metrics      arrays to numbers
validity     the verdict on a cell's set-up
statistics   estimates, intervals and tests
repetitions  a metric over repetitions: the one reader of the tables, groups, summaries
compare      runs and groups compared; agreement
claims       what an experiment claims, decided
ranges       where ranges of repetitions stop, and so which cells count and which are missing
pack         a study as one file, and whether it is what it says
report       the page and its figures
suites       folders of experiments, and how the criteria stand that their claims decide
calibration  what an engine measures of known networks
documents    the generated parts of docs/
formatting   numbers and lists as text, for all who print them
"""

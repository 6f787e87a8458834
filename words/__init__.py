"""The words of the language, with a file for each family or word: loss model, CCA, metric, ...

An entry declares its parameters with their kinds and defaults, and what it becomes in the plan;
parts that must be elsewhere are in files of the same stem (docs/build/architecture.md). Each family
has a list in its `__init__`.

blocks         the keys of `experiment`, `flow`, `link`, ...
presets        the topologies that ship with fairc
sizes          amounts of data that may depend on the path; queues are in mechanisms/queues
losses         loss models; jitter, reorder, trace: what else a link does; packet_sizes: its MTU and
               frames; framing: what it adds to packets; dscp: their code points
pages          what a load loads; workloads are in mechanisms/workloads
transports     and ccas, by transport; routes: of flows; enters: changes that wait for a state
distributions  of random values; empirical: from a file; draws: from them
tables         text files with rows of numbers; recordings: of links; rows: as tuples
kernel_modules of users, and container_images
repetitions    `repeat`
metrics        and figures: what is known about them by their names; metric_entry: of a metric;
               metric_lacks: why one has no value; transfers: how many a percentile of completion
               times needs; claims: statistics and trends
reference      the tables of docs/reference/words.md; manual: what `fairc show` says; statements:
               of what is in no registry
"""

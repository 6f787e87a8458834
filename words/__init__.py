"""The words of the language, with a file for each family or word: loss model, CCA, metric, ...

An entry declares its parameters with their kinds and defaults, and what it becomes in the plan;
parts that must be elsewhere are in files of the same stem (docs/build/architecture.md). Each family
has a list in its `__init__`.

blocks         the keys of `experiment`, `flow`, `link`, ...
presets        the topologies that ship with fairc
sizes          amounts of data that may depend on the path; queues are in mechanisms/queues
losses         loss models; jitter, trace: what else a link does; packet_sizes: its MTU and frames
pages          what a load loads; workloads are in mechanisms/workloads
transports     and ccas, by transport; distributions: of random values; draws: from them
metrics        and figures: what is known about them by their names; transfers: how many a
               percentile of completion times needs
reference      the tables of docs/reference/words.md; manual: what `fairc show` says
"""

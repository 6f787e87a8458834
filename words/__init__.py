"""The words of the language: a room with a file for each queue, loss model, CCA, workload, metric, figure, ...

An entry declares its parameters with their kinds and defaults, and says what it becomes in the plan; what of it
must be elsewhere has a file of the same stem (docs/architecture.md). Each family has a list in its `__init__`.

blocks         the keys of `experiment`, `flow`, `link`, ...
presets        the topologies that ship with fairc; policers, peps
queues         queueing disciplines; sizes: amounts of data that may depend on the path
losses         loss models; jitter, trace: what else a link does; packet_sizes: its MTU
workloads      what connections move; pages: what a load loads
transports     and ccas, by transport; distributions: of what is drawn; processing: what hosts take
metrics        and figures: what is known of them by their names
reference      the tables of docs/language.md; manual: what `fairc show` says
"""

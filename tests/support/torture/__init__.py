"""`make torture`: seeded faults of every kind, tried in turn within a time budget, and recorded.

    python -m torture [--minutes N] [--only NAME] [--seed N] [--number N]      (in tests/support/)

In order of control flow: `__main__` (options), `campaign` (shares the time between strategies),
`strategy` (what a kind of fault is), `record` (what has been tried, as JSON lines), `page`
(docs/trust/reliability.md). What the kinds share: `sandbox` (a fairc with folders of its own),
`tree` (its processes), `network` (the specs that are run), `inspection` (whether a run folder is
whole). One module for each kind of fault, in `every`; `trust_payloads` is what the programs of
`trust` do.
"""

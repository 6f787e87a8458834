"""`make torture`: seeded faults of every kind, tried in turn within a time budget, and recorded.

    python -m torture [--minutes N] [--only NAME] [--seed N] [--number N]      (in tests/support/)

In order of control flow: `__main__` (options), `campaign` (shares the time between kinds of fault),
`fault` (what such a kind is), `record` (what has been tried, as JSON lines), `page`
(docs/trust/reliability.md). What the kinds share: `sandbox` (a fairc with folders of its own),
`tree` (its processes), `network` (the specs that are run), `inspection` (whether a run folder is
whole), `engines` (Docker). `faults` has a module for each family of kinds.
"""

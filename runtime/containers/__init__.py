"""Cells in containers on this machine's Docker engine, for `runtime/engines/docker.py`.

In order of control flow: `client` (the engine, and its errors as messages), `image` (what
containers run in), `job` (a cell's networks and containers), `foreign` (third-party images beside
them), `leftovers` (whose they are; removes those whose owner has gone), `janitor` (does so when a
fairc is killed).
"""

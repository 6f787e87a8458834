"""Cells in containers on this machine's Docker engine, for `runtime/engines/docker.py`.

In order of control flow: `client` (the engine, and its errors as messages), `image` (what containers run
in), `probe` (what the kernel offers them), `job` (a cell's networks and containers), `leftovers` (whose
they are, and the end of those whose owner has gone), `janitor` (does that when a fairc is killed).
"""

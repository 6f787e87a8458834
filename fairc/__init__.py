"""fairc: a declarative language for network experiments, and the tool that runs them."""

__version__ = "0.1.0"

ADDRESS: str | None = None
"""The project's public address, and the only place that decides it; None: it has none yet.

Packs name it in their RO-Crate; `url` of setup.cfg and `repository-code` of CITATION.cff, which
cannot read it, are the same or are left out (tests/cli/test_address.py).
"""

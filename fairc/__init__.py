"""fairc: a declarative language for network experiments, and the tool that runs them.

`check`, `plan`, `run` and `load` do from Python what the commands do (docs/run/python.md).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .python import Figure as Figure
    from .python import Run as Run
    from .python import check as check
    from .python import load as load
    from .python import plan as plan
    from .python import run as run

__version__ = "0.1.0"

ADDRESS: str | None = None
"""The project's public address, and the only place that decides it; None: it has none yet.

Packs name it in their RO-Crate; `url` of setup.cfg and `repository-code` of CITATION.cff, which
cannot read it, are the same or are left out (tests/cli/test_address.py).
"""


def __getattr__(name: str) -> object:
    """Return what Python programs use, on demand: commands import only what they need."""
    if name not in ("Figure", "Run", "check", "load", "plan", "run"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import python

    return getattr(python, name)

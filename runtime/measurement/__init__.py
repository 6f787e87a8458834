"""Raw artefacts of one cell to arrays in SI units: what metrics and validity checks read.

In order of control flow: `artefacts` opens the files, `endpoints` and `qdisc` read what programs
and `tc` wrote, `paths` knows the routes, `matching`, `replay` and `queues` follow packets through a
bottleneck, `qlog` checks what a QUIC server traced, `selection` says which packets are whose,
`slots` apportions bytes to time, `loads` says what is known of a page load, and `arrivals` when its
data came, the `record.py` of a workload reads what only its ends write, and so does that of a
device (`devices` has what is asked of it), `tunnels` reads what their ends say; `record` holds all
of it, put together by `loading`; `series` and `pages` are kept.
"""

from typing import TYPE_CHECKING

from .artefacts import ArtefactError
from .record import SLOT_S, FlowRecord, Measurement, Passage
from .selection import middle_of, packets_of

if TYPE_CHECKING:
    from .loading import load

__all__ = [
    "SLOT_S",
    "ArtefactError",
    "FlowRecord",
    "Measurement",
    "Passage",
    "load",
    "middle_of",
    "packets_of",
]


def __getattr__(name: str) -> object:
    """Return `load`, on demand: it needs all that reads files, and tables of results need none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .loading import load

    return load

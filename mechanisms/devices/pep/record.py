"""Records of PEPs: the reports of each pair of proxies on its middle connections, and on the
connections that it split.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairc.cell.model import Cell
from fairc.runtime.measurement.artefacts import Artefacts, field
from fairc.runtime.measurement.devices import DeviceRecord
from fairc.runtime.measurement.pcap import Capture

from .cell import Pep

ENDS = ("terminal", "gateway")


@dataclass(frozen=True, slots=True)
class ConnectionPool:
    """The pool of middle connections of one end.

    window_packets: the smallest congestion window with which one of them begins.
    """

    connections: int
    cca: str
    window_packets: int


@dataclass(frozen=True, slots=True)
class PepRecord(DeviceRecord):
    """A pair of proxies: its plan, and what each of its ends reported, by `terminal` and `gateway`.

    ready: ends whose pool was open. joined: connections that an end carried to its next leg.
    errors: what failed, with the name of the program.
    """

    plan: Pep
    ready: Mapping[str, ConnectionPool]
    joined: Mapping[str, int]
    errors: tuple[str, ...]


def load(
    artefacts: Artefacts, cell: Cell, captures: Mapping[str, Capture], epoch_ns: int
) -> tuple[PepRecord, ...]:
    """Read what each pair of a cell reported. Raises ArtefactError."""
    return tuple(_load(artefacts, pep) for pep in cell.devices if isinstance(pep, Pep))


def _load(artefacts: Artefacts, pep: Pep) -> PepRecord:
    ready: dict[str, ConnectionPool] = {}
    joined: dict[str, int] = dict.fromkeys(ENDS, 0)
    errors = []
    for end in ENDS:
        name = f"{pep.name}.{end}"
        file = f"{name}.ndjson"
        for event in artefacts.lines(file):
            what = event.get("event")
            if what == "ready":
                ready[end] = ConnectionPool(
                    field(event, "connections", file),
                    str(event.get("cca")),
                    field(event, "window_packets", file),
                )
            elif what == "joined":
                joined[end] += 1
            elif what == "error":
                errors.append(f"{name}: {event.get('message')}")
    return PepRecord(pep, ready, joined, tuple(errors))

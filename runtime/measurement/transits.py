"""Transit times of the datagrams of a UDP flow, as its client saw them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairc.runtime.arrays import Floats

from .artefacts import NS, ArtefactError, Artefacts

RECORD = np.dtype([("arrived_ns", "<i8"), ("transit_ns", "<i8")])
"""A record of `<flow>.client.transits` (docs/reference/artefacts.md)."""


@dataclass(frozen=True, slots=True)
class Transits:
    """The datagrams that arrived, duplicates excluded, in the order in which the client took them.

    arrived_s: after the epoch. transit_s: from when the server sent it. Both of shape (datagrams,).
    """

    arrived_s: Floats
    transit_s: Floats


def read(artefacts: Artefacts, file: str, records: int) -> Transits:
    """Return what a client wrote, which says that it wrote so many records.

    Raises ArtefactError.
    """
    content = artefacts.content(file)
    if len(content) != records * RECORD.itemsize:
        raise ArtefactError(
            f"{file} has {len(content)} bytes, and the client wrote {records * RECORD.itemsize}"
        )
    found = np.frombuffer(content, RECORD)
    if (found["transit_ns"] < 0).any():
        raise ArtefactError(f"{file} has a datagram that arrived before it was sent")
    return Transits(
        found["arrived_ns"].astype(np.float64) * NS, found["transit_ns"].astype(np.float64) * NS
    )

"""Media: what each must have done with the captured arrivals, by its model (`record.py` in
mechanisms/links).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from fairc import mechanisms
from fairc.cell.medium import Medium
from fairc.runtime.arrays import Bools, Int64s

from .changes import History
from .pcap import Packets

if TYPE_CHECKING:
    from typing import Protocol

    class Model(Protocol):
        """The `record.py` of a medium."""

        def aggregates(
            self,
            medium: Medium,
            history: History,
            arrival_ns: Int64s,
            left_ns: Int64s,
            frame_bytes: Int64s,
        ) -> Aggregates:
            """Return what it must have done.

            history: of its interface. arrival_ns: when each frame that left came to the queue;
            where that is not known, the latest that is possible. left_ns: when it was seen to
            leave, in order.
            """
            ...

        def kept_out(self, medium: Medium, packets: Packets) -> Bools | None:
            """Return which packets, of all that come to a queue, it does not let into it; None: it
            lets all into it.
            """


@dataclass(frozen=True, slots=True)
class Aggregates:
    """What a medium must have done with the frames that left it, each of shape (frames,), ns after
    the epoch.

    taken_ns: when it took each from the queue. begin_ns: when each frame's own bits begin to be
    sent, those of its aggregate one behind the other. end_ns: when its aggregate has been sent.
    number: of the aggregate, from 0.
    """

    taken_ns: Int64s
    begin_ns: Int64s
    end_ns: Int64s
    number: Int64s

    @property
    def lasts_ns(self) -> Int64s:
        """How long each frame's own bits are sent, ns."""
        last = np.diff(self.number, append=-1) != 0
        return np.where(last, self.end_ns, np.append(self.begin_ns[1:], 0)) - self.begin_ns

    @property
    def sizes(self) -> Int64s:
        """How many frames each aggregate has."""
        return np.bincount(self.number) if len(self.number) else np.zeros(0, np.int64)


def model_of(medium: Medium) -> Model:
    """Return the model of a kind of medium."""
    return cast("Model", mechanisms.find("links", medium.kind, "record"))

"""Media, which transmit in place of a shaper, and repairs of a link's losses; each kind has a
folder (mechanisms/links).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from .numbers import Seed
from .part import UNLESS_ABSENT, Kinds, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Medium(Part):
    """A medium sends the packets of a queue in place of a shaper, and is its own transmitter.

    module: the kernel's module of its discipline. beyond_tc: as of a queue.
    seed: of its random times; None where nothing is random.
    """

    module: ClassVar[str]
    beyond_tc: ClassVar[frozenset[str]] = frozenset()

    kind: str
    seed: Seed | None = field(default=None, metadata=UNLESS_ABSENT)

    @property
    def random(self) -> bool:
        """Whether a time is drawn."""
        return False

    @property
    def longest_ns(self) -> int:
        """The longest time that a packet may wait for others, or for its turn."""
        return 0

    def words(self, rate_bps: int, frame_bytes: int, epoch_ns: int | None) -> str:
        """Return the discipline and its arguments.

        epoch_ns: when the cell begins, ns after 1970; None: it is not known yet, as where cells run
        in real time, whose kernels refuse the discipline.
        """
        raise NotImplementedError

    def rate_words(self, rate_bps: int) -> str:
        """Return the discipline and the argument that changes its rate."""
        raise NotImplementedError


MEDIUM_KINDS: Kinds[Medium] = Kinds()
AnyMedium = Annotated[Medium, MEDIUM_KINDS]
"""A medium, of one of the kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair(Part):
    """A repair sends lost packets of a link again.

    module: the kernel's module of its discipline. beyond_tc: as of a queue.
    """

    module: ClassVar[str]
    beyond_tc: ClassVar[frozenset[str]] = frozenset()

    kind: str
    in_order: bool = True

    @property
    def longest_ns(self) -> int:
        """The longest time by which repairs may delay a packet."""
        raise NotImplementedError

    def lost(self, loss: float) -> float:
        """Return the probability that a packet is lost for good; loss: of one transmission."""
        raise NotImplementedError

    def words(self, limit_packets: int, delay_ns: int, loss: float, seed: int | None) -> str:
        """Return the discipline and its arguments."""
        raise NotImplementedError


REPAIR_KINDS: Kinds[Repair] = Kinds()
AnyRepair = Annotated[Repair, REPAIR_KINDS]
"""A repair, of one of the kinds."""

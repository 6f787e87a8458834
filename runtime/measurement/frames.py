"""Frames of media that one end of a flow captured and the other one received."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fairc.runtime.arrays import Bools, Floats, Int64s

Way = Literal["down", "up"]
"""From the server to the client, or back."""
Kind = Literal["audio", "video"]
KINDS: tuple[Kind, ...] = ("video", "audio")
"""What is meant first where none is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """The frames of one kind on one way, in the order of their capture; each of shape (frames,).

    captured_s: s after the epoch. arrived_s: when the last bit of it was there; infinite: never.
    group: of pictures, from 0. key: whether it begins one. cancelled: whether its group was, before
    it was there. interval_s: the mean time between frames. reliable: whether its transport loses
    none.
    """

    captured_s: Floats
    arrived_s: Floats
    bytes: Int64s
    group: Int64s
    key: Bools
    cancelled: Bools
    interval_s: float
    reliable: bool

    def __len__(self) -> int:
        return len(self.captured_s)

    @property
    def there(self) -> Bools:
        """Which have come, whole."""
        return np.isfinite(self.arrived_s)

    @property
    def delay_s(self) -> Floats:
        """From capture to complete reception, s; infinite: it never came."""
        return self.arrived_s - self.captured_s

    def select(self, which: Bools) -> Frames:
        """Return some of them."""
        return replace(
            self,
            captured_s=self.captured_s[which],
            arrived_s=self.arrived_s[which],
            bytes=self.bytes[which],
            group=self.group[which],
            key=self.key[which],
            cancelled=self.cancelled[which],
        )

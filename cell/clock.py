"""The clock by which a cell runs."""

from __future__ import annotations

import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class RealTime:
    """This machine's clock: the flows begin as soon as their programs have been started."""

    def now_ns(self) -> int:
        """Return the time, ns after 1970."""
        return time.time_ns()

    def sleep_until(self, at_ns: int) -> None:
        """Return at a time, or at once if it has passed."""
        time.sleep(max(0, at_ns - self.now_ns()) / 1e9)

    def wait(self, descriptors: Iterable[int], until_ns: int) -> list[int]:
        """Return those that can be read from, as soon as there are any; none at a time."""
        poller = select.poll()
        for descriptor in descriptors:
            poller.register(descriptor, select.POLLIN)
        left_ms = -(-(until_ns - self.now_ns()) // 1_000_000)
        return [descriptor for descriptor, _ in poller.poll(max(0, left_ms))]

    def epoch_ns(self, lead_ns: int) -> int:
        """Return the time at which the flows begin: `lead_ns` is left until then."""
        return self.now_ns() + lead_ns


class VirtualTime(RealTime):
    """The clock of a machine in virtual time: every cell begins at the same time of it.

    So how long its set-up took leaves no trace in its results.
    """

    def __init__(self, epoch_ns: int) -> None:
        self._epoch_ns = epoch_ns

    def epoch_ns(self, lead_ns: int) -> int:
        """Return the time at which the flows begin, when `lead_ns` is left until then."""
        self.sleep_until(self._epoch_ns - lead_ns)
        return self._epoch_ns

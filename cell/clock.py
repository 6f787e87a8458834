"""The clock by which a cell runs."""

from __future__ import annotations

import ctypes
import os
import select
import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_libc = ctypes.CDLL(None, use_errno=True)
_TFD_TIMER_ABSTIME = 1


def _timer(at_ns: int) -> int:
    """Return a timer of the kernel that can be read from at a time, ns after 1970.

    Linux ends a sleep, and a wait of poll(), up to 50 us late, a long one later still, so that it
    ends together with other timers (its timer slack, prctl(2)); timerfd_create(2) knows no slack.
    The `os` of Python has it from 3.13 on.
    """
    descriptor: int = _libc.timerfd_create(time.CLOCK_REALTIME, os.O_CLOEXEC)
    at = struct.pack("@4l", 0, 0, *divmod(max(1, at_ns), 10**9))  # 0 would be no time at all
    if descriptor < 0 or _libc.timerfd_settime(descriptor, _TFD_TIMER_ABSTIME, at, None) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"a timer: {os.strerror(code)}")
    return descriptor


class RealTime:
    """This machine's clock: the flows begin as soon as their programs have been started."""

    def now_ns(self) -> int:
        """Return the time, ns after 1970."""
        return time.time_ns()

    def sleep_until(self, at_ns: int) -> None:
        """Return at a time, or at once if it has passed."""
        self.wait([], at_ns)

    def wait(self, descriptors: Iterable[int], until_ns: int) -> list[int]:
        """Return those that can be read from, as soon as there are any; none at a time."""
        poller, timer = select.poll(), _timer(until_ns)
        try:
            for descriptor in (*descriptors, timer):
                poller.register(descriptor, select.POLLIN)
            return [descriptor for descriptor, _ in poller.poll() if descriptor != timer]
        finally:
            os.close(timer)

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

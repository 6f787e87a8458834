"""Have a copy of this process do part of the work on another core."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeVar

T = TypeVar("T")

# How long another thread has to end.
ENDS_WITHIN_S = 0.1
_PR_SET_PDEATHSIG = 1
_DONE, _FAILED = 0, 1


@contextmanager
def aside(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Start some work in a copy of this process; give the function that waits for what it returns.

    The work is done here, when it is asked for, where there is no second core, where other threads run (what they
    hold would be held in the copy for ever), and where the copy fails: then its error is raised here. The copy
    ends with the block, and with this process.
    """
    copy = _copy(work)
    if copy is None:
        yield work
        return
    child, reading = copy
    running = True

    def answer() -> T:
        nonlocal running
        content = pipe.read()
        _, status = os.waitpid(child, 0)
        running = False
        if status != _DONE:
            return work()
        found: T = pickle.loads(content)
        return found

    with os.fdopen(reading, "rb") as pipe:
        try:
            yield answer
        finally:
            if running:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def _copy(work: Callable[[], object]) -> tuple[int, int] | None:
    """Start the copy; return its number and the pipe that it writes to; None where there is to be none."""
    if len(os.sched_getaffinity(0)) < 2 or not _alone():
        return None
    parent = os.getpid()
    reading, writing = os.pipe()
    # A Ctrl-C at the terminal reaches both; it is this process that hears it, and ends the copy.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        child = os.fork()
        if child == 0:
            _work(work, writing, parent)
    except OSError:  # no process can be started
        os.close(reading)
        return None
    finally:
        os.close(writing)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return child, reading


def _alone() -> bool:
    """Whether this is the only thread; what is about to end is waited for."""
    others = [
        thread for thread in threading.enumerate() if thread is not threading.current_thread()
    ]
    for thread in others:
        thread.join(ENDS_WITHIN_S)
    return not any(thread.is_alive() for thread in others)


def _work(work: Callable[[], object], writing: int, parent: int) -> NoReturn:
    """Write what some work returns to a pipe, and end; the exit status says whether it is all there."""
    status = _FAILED
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            content = pickle.dumps(work())
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(content)
            status = _DONE
    finally:
        os._exit(status)

"""Work that a copy of the process does."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from fairc.runtime.report.aside import aside


@pytest.fixture(autouse=True)
def free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have two cores, and no threads of the test runner's."""
    ours = threading.current_thread()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(threading, "enumerate", lambda: [ours])


def no_child_is_left() -> bool:
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    return True


def test_another_process_does_it_and_more_than_a_pipe_holds_comes_back() -> None:
    with aside(lambda: (os.getpid(), bytes(1 << 20))) as answer:
        process, content = answer()
    assert process != os.getpid()
    assert content == bytes(1 << 20)
    assert no_child_is_left()


def test_without_a_second_core_it_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with aside(os.getpid) as answer:
        assert answer() == os.getpid()


def test_beside_another_thread_it_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    monkeypatch.setattr(threading, "enumerate", lambda: [threading.current_thread(), thread])
    try:
        with aside(os.getpid) as answer:
            assert answer() == os.getpid()
    finally:
        over.set()
        thread.join()


def test_where_the_copy_dies_it_is_done_here() -> None:
    here = os.getpid()

    def work() -> int:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    with aside(work) as answer:
        assert answer() == here
    assert no_child_is_left()


def test_its_error_is_raised_here() -> None:
    def work() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"), aside(work) as answer:
        answer()
    assert no_child_is_left()


def test_an_interruption_ends_the_copy() -> None:
    def forever() -> None:
        signal.pause()

    with pytest.raises(KeyboardInterrupt), aside(forever):
        raise KeyboardInterrupt
    assert no_child_is_left()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())

"""Start a command that outlives neither fairc nor a deadline, and can always be found again.

A pipe is the leash: the command's watcher sees it close when fairc ends, even by SIGKILL.
PR_SET_PDEATHSIG alone would not do: it fires when the *thread* that started the child ends, and
reaches only the child, not what the child has started.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

MARK = "FAIRC_RUN"
_MARK = re.compile(r"([0-9]{1,20}):([0-9]{1,20}):(.*)", re.ASCII | re.DOTALL)
WATCHER = Path(__file__).with_name("watcher.py")

Stream = int | IO[bytes] | None


class Child(subprocess.Popen[bytes]):
    """A supervised command; `returncode` is the command's, 128 + n when signal n ended it.

    `kill` and `terminate` end its whole process group, at once or after the grace period it was
    given.
    """

    def __init__(self, argv: Sequence[str], leash: int, **options: object) -> None:
        self._leash, self._once = leash, threading.Lock()
        super().__init__(argv, **options)  # type: ignore[call-overload]  # only `start` calls this

    @property
    def timed_out(self) -> bool:
        """Whether the deadline ended it."""
        return self.returncode == -signal.SIGALRM

    def kill(self) -> None:
        """End the command and its process group; does not wait."""
        self._release()

    terminate = kill

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end. Raises subprocess.TimeoutExpired, leaving the command running."""
        status = super().wait(timeout)
        self._release()
        return status

    def _release(self) -> None:
        with self._once:  # another thread may end it too
            leash, self._leash = self._leash, -1
        if leash >= 0:
            os.close(leash)

    def __exit__(self, *error: object) -> None:
        self.kill()
        super().__exit__(None, None, None)


def start(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    stdin: Stream = subprocess.DEVNULL,
    stdout: Stream = None,
    stderr: Stream = None,
    env: Mapping[str, str] | None = None,
    deadline_s: float | None = None,
    grace_s: float = 0.0,
    pass_fds: tuple[int, ...] = (),
    core: int | None = None,
    limits: Mapping[int, int] | None = None,
) -> Child:
    """Start a command in a process group of its own.

    argv: the command; its first word is looked up in PATH.
    env: the whole environment (default: this process's); the mark is added.
    deadline_s: wall seconds after which the group is ended, > 0.
    grace_s: if > 0, it is asked to end (SIGTERM) and killed this much later; for commands that
    clean up (mounts).
    pass_fds: open files that it inherits under their numbers.
    core: where it runs; None: anywhere.
    limits: its resource limits, soft and hard, by their numbers (setrlimit(2)).
    Raises FileNotFoundError if there is no such command.
    """
    program = shutil.which(argv[0])
    if program is None:
        raise FileNotFoundError(f"no command is called '{argv[0]}'")
    reading, writing = os.pipe()
    try:
        return Child(
            [
                *(sys.executable, "-I", "-S", str(WATCHER)),
                *(str(reading), str(-1 if deadline_s is None else deadline_s), str(grace_s)),
                *(str(-1 if core is None else core), _listed(limits or {})),
                *(str(Path(program).absolute()), *argv[1:]),
            ],
            leash=writing,
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={**(os.environ if env is None else env), MARK: mark()},
            pass_fds=(reading, *pass_fds),
            start_new_session=True,  # a Ctrl-C at the terminal is fairc's to handle
        )
    except BaseException:
        os.close(writing)
        raise
    finally:
        os.close(reading)


def _listed(limits: Mapping[int, int]) -> str:
    return ",".join(f"{number}={most}" for number, most in limits.items())


class Group:
    """Commands for which several threads wait, and which another thread can end together."""

    def __init__(self) -> None:
        self._running: set[Child] = set()
        self._over = False
        self._lock = threading.Lock()

    @contextmanager
    def start(self, argv: Sequence[str], **options: Any) -> Iterator[Child]:
        """Start a command as `start` does; when the block is left, it is ended and waited for."""
        with start(argv, **options) as process:
            with self._lock:
                self._running.add(process)
                over = self._over
            if over:
                process.kill()
            try:
                yield process
            finally:
                with self._lock:
                    self._running.discard(process)

    def end(self) -> None:
        """End all that run, and all that are started later, at once; does not wait."""
        with self._lock:
            self._over = True
            for process in self._running:
                process.kill()


def mark() -> str:
    """Return the mark that this run writes into the environment of all it starts:
    `PID:START:NAMESPACE`.

    START is in clock ticks after boot (proc(5), field 22), so a reused PID is not mistaken for its
    predecessor; NAMESPACE is the PID namespace in which the PID is valid, a different one in each
    container.
    """
    return f"{os.getpid()}:{started(os.getpid())}:{namespace()}"


def namespace() -> int:
    """Return what identifies this PID namespace."""
    return Path("/proc/self/ns/pid").stat().st_ino


def temporary_prefix(kind: str) -> str:
    """Return the prefix of a temporary folder's name, which tells `fairc clean` whose it is.

    kind: lower-case letters.
    """
    return f"fairc-{kind}-{mark().replace(':', '-')}-"


def owner_runs(mark: str) -> bool:
    """Return whether the process that a mark names still runs; True if that cannot be determined
    here.
    """
    found = _MARK.fullmatch(mark)  # of the environment of anybody's process, where root looks
    if found is None or found[3] != str(namespace()):
        return True
    return started(int(found[1])) == int(found[2])


def started(pid: int) -> int | None:
    """Return when a process was started, in clock ticks after boot; None if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])

"""A fairc with folders of its own: what it says, how it ends, and what it may not do."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fairc.dsl.core.cache import cache_directory
from fairc.runtime.host import bounds

from . import inspection, tree
from .fault import Problem, require

LIMIT_S = 120.0
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
POLL_S = 0.005
PASSED = ("FAIRC_ENDPOINTS", "DOCKER_HOST")
STOPPING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
# Each is known, and says what it means (docs/run/cli.md).
STATUSES = (0, 1, 2, 3, 130)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: status (-n: by signal n; None: it hung and was killed), output, wall
    time.
    """

    status: int | None
    out: str
    err: str
    seconds: float

    @property
    def last(self) -> str:
        """The last line of standard error."""
        lines = self.err.strip().splitlines()
        return lines[-1][:200] if lines else ""

    def require(self, *allowed: int) -> Ended:
        """Raise Problem for what no command may do, whatever it is given; allowed: statuses."""
        text = self.out + self.err
        require(self.status is not None, f"hangs: more than {self.seconds:.0f} s; {self.last}")
        if self.status == 70 or "internal error" in text:
            said = next((x for x in text.splitlines() if "internal error" in x), "")
            raise Problem(f"internal error: {said.partition(';')[0]}")
        broken = "Traceback" in text or "Exception ignored" in text
        require(not broken, f"traceback: {self.last}")
        if found := CONTROL.search(text):
            raise Problem(f"the control character {found[0]!r} reaches the terminal")
        require(self.status in (allowed or STATUSES), f"status {self.status}: {self.last}")
        require(self.status != 2 or self.err.strip(), "status 2 without a word")
        return self


class Running:
    """A command that has been started; its output is in files."""

    def __init__(self, pid: int, folder: Path, reap: Callable[[bool], int | None]) -> None:
        self.pid = pid
        self._folder = folder
        self._reap = reap
        self._started = time.monotonic()

    def poll(self) -> bool:
        """Whether it has ended."""
        return self._reap(False) is not None

    def send(self, number: int) -> None:
        """Send it a signal, if it is still there."""
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return

    def wait(self, limit_s: float = LIMIT_S) -> Ended:
        """Wait for its end; kill it when that does not come.

        A host that has no time for it is no hang: beyond the limit it may go on while it and what
        it has started compute, up to so much processor time.
        """
        looked = progress = time.monotonic()
        end, cpu_s = looked + limit_s, 0.0
        while not self.poll():
            now = time.monotonic()
            if now > looked + 1.0 or now > end > looked:
                looked, before = now, cpu_s
                cpu_s = bounds.processor_s(bounds.family(self.pid))
                progress = now if cpu_s > before else progress
            if now > end and (cpu_s > limit_s or now > progress + max(1.0, limit_s / 4)):
                self.send(signal.SIGKILL)
                self._reap(True)
                return self._ended(None)
            time.sleep(POLL_S)
        return self._ended(self._reap(False))

    def _ended(self, status: int | None) -> Ended:
        out, err = (
            (self._folder / name).read_text(encoding="utf-8", errors="replace")
            for name in ("out", "err")
        )
        return Ended(status, out, err, time.monotonic() - self._started)


class Sandbox:
    """Folders in which fairc runs, below one that is empty.

    work: its working directory. cache: that of images; a name for the real one unless it is made.
    Processes that were there before it are not its own, such as another test's Docker.
    """

    def __init__(self, folder: Path, engine: str = "fake") -> None:
        self.folder = folder
        self.engine = engine
        self.work, self.tmp, self.state, self.said = (
            folder / name for name in ("work", "tmp", "state", "said")
        )
        for path in (self.work, self.tmp, self.state, self.said):
            path.mkdir()
        self.cache = cache_directory().parent
        self._before = frozenset(tree.descendants())

    def environment(self, **more: str | None) -> dict[str, str]:
        """Return the environment of a command; None takes a variable away."""
        base = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.state),
            "TMPDIR": str(self.tmp),
            "XDG_STATE_HOME": str(self.state),
            "XDG_CACHE_HOME": str(self.cache),
            "FAIRC_ENGINE": self.engine,
            "OPENBLAS_NUM_THREADS": "1",
            "LANG": "C.UTF-8",
            "MPLCONFIGDIR": fonts(),
            **{name: os.environ[name] for name in PASSED if name in os.environ},
            **more,
        }
        return {name: value for name, value in base.items() if value is not None}

    def start(
        self,
        *arguments: str | Path,
        env: Mapping[str, str | None] | None = None,
        wrap: Sequence[str] = (),
        limits: Mapping[int, int] | None = None,
        cwd: Path | None = None,
    ) -> Running:
        """Start `python -m fairc`.

        wrap: the words of a command before it. limits: soft and hard limits of setrlimit(2).
        """
        fairc = (sys.executable, "-m", "fairc", *map(str, arguments))
        return self.start_other(wrap, fairc, env=env, limits=limits, cwd=cwd)

    def start_other(
        self,
        wrap: Sequence[str],
        command: Sequence[str],
        env: Mapping[str, str | None] | None = None,
        limits: Mapping[int, int] | None = None,
        cwd: Path | None = None,
    ) -> Running:
        """Start a command in the sandbox."""
        parent = os.getpid()

        def prepare() -> None:
            tree.die_with_parent()
            if os.getppid() != parent:
                os._exit(1)
            for name, value in (limits or {}).items():
                resource.setrlimit(name, (value, value))

        with (self.said / "out").open("wb") as out, (self.said / "err").open("wb") as err:
            process = subprocess.Popen(
                [*wrap, *command],
                cwd=cwd or self.work,
                env=self.environment(**(env or {})),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=prepare,  # noqa: PLW1509  this process has one thread
            )
        return Running(
            process.pid, self.said, lambda wait: process.wait() if wait else process.poll()
        )

    def fork(
        self,
        *arguments: str | Path,
        env: Mapping[str, str | None] | None = None,
        patch: Callable[[], None] | None = None,
    ) -> Running:
        """Run the command line in a copy of this process, which saves what Python takes to start.

        patch: called in the copy first.
        """
        for name in ("out", "err"):
            (self.said / name).write_bytes(b"")
        # The campaign's own handlers must not answer for fairc.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # until fairc hears of it
            for number in STOPPING - {signal.SIGINT}:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            try:
                tree.die_with_parent()
                os.setsid()
                self._become(arguments, self.environment(**(env or {})), patch)
            finally:
                os._exit(99)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        status: list[int] = []

        def reap(wait: bool) -> int | None:
            if not status:
                ended, how = os.waitpid(pid, 0 if wait else os.WNOHANG)
                if ended:
                    status.append(os.waitstatus_to_exitcode(how))
            return status[0] if status else None

        return Running(pid, self.said, reap)

    def _become(
        self,
        arguments: Sequence[str | Path],
        env: Mapping[str, str],
        patch: Callable[[], None] | None,
    ) -> None:
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(self.said / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.environ.clear()
        os.environ.update(env)
        tempfile.tempdir = None
        os.chdir(self.work)
        sys.argv = ["fairc", *map(str, arguments)]
        from fairc.__main__ import main

        status: object = 0
        try:
            if patch is not None:
                patch()
            main()
        except SystemExit as end:
            status = end.code
        except BaseException:  # noqa: BLE001  what an interpreter would print
            import traceback

            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 0 if status is None else 1)

    def call(self, *arguments: str | Path, **options: object) -> Ended:
        """Run a command to its end, in a copy of this process."""
        return self.fork(*arguments, **options).wait()  # type: ignore[arg-type]

    def spec(self, text: str, name: str = "tiny.fexp") -> Path:
        """Write a spec into the working directory."""
        path = self.work / name
        path.write_text(text, encoding="utf-8")
        return path

    def require_nothing_left(self) -> None:
        """Raise Problem for processes and temporary files that stay; they have a little time."""
        require_no_process(but=self._before)
        found = sorted(p.name for p in self.tmp.iterdir() if p.name.startswith("fairc"))
        require(not found, f"temporary files are left: {found[:1]}")

    def require_results(self, known: Mapping[str, str], run: str = "out") -> None:
        """Raise Problem unless a run has the cells of an undisturbed one: cell -> hash."""
        require(inspection.hashes(self.work / run) == known, "other results")


def require_no_process(seconds: float = tree.GONE_S, but: Collection[int] = ()) -> None:
    """Raise Problem for a process that descends from this one after so many seconds, other than
    these.
    """
    found = tree.left(seconds, but)
    require(not found, f"processes are left: {', '.join(sorted(set(found.values())))}")


@cache
def fonts() -> str:
    """Return where matplotlib keeps its list of fonts, which takes seconds to make."""
    import matplotlib

    return matplotlib.get_configdir()


def preload() -> None:
    """Import what a command needs, so that copies of this process have it."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import duckdb  # noqa: F401
    import scipy.stats  # noqa: F401

    import fairc.__main__
    import fairc.cli.conclusion
    import fairc.runtime.report
    import fairc.runtime.run.cluster
    import fairc.runtime.run.collection
    import fairc.runtime.run.phase
    import fairc.runtime.run.sweep
    import fairc.runtime.store.folder  # noqa: F401
    import fairc_fake.engine  # noqa: F401


def no_report() -> None:
    """Write no report: that takes long, and is tried by those who look at it."""
    from fairc.runtime.report import build as of_report

    def build(path: Path, formats: object = (), **others: object) -> list[Path]:
        return [path / "report.html"]

    of_report.build = build  # type: ignore[assignment]

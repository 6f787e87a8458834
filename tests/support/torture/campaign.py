"""Share the time between kinds of fault, slice by slice, and keep the record."""

from __future__ import annotations

import datetime
import gc
import multiprocessing
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from . import tree
from .fault import Fault, Outcome
from .faults import FAULTS
from .record import Record, Slice, kind_of

if TYPE_CHECKING:
    from multiprocessing.pool import Pool

ROOT = Path(__file__).parent.parent.parent.parent
SLICE_S = 20.0
MOST_IN_A_SLICE = 20_000


def version() -> str:
    """Return the commit that is tried; `+` follows where files differ from it."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    others = [
        line
        for line in changed.splitlines()
        if "tests/torture/" not in line and "docs/trust/reliability.md" not in line
    ]
    return (git("rev-parse", "--short=8", "HEAD") or "unknown") + ("+" if others else "")


def today() -> str:
    """Return the date, UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def job(job: tuple[str, int, int]) -> tuple[int, Outcome]:
    """Try, in a worker: (name, seed, number) -> number and outcome."""
    name, seed, number = job
    return number, FAULTS[name].attempt(seed, number)


def _begin(parent: int) -> None:
    """Prepare a worker: Ctrl-C is the campaign's, orphans are ours, and we end with the
    campaign.
    """
    signal.signal(signal.SIGINT, lambda *_: None)  # not SIG_IGN: what is started would inherit it
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(
        signal.SIGHUP, signal.SIG_DFL
    )  # nohup has it ignored, and what is started would, too
    tree.adopt_orphans()
    tree.die_with_parent()
    gc.freeze()  # what is imported stays: looking at it again and again is a quarter of a short try
    if os.getppid() != parent:
        os._exit(1)


def _leave(*_: object) -> None:
    raise SystemExit(143)


@contextmanager
def workers(jobs: int) -> Iterator[Pool]:
    """Have processes that try."""
    context = multiprocessing.get_context("fork")
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = folder
        try:
            with context.Pool(jobs, _begin, (os.getpid(),)) as pool:
                yield pool
        finally:
            tempfile.tempdir = before


class Campaign:
    """A campaign: kinds of fault, a record to which it adds, a seed, and how many tries at once."""

    def __init__(self, faults: Sequence[Fault], record: Record, seed: int, jobs: int) -> None:
        self.faults = [each for each in faults if not each.lacking()]
        self.left_out = {each.name: why for each in faults if (why := each.lacking())}
        self.record = record
        self.seed = seed
        self.jobs = jobs
        self.version, self.date = version(), today()
        self.tries = self.problems = 0
        self._spent = dict.fromkeys((each.name for each in self.faults), 0.0)
        self._rate = dict.fromkeys(self._spent, 0.0)  # tries/s

    def run(self, seconds: float, pool: Pool) -> None:
        """Try until the time is over; a Ctrl-C keeps what has been tried.

        Raises KeyboardInterrupt.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.faults:
            fault = min(self.faults, key=lambda each: self._spent[each.name] / each.weight)
            self.slice(fault, pool, min(SLICE_S, max(1.0, end - time.monotonic())))

    def slice(self, fault: Fault, pool: Pool, seconds: float, most: int = 0) -> Slice:
        """Try one kind for some time, or `most` times; record it and return it."""
        number = self.record.next(fault.name, self.seed)
        size = most or round(self._rate[fault.name] * seconds)
        size = max(self.jobs, min(size, MOST_IN_A_SLICE))
        jobs = ((fault.name, self.seed, n) for n in range(number, number + size))
        done, started = Slice(number, number), time.monotonic()
        chunk = max(1, min(200, size // (8 * self.jobs)))
        try:
            for n, outcome in pool.imap(job, jobs, chunk):
                done.add(n, outcome.ending, outcome.problem)
                if outcome.problem and done.problems[kind_of(outcome.problem)][1] == 1:
                    print(f"\r{fault.name} {n} of seed {self.seed}: {outcome.problem}", flush=True)
        finally:
            done.seconds = time.monotonic() - started
            if done.end > done.start:
                self._count(fault, done)
        return done

    def _count(self, fault: Fault, done: Slice) -> None:
        self.record.add(self.date, self.version, fault.name, self.seed, done)
        tries = done.end - done.start
        self._spent[fault.name] += done.seconds
        self._rate[fault.name] = tries / max(done.seconds, 1e-3)
        self.tries += tries
        self.problems += sum(found[1] for found in done.problems.values())
        count = self.record.count(fault.name)
        print(
            f"{fault.name:<20}{tries:>7} more in {done.seconds:5.1f} s, {count:>9,} on record;"
            f" this time {self.tries:,} tries, {self.problems} with a problem",
            flush=True,
        )

    def again(self, pool: Pool, seconds: float) -> None:
        """Try what has been found before, as long as there is time for it."""
        end = time.monotonic() + seconds
        known = {each.name for each in self.faults}
        for name, seed, number, _ in list(self.record.open()):
            if name in known and time.monotonic() < end:
                _, outcome = pool.apply(job, ((name, seed, number),))
                told = (outcome.ending, outcome.problem)
                self.record.again(self.date, self.version, name, seed, number, *told)
                print(f"again: {name} {number} of seed {seed}: {outcome.problem or 'no problem'}")


def remove_leftovers() -> None:
    """Remove the folders of tries whose campaign was killed."""
    for path in Path(tempfile.gettempdir()).glob("torture-*"):
        if path.is_dir() and path.stat().st_mtime < time.time() - 3600:
            shutil.rmtree(path, ignore_errors=True)

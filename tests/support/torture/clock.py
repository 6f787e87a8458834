"""The host's clock jumps while cells run: only `CLOCK_REALTIME`, as when NTP or a person sets it.

A library that is loaded before the C library answers for it; the machine's own clock is left alone.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

from . import inspection, network
from .kills import CASES, LIMIT_S, lacks, reference
from .sandbox import Sandbox, preload
from .strategy import Outcome, Strategy, dice

SOURCE = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long jump(void) {  /* s, once CLOCK_MONOTONIC has come to JUMP_AT_MS */
    const char *at = getenv("JUMP_AT_MS"), *by = getenv("JUMP_BY_S");
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return at && by && now.tv_sec * 1000LL + now.tv_nsec / 1000000 >= atoll(at) ? atoll(by) : 0;
}

int clock_gettime(clockid_t which, struct timespec *found) {
    int status = syscall(SYS_clock_gettime, which, found);
    if (status == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
        found->tv_sec += jump();
    return status;
}

int gettimeofday(struct timeval *found, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    found->tv_sec = now.tv_sec;
    found->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *found) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}
"""
HOUR_S, YEAR_S = 3600, 365 * 86_400
JUMPS_S = (1, -1, HOUR_S, -HOUR_S, 14 * YEAR_S, -14 * YEAR_S, -60 * YEAR_S)
ENGINES = ("fake", "uml", "mininet")


@cache
def library() -> Path:
    """Compile the library; its folder stays until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    (folder / "jump.c").write_text(SOURCE)
    made = folder / "jump.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, folder / "jump.c"], check=True)
    return made


def jumped(seed: int, number: int, folder: Path) -> Outcome:
    """Run while the clock jumps: the hashes of an undisturbed run, or whole cells in real time."""
    preload()
    rng = dice(seed, number, "resources.clock")
    engine = rng.choice([name for name in ENGINES if not lacks(name)])
    known, case = reference(engine), CASES[engine]
    sandbox = Sandbox(folder, engine)
    network.write(case.spec, sandbox.work)
    by_s = rng.choice(JUMPS_S)
    at_s = rng.uniform(0.0, sum(known.lasted.values()))
    env = {
        **case.env,
        "LD_PRELOAD": str(library()),
        "JUMP_AT_MS": str(round(1000 * (time.monotonic() + at_s))),
        "JUMP_BY_S": str(by_s),
    }
    ended = sandbox.start(*case.command, env=env).wait(LIMIT_S)
    # In real time a busy host makes cells invalid, with or without a jump.
    problem = ended.problem(0, *((1,) if engine == "mininet" else ())) or sandbox.leftovers()
    found = inspection.hashes(sandbox.work / "out")
    if not problem and (found.keys() if engine == "mininet" else found) != (
        known.hashes.keys() if engine == "mininet" else known.hashes
    ):
        problem = "other results"
    problem = problem or inspection.half_written(sandbox.work / "out")
    ending = f"{engine}, {'forward' if by_s > 0 else 'back'}"
    return Outcome(ending, problem and f"{ending}: {problem} ({by_s} s after {at_s:.1f} s)")


def lacking() -> str:
    """Return what this machine lacks."""
    return "" if shutil.which("cc") else "cc"


STRATEGIES = (
    Strategy(
        "resources.clock",
        "the host's clock jumps by a second, an hour or years, forward or back, at any moment"
        " of a run on fake, uml or mininet:"
        " the hashes of an undisturbed run (mininet: whole cells)",
        jumped,
        lacking=lacking,
        weight=0.7,
        short=0,
        wanted=300,
    ),
)

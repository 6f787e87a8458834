"""Machines that lack something: room, memory, files, rights, a home; then the same command without
the lack.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from torture import inspection, network
from torture.fault import Try, fault, require, stage
from torture.sandbox import Ended, Sandbox, no_report, preload

from . import archives
from .kills import CASES, LIMIT_S, Case, Reference, lacks, reference

# In a mount namespace of its own: $1 the folder, $2 what becomes small, $3 how small it is, KiB.
FULL = """mount --make-rprivate /
folder="$1"; small="$2"; size="$3"; shift 3
cp -a "$small" "$folder/before" 2>/dev/null
mount -t tmpfs -o "size=${size}k,mode=755" torture "$small" || exit 99
cp -a "$folder/before/." "$small" 2>/dev/null
cd "$folder/work"
"$@" > "$folder/said/out1" 2> "$folder/said/err1"; echo $? > "$folder/said/status1"
mount -o remount,size=1g "$small"
"$@" > "$folder/said/out2" 2> "$folder/said/err2"; echo $? > "$folder/said/status2"
cp -a "$folder/work" "$folder/kept"
ls "$folder/tmp" > "$folder/said/tmp"
"""
# The same over an overlay of the whole file system, as another user or without the right to write
# anywhere.
OTHER = """mount --make-rprivate /
folder="$1"; how="$2"; number="$3"; shift 3
mkdir "$folder/over"; mount -t tmpfs torture "$folder/over"
mkdir "$folder/over/up" "$folder/over/work" "$folder/over/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/over/up,workdir=$folder/over/work" "$folder/over/root" || exit 99
root="$folder/over/root"
mount --rbind /proc "$root/proc"; mount --rbind /dev "$root/dev"; mount --rbind /sys "$root/sys"
user=""
case "$how" in
  "another user"|"few processes") chmod 755 "$root/root"; chown -R 65534:65534 "$root$folder"
    part="$folder"; while [ "$part" != / ]; do chmod a+rx "$root$part"; part="$(dirname "$part")"; done
    user="setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all"
    [ "$how" = "another user" ] || user="prlimit --nproc=$number $user";;
  "no /dev/shm") mount -t tmpfs -o ro,size=4k torture "$root/dev/shm";;
  "read-only but for the run") mount --bind "$root$folder/work" "$root$folder/work"; mount --bind "$root$folder/tmp" "$root$folder/tmp"
    mount -o remount,ro,bind "$root";;
  "read-only") mount -o remount,ro "$root";;
esac
chroot "$root" $user sh -c 'cd "$0" && exec "$@"' "$folder/work" "$@" > "$folder/said/out1" 2> "$folder/said/err1"
echo $? > "$folder/said/status1"
cp -a "$folder/over/up$folder/work" "$folder/kept" 2>/dev/null
exit 0
"""
# The status that each may end with.
OTHERS: Mapping[str, tuple[int, ...]] = {
    "another user": (0,),
    "few processes": (0, 3),  # threads count, too
    "no /dev/shm": (0,),
    "read-only but for the run": (0,),
    "read-only": (2, 3),
}
NAMES = (
    "a b",
    "übung 測試",
    "a\nb",
    "a'b\"c",
    "$(touch x)",
    "-rf",
    "a;b&c|d",
    "{{x}}",
    "%s%n",
    "#",
    "x" * 200,
    "a\\b",
    "*",
    "~",
    "\x1b[2J",
    "a:b,c=d",
    "\udcff",
)
LIMITS = {
    "files": (resource.RLIMIT_NOFILE, 8, 200),
    "memory": (resource.RLIMIT_AS, 300 << 20, 4 << 30),
    "file size": (resource.RLIMIT_FSIZE, 1, 4 << 20),
    "stack": (resource.RLIMIT_STACK, 256 << 10, 8 << 20),
    "locked memory": (resource.RLIMIT_MEMLOCK, 1, 64 << 10),
}


def _said(sandbox: Sandbox, number: int) -> Ended:
    """Return how one of the commands of a script ended."""
    out, err = (
        (sandbox.said / f"{name}{number}").read_text(errors="replace") for name in ("out", "err")
    )
    status = int((sandbox.said / f"status{number}").read_text())
    return Ended(128 - status if status > 130 else status, out, err, 0.0)


def _begun(one: Try, engine: str) -> tuple[Sandbox, Reference, Case]:
    """Return a sandbox with a spec, its undisturbed run, and its command."""
    preload()
    known, case, sandbox = reference(engine), CASES[engine], Sandbox(one.folder, engine)
    network.write(case.spec, sandbox.work)
    return sandbox, known, case


def _engine(one: Try) -> str:
    return one.rng.choice(["fake", "fake", "uml"]) if not lacks("uml") else "fake"


def _mounts() -> str:
    """Return what this machine lacks for namespaces and file systems of our own."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return "root"
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "torture", "/mnt"]
    done = subprocess.run(command, capture_output=True, check=False)
    return "" if done.returncode == 0 else "the right to mount"


def full(what: str, one: Try) -> str:
    """Run where a file system is full at one moment or another; then where it has room."""
    folder = one.folder
    sandbox, known, case = _begun(one, "uml" if what == "tmp" else "fake")
    command, small = case.command, sandbox.tmp if what == "tmp" else sandbox.work
    if what == "cache":
        sandbox.cache = small = folder / "cache"
        small.mkdir()
        content = archives.whole(one.rng, folder, one.rng.randint(1, 2 << 20))
        (sandbox.work / "file").write_bytes(content)
        command = ("image", "load", "file", "--trust")
    most = {"run": 1500, "tmp": 30_000, "cache": 3000}[what]
    size = round(4 * (most / 4) ** one.rng.random())
    one.what = f"{size} KiB"
    fairc = (sys.executable, "-m", "fairc", *command)
    done = sandbox.start_other(
        ("unshare", "--mount", "sh", "-c", FULL, "sh"), (str(folder), str(small), str(size), *fairc)
    ).wait(240)
    require(done.status is not None, "hangs")
    first, second = _said(sandbox, 1), _said(sandbox, 2)
    first.require(0, 3, 2)
    require(first.status != 2 or "No space" in first.err, f"status 2: {first.last}")
    with stage("with room"):
        second.require(0)
        if what != "cache":
            run = folder / "kept" / "out"
            require(inspection.hashes(run) == known.hashes, "other results")
            inspection.require_whole(run)
    left = [x for x in (sandbox.said / "tmp").read_text().split() if x.startswith("fairc")]
    require(not left, f"temporary files are left: {left[:1]}")
    return "there was room" if first.status == 0 else "reported"


for _what, _short, _weight in (("run", 2, 0.7), ("tmp", 0, 0.5), ("cache", 2, 0.5)):

    @fault(
        f"resources.full-{_what}",
        lacking=lambda: _mounts() or lacks("uml"),
        weight=_weight,
        short=_short,
        wanted=500,
    )
    def attempt(one: Try, what: str = _what) -> str:
        """Put the run folder (fake), TMPDIR (uml) or the cache of images (`image load`) on a file
        system of a random, small size: reported (exit status 3); then the same command with more
        room: the hashes of an undisturbed run, nothing left.
        """
        return full(what, one)


@fault("resources.limits", wanted=500)
def limits(one: Try) -> str:
    """Limit open files, memory, file size, stack or locked memory, on fake and uml: reported (exit
    status 3) or enough; then without the limit: the hashes of an undisturbed run.
    """
    sandbox, known, case = _begun(one, _engine(one))
    name = one.rng.choice([*LIMITS])
    limit, least, most = LIMITS[name]
    value = round(least * (most / least) ** one.rng.random())
    one.what = f"{name} {value}, {sandbox.engine}"
    first = sandbox.start(*case.command, limits={limit: value}).wait()
    early = "in <module>" in first.err and "fairc/cli" not in first.err
    if "Traceback" in first.err and early:
        return f"{name}: Python does not start"
    first.require(0, 3)
    with stage("without the limit"):
        sandbox.call(*case.command, patch=no_report).require(0)
        sandbox.require_nothing_left()
        sandbox.require_results(known.hashes)
    return f"{name}: enough" if first.status == 0 else f"{name}: reported"


@fault("resources.others", lacking=_mounts, weight=0.5, wanted=200)
def others(one: Try) -> str:
    """Run on fake and uml as another user, with few processes, without /dev/shm, read-only but for
    the run, or read-only: the same hashes, or reported.
    """
    how = [*OTHERS][one.number % len(OTHERS)]
    sandbox, known, case = _begun(one, _engine(one))
    one.what = f"{how}, {sandbox.engine}"
    fairc = (sys.executable, "-m", "fairc", *case.command)
    done = sandbox.start_other(
        ("unshare", "--mount", "sh", "-c", OTHER, "sh"),
        (str(one.folder), how, str(one.rng.randint(1, 40)), *fairc),
    ).wait(240)
    require(done.status == 0, f"hangs, or the script fails: {done.last}")
    first = _said(sandbox, 1).require(*OTHERS[how])
    if first.status == 0:
        found = inspection.hashes(one.folder / "kept" / "out")
        require(found == known.hashes, "other results")
    return f"{how}: {first.status}"


VARIABLES = [
    "HOME",
    "TMPDIR",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "MPLCONFIGDIR",
    "PATH",
    "LANG",
    "TERM",
    "COLUMNS",
]


@fault("resources.environment", weight=0.5, short=2, wanted=500)
def homeless(one: Try) -> str:
    """Run with HOME, TMPDIR, PATH, ... unset, empty, a file, or a path that does not exist: the
    same hashes.
    """
    sandbox, known, case = _begun(one, "fake")
    (one.folder / "file").write_text("no folder")
    places = ["/nonexistent/x", "/proc/nowhere", str(one.folder / "file"), "relative", "/dev/null"]
    names = one.rng.sample(VARIABLES, one.rng.choice([1, 1, 2, 4]))
    env = {name: one.rng.choice([None, "", *places]) for name in names}
    one.what = str(env)
    sandbox.start(*case.command, env=env).wait().require(0)
    sandbox.require_results(known.hashes)
    return "run"


@fault("resources.paths", weight=0.5, short=2, wanted=500)
def paths(one: Try) -> str:
    """Use spaces, quotes, line breaks, escapes and shell metacharacters in the names of folders,
    run and spec: the same hashes, no other file appears, no control character reaches the terminal.
    """
    preload()
    rng, folder, engine = one.rng, one.folder, _engine(one)
    known, case = reference(engine), CASES[engine]
    sandbox = Sandbox(folder, engine)
    place = sandbox.work / rng.choice(NAMES)
    place.mkdir()
    spec = place / f"{rng.choice(NAMES)}.fexp"
    spec.write_text(network.SPECS[case.spec], encoding="utf-8")
    tmp = folder / rng.choice(NAMES)
    tmp.mkdir()
    out = rng.choice(
        [place / "out", place / rng.choice(NAMES), place / "a" / "b" / rng.choice(NAMES)]
    )
    one.what = ascii([spec.name, out.name, tmp.name, engine])
    ended = sandbox.start("run", "-o", out, "--", spec, cwd=place, env={"TMPDIR": str(tmp)}).wait()
    ended.require(0, 2)
    sandbox.require_nothing_left()
    if ended.status == 2:
        return "refused" if "\udcff" in f"{spec}{out}" else "refused: a name"
    require(inspection.hashes(out) == known.hashes, "other results")
    inspection.require_whole(out)
    own = {"work", "tmp", "state", "said", "cache", tmp.name}
    strange = sorted({p.name for p in folder.iterdir()} - own)
    require(not strange, f"{strange[:1]!a} appeared")
    return "run"


CLOCK = r"""
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


@cache
def _library() -> Path:
    """Compile a library that is loaded before the C library and answers for its clock; the
    machine's own is left alone.
    """
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    (folder / "jump.c").write_text(CLOCK)
    made = folder / "jump.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, folder / "jump.c"], check=True)
    return made


@fault(
    "resources.clock", lacking=lambda: "" if shutil.which("cc") else "cc", weight=0.7, wanted=300
)
def jumped(one: Try) -> str:
    """The host's clock jumps by a second, an hour or years, forward or back (CLOCK_REALTIME, as
    when NTP or a person sets it), at any moment of a run on fake, uml or mininet: the hashes of an
    undisturbed run (mininet: whole cells).
    """
    engine = one.rng.choice([name for name in ("fake", "uml", "mininet") if not lacks(name)])
    sandbox, known, case = _begun(one, engine)
    by_s = one.rng.choice(JUMPS_S)
    at_s = one.rng.uniform(0.0, sum(known.lasted.values()))
    env = {
        **case.env,
        "LD_PRELOAD": str(_library()),
        "JUMP_AT_MS": str(round(1000 * (time.monotonic() + at_s))),
        "JUMP_BY_S": str(by_s),
    }
    one.ending = f"{engine}, {'forward' if by_s > 0 else 'back'}"
    one.what = f"{one.ending}: {by_s} s after {at_s:.1f} s"
    # In real time a busy host makes cells invalid, with or without a jump.
    sandbox.start(*case.command, env=env).wait(LIMIT_S).require(0, *(1,) * (engine == "mininet"))
    sandbox.require_nothing_left()
    if engine == "mininet":
        found = inspection.hashes(sandbox.work / "out").keys()
        require(found == known.hashes.keys(), "cells are missing")
    else:
        sandbox.require_results(known.hashes)
    inspection.require_whole(sandbox.work / "out")
    return one.ending

"""Machines that lack something: room, memory, files, rights, a home; then the same command without
the lack.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from . import archives, inspection, network
from .kills import CASES, lacks, reference
from .sandbox import Ended, Sandbox, no_report, preload
from .strategy import Outcome, Strategy, dice

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


def full(what: str, seed: int, number: int, folder: Path) -> Outcome:
    """Run where a file system is full at one moment or another; then where it has room."""
    preload()
    engine = "uml" if what == "tmp" else "fake"
    known, case = reference(engine), CASES[engine]
    rng, sandbox = dice(seed, number, f"resources.full-{what}"), Sandbox(folder, engine)
    network.write(case.spec, sandbox.work)
    command, small = case.command, sandbox.tmp if what == "tmp" else sandbox.work
    if what == "cache":
        sandbox.cache = small = folder / "cache"
        small.mkdir()
        content = archives.whole(rng, folder, rng.randint(1, 2 << 20))
        (sandbox.work / "file").write_bytes(content)
        command = ("image", "load", "file", "--trust")
    most = {"run": 1500, "tmp": 30_000, "cache": 3000}[what]
    size = round(4 * (most / 4) ** rng.random())
    fairc = (sys.executable, "-m", "fairc", *command)
    done = sandbox.start_other(
        ("unshare", "--mount", "sh", "-c", FULL, "sh"), (str(folder), str(small), str(size), *fairc)
    ).wait(240)
    if done.status is None:
        return Outcome("problem", f"hangs with {size} KiB")
    first, second = _said(sandbox, 1), _said(sandbox, 2)
    problem = first.problem(0, 3, 2)
    if first.status == 2 and "No space" not in first.err:
        problem = problem or f"status 2: {first.last}"
    if not problem and (wrong := second.problem(0)):
        problem = f"with room: {wrong}"
    run = folder / "kept" / "out"
    if not problem and what != "cache":
        if inspection.hashes(run) != known.hashes:
            problem = "with room: other results"
        problem = problem or inspection.half_written(run)
    left = [x for x in (sandbox.said / "tmp").read_text().split() if x.startswith("fairc")]
    if not problem and left:
        problem = f"temporary files are left: {left[0]}"
    ending = "there was room" if first.status == 0 else "reported"
    return Outcome("problem" if problem else ending, problem and f"{problem} ({size} KiB)")


def limits(seed: int, number: int, folder: Path) -> Outcome:
    """Run under a limit of setrlimit(2), then without."""
    preload()
    rng = dice(seed, number, "resources.limits")
    engine = rng.choice(["fake", "fake", "uml"]) if not lacks("uml") else "fake"
    known, case = reference(engine), CASES[engine]
    sandbox = Sandbox(folder, engine)
    network.write(case.spec, sandbox.work)
    name = rng.choice([*LIMITS])
    limit, least, most = LIMITS[name]
    value = round(least * (most / least) ** rng.random())
    first = sandbox.start(*case.command, limits={limit: value}).wait()
    what = f"{name} {value}, {engine}"
    problem = first.problem(0, 3)
    if (
        problem
        and "Traceback" in first.err
        and "in <module>" in first.err
        and "fairc/cli" not in first.err
    ):
        return Outcome(f"{name}: Python does not start")
    if problem:
        return Outcome("problem", f"{problem} ({what})")
    second = sandbox.call(*case.command, patch=no_report)
    problem = second.problem(0) or sandbox.leftovers()
    if not problem and inspection.hashes(sandbox.work / "out") != known.hashes:
        problem = "other results"
    ending = f"{name}: enough" if first.status == 0 else f"{name}: reported"
    return Outcome(
        "problem" if problem else ending, problem and f"without the limit: {problem} ({what})"
    )


def others(seed: int, number: int, folder: Path) -> Outcome:
    """Run as another user, with few processes, without /dev/shm, or where nothing can be
    written.
    """
    preload()
    rng = dice(seed, number, "resources.others")
    how = [*OTHERS][number % len(OTHERS)]
    engine = rng.choice(["fake", "uml"]) if not lacks("uml") else "fake"
    known, case = reference(engine), CASES[engine]
    sandbox = Sandbox(folder, engine)
    network.write(case.spec, sandbox.work)
    fairc = (sys.executable, "-m", "fairc", *case.command)
    done = sandbox.start_other(
        ("unshare", "--mount", "sh", "-c", OTHER, "sh"),
        (str(folder), how, str(rng.randint(1, 40)), *fairc),
    ).wait(240)
    if done.status != 0:
        return Outcome("problem", f"{how}, {engine}: hangs, or the script fails: {done.last}")
    first = _said(sandbox, 1)
    problem = first.problem(*OTHERS[how])
    if (
        not problem
        and first.status == 0
        and inspection.hashes(folder / "kept" / "out") != known.hashes
    ):
        problem = "other results"
    return Outcome(
        "problem" if problem else f"{how}: {first.status}",
        problem and f"{how}, {engine}: {problem}",
    )


def homeless(seed: int, number: int, folder: Path) -> Outcome:
    """Run without, or with odd, variables of the environment and folders behind them."""
    preload()
    rng = dice(seed, number, "resources.environment")
    known, case = reference("fake"), CASES["fake"]
    sandbox = Sandbox(folder)
    network.write(case.spec, sandbox.work)
    (folder / "file").write_text("no folder")
    values = [
        None,
        "",
        "/nonexistent/x",
        "/proc/nowhere",
        str(folder / "file"),
        "relative",
        "/dev/null",
    ]
    names = [
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
    env = {name: rng.choice(values) for name in rng.sample(names, rng.choice([1, 1, 2, 4]))}
    ended = sandbox.start(*case.command, env=env).wait()
    problem = ended.problem(0)
    if not problem and inspection.hashes(sandbox.work / "out") != known.hashes:
        problem = "other results"
    return Outcome("problem" if problem else "run", problem and f"{problem} ({env})")


def paths(seed: int, number: int, folder: Path) -> Outcome:
    """Run with odd names of the working directory, the run, the spec and TMPDIR."""
    preload()
    rng = dice(seed, number, "resources.paths")
    engine = rng.choice(["fake", "fake", "uml"]) if not lacks("uml") else "fake"
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
    ended = sandbox.start("run", "-o", out, "--", spec, cwd=place, env={"TMPDIR": str(tmp)}).wait()
    what = ascii([spec.name, out.name, tmp.name, engine])
    problem = ended.problem(0, 2) or sandbox.leftovers()
    if not problem and ended.status == 2:
        return (
            Outcome("refused") if "\udcff" in str(spec) + str(out) else Outcome("refused: a name")
        )
    if not problem and inspection.hashes(out) != known.hashes:
        problem = "other results"
    if not problem and (more := inspection.half_written(out)):
        problem = more
    strange = sorted(p.name for p in folder.iterdir() if p.name not in OWN and p != tmp)
    if not problem and strange:
        problem = f"{strange[0]!a} appeared"
    return Outcome("problem" if problem else "run", problem and f"{problem} ({what})")


OWN = {"work", "tmp", "state", "said", "cache"}


@cache
def lacking() -> str:
    """Return what this machine lacks for namespaces and file systems of our own."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return "root"
    done = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "torture", "/mnt"],
        capture_output=True,
        check=False,
    )
    return "" if done.returncode == 0 else "the right to mount"


def _full(what: str, summary: str, short: int, weight: float) -> Strategy:
    def attempt(seed: int, number: int, folder: Path) -> Outcome:
        return full(what, seed, number, folder)

    return Strategy(
        f"resources.full-{what}",
        f"puts {summary} on a file system of a random, small size: reported (exit status 3);"
        f" then the same command with more room:"
        " the hashes of an undisturbed run, nothing left",
        attempt,
        lacking=lambda: lacking() or (lacks("uml") if what == "tmp" else ""),
        weight=weight,
        short=short,
        wanted=500,
    )


STRATEGIES = (
    _full("run", "the run folder (fake)", 2, 0.7),
    _full("tmp", "TMPDIR (uml)", 0, 0.5),
    _full("cache", "the cache of images (`image load`)", 2, 0.5),
    Strategy(
        "resources.limits",
        "limits open files, memory, file size, stack or locked memory, on fake and uml:"
        " reported (exit status 3) or"
        " enough; then without the limit: the hashes of an undisturbed run",
        limits,
        weight=1,
        short=0,
        wanted=500,
    ),
    Strategy(
        "resources.others",
        (
            f"runs on fake and uml under one of these conditions: {', '.join(OTHERS)}. The same"
            f" hashes, or reported"
        ),
        others,
        lacking=lacking,
        weight=0.5,
        short=0,
        wanted=200,
    ),
    Strategy(
        "resources.environment",
        (
            "runs with HOME, TMPDIR, PATH, ... unset, empty, a file, or a path that does not"
            " exist: the same hashes"
        ),
        homeless,
        weight=0.5,
        short=2,
        wanted=500,
    ),
    Strategy(
        "resources.paths",
        "uses spaces, quotes, line breaks, escapes and shell metacharacters in the names of"
        " folders, run and spec: the same"
        " hashes, no other file appears, no control character reaches the terminal",
        paths,
        weight=0.5,
        short=3,
        wanted=500,
    ),
)

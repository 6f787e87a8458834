"""Plans that are taken, run as root on Mininet: in namespaces of their own, where every write is
seen.

The whole file system is the lower part of an overlay, so whatever a program writes stands in the
upper part. Two network namespaces: the outer one is that of process 1, as the host's is, and
nothing may appear there; fairc has the inner one. The host's own interfaces are not looked at:
other programs of the machine change them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import hostile
from specs import compilation_of

from fairc.compiler.plan import cell_json, parse_cell
from torture import network
from torture.fault import Try, fault, require
from torture.sandbox import Running, Sandbox

from .documents import genuine
from .kills import lacks

TRIES = 400
# What Python, Mininet and fairc may leave: byte code, logs, what is theirs for as long as they run.
ALLOWED = ("/root/.cache/", "/var/lib/iproute2", "/run/netns", "/run/mount")
SCRIPT = """set -e
mount --make-rprivate /
mount -t tmpfs torture "$1/over"
mkdir "$1/over/up" "$1/over/work" "$1/over/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/over/up,workdir=$1/over/work" "$1/over/root"
mount -t proc proc "$1/over/root/proc"
mount --rbind /dev "$1/over/root/dev"
mount -t sysfs sysfs "$1/over/root/sys"
status=0
folder="$1"; shift
ip -o link > "$folder/said/outer"
unshare --net sh -c '
  ip link set lo up
  folder="$1"; shift; status=0
  chroot "$folder/over/root" sh -c "cd \"\\$0\" && exec \"\\$@\"" "$folder/work" "$@" || status=$?
  ip -o link > "$folder/said/links"
  exit $status' sh "$folder" "$@" || status=$?
ip -o link | cmp -s - "$folder/said/outer" || ip -o link > "$folder/said/appeared"
(cd "$folder/over/up" && find . \\( -type f -o -type l -o -type p -o -type c \\) -print0) > "$folder/said/written"
exit $status
"""

# The command line without the report, which takes longer than the cell.
PROGRAM = """import sys
sys.path.insert(0, {folder!r})
from torture.sandbox import no_report
no_report()
from fairc.__main__ import main
main()
"""


@cache
def documents() -> tuple[str, dict[str, object]]:
    """Return the header of a plan that this machine can run, for one cell, and the cell."""
    text = network.PAIR.replace("  repeat  = 2\n", "")
    compilation = compilation_of(text, "pair.fexp", "mininet")
    return compilation.plan.model_dump_json(), json.loads(cell_json(next(compilation.cells())))


def parameters() -> dict[str, str]:
    """Return what modules of CCAs have as parameters: they are the whole kernel's."""
    found = {}
    for path in Path("/sys/module").glob("tcp_*/parameters/*"):
        try:
            found[str(path)] = path.read_text()
        except OSError:
            continue
    return found


def start(sandbox: Sandbox, command: Sequence[str]) -> Running:
    """Start a command as root, in namespaces and over a file system where
    `require_no_effects` sees what it does.
    """
    folder = sandbox.folder
    (folder / "over").mkdir()
    (folder / "script").write_text(SCRIPT)
    return sandbox.start_other(
        ("unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child"),
        ("sh", str(folder / "script"), str(folder), *command),
    )


def _taken(text: str) -> bool:
    try:
        parse_cell(text)
    except ValueError:
        return False
    return True


def require_no_effects(folder: Path, before: dict[str, str]) -> None:
    """Raise Problem for what was changed outside of the run."""
    parameter = "a parameter of the kernel's modules was changed and not written back"
    require(parameters() == before, parameter)
    appeared = (folder / "said/appeared").exists()
    require(not appeared, "the network interfaces of process 1 are others")
    links = (folder / "said/links").read_text().splitlines()
    names = [line.split(": ")[1].partition("@")[0] for line in links]
    left = [name for name in names if not name.startswith(KERNEL_LINKS)]
    require(not left, f"the interface {left[:1]} is left")
    own = (f"{folder}/", *ALLOWED)
    for name in (folder / "said/written").read_bytes().decode(errors="replace").split("\0"):
        path = name.removeprefix(".")
        allowed = not path or path.startswith(own) or "__pycache__" in path
        require(allowed, f"{path} was written")


# What a kernel puts into every new network namespace.
KERNEL_LINKS = (
    "lo",
    "tunl0",
    "gre0",
    "gretap0",
    "erspan0",
    "ip_vti0",
    "ip6",
    "sit0",
    "teql",
    "dummy",
)


@cache
def lacking() -> str:
    """Return what this machine lacks."""
    if why := lacks("mininet"):
        return why
    for tool in ("unshare", "chroot", "mount", "ip"):
        if shutil.which(tool) is None:
            return tool
    command = "mount --make-rprivate / && mount -t tmpfs t /mnt && mkdir /mnt/u /mnt/w && "
    overlay = "mount -t overlay o -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w /mnt"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", command + overlay], capture_output=True, check=False
    )
    return "" if done.returncode == 0 else "overlays over the root file system"


@fault("privileged.plan", lacking=lacking, short=4, wanted=5_000)
def run(one: Try) -> str:
    """Run a plan in which a string, number or list was replaced and which still has valid types (up
    to 400 mutants are tried), as root on mininet inside namespaces, over a file system that records
    every write: ends, no internal error, nothing written outside the run, no kernel parameter left
    changed, no interface left.
    """
    sandbox = Sandbox(one.folder, "mininet")
    header, cell = documents()
    for _ in range(TRIES):
        one.what, text = hostile.mutant(one.rng, cell)
        text = genuine(text)
        if text != json.dumps(cell) and _taken(text):
            break
    else:
        return f"{TRIES} refused"
    bad = sandbox.work / "bad"
    bad.mkdir()
    (bad / "plan.json").write_text(header)
    (bad / "cells.jsonl").write_text(text + "\n")
    before = parameters()
    fairc = [sys.executable, "-c", PROGRAM.format(folder=str(Path(__file__).parents[2]))]
    command = [*fairc, "run", "bad", "-o", "out", "--engine", "mininet", "-q"]
    ended = start(sandbox, command).wait().require(0, 1, 2, 3)
    sandbox.require_nothing_left()
    require_no_effects(one.folder, before)
    words = {0: "run", 1: "run, not all valid", 2: "refused"}
    return words.get(ended.status or 0, "refused by the engine")

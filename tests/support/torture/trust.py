"""`fairc verify PACK --trust`: packs whose programs mean harm, in the real emulated machine.

What is executed on the host is seen by strace(1): nothing of the pack may be. Canaries lie outside
of the run, ports listen on the loopback, and files of images keep their inode and time.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import socket
import tempfile
import zipfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from forgery import mend

from fairc.runtime.vm import recipe

from . import inspection, kills
from .sandbox import Sandbox, preload
from .strangers import CANARY, Files
from .strategy import Outcome, Strategy, dice
from .trust_payloads import ANY, PAYLOADS, appended

SPEC = """fexp 1
experiment tiny {
  topology = bottleneck(rate: 1Mbit/s, rtt: 20ms, queue: fifo(20pkt))
  flow f { cca = cubic  workload = file(20kB) }
  duration = 5s
  measure = [goodput]
}
"""
MODULE, ENDPOINTS = "programs/cells/cell/netlink.py", "programs/cells/fairc-endpoints"
VERIFY = ("verify", "p.zip", "--trust", "--sample", "1", "--format", "json")
# Two boots of at most 300 s each, cells until they are stopped, and a busy machine.
LIMIT_S = 3600.0
HEADERS = (
    '{"kind": "result", "files": [], "error": ["x"], "clock_s": 700}',
    '{"kind": "result", "files": [], "error": "", "clock_s": Infinity}',
    '{"kind": "result", "files": [], "error": "", "clock_s": 1' + "0" * 400 + "}",
    '{"kind": "result", "files": [["../../canary", 9]], "error": "", "clock_s": 700}',
    '{"kind": "result", "files": [["a\\nb", 9]], "error": "x\\nfiles  holds", "clock_s": 700}',
    '{"kind": "result", "files": [["\\u001b[2J", 9]], "error": "", "clock_s": 700}',
    '{"kind": "result", "files": [["cell.json", 1.5]], "error": "", "clock_s": 700}',
    '{"kind": "result", "files": [["cell.json", 1000000000]], "error": "x", "clock_s": 700}',
    "[" * 100_000,
    '{"kind": "result"}',
)


@cache
def whole() -> Files:
    """Return the files of a pack of a run on vm, whose programs are this installation's."""
    preload()
    sandbox = Sandbox(Path(tempfile.mkdtemp(prefix="torture-")), "vm")
    sandbox.spec(SPEC)
    for command in (("run", "tiny.fexp", "-o", "run"), ("pack", "run", "-o", "p.zip")):
        ended = sandbox.start(*command).wait(LIMIT_S)
        assert ended.status == 0, ended.err
    with zipfile.ZipFile(sandbox.work / "p.zip") as zipped:
        return {member.filename: zipped.read(member) for member in zipped.infolist()}


def write(files: Files, path: Path) -> None:
    """Write a pack in which every hash is right."""
    mend(files)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)


def programs(seed: int, number: int, folder: Path) -> Outcome:
    """Verify a pack whose `cell/` or endpoints mean harm, with --trust."""
    rng, sandbox = dice(seed, number, "trust.programs"), Sandbox(folder, "vm")
    names = [*PAYLOADS, "other endpoints", "endpoints and more"]
    name = names[number % len(names)]
    files = dict(whole())
    (folder / "victim").write_text("whole")
    with ExitStack() as stack:
        ports = [stack.enter_context(_listening()) for _ in range(2)]
        _become(files, name, str(folder / "canary"), [p.getsockname()[1] for p in ports], rng)
        write(files, sandbox.work / "p.zip")
        images = _images()
        before = inspection.listing(folder, sandbox.said, sandbox.state, sandbox.tmp)
        trace = sandbox.said / "executed"
        strace = ["strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=execve,execveat"]
        ended = sandbox.start(*VERIFY, wrap=[*strace, "-o", str(trace)]).wait(LIMIT_S)
        problem = ended.problem(0, 1) or _rows(name, ended.status, ended.out)
        problem = problem or sandbox.leftovers() or _connected(ports)
    after = inspection.listing(folder, sandbox.said, sandbox.state, sandbox.tmp)
    if not problem and (outside := inspection.changes(before, after)):
        problem = f"outside of the run: {outside}"
    if not problem and _images() != images:
        problem = "a file of an image was written"
    problem = problem or _executed(trace, sandbox)
    return Outcome(f"{name}: {ended.status}", problem and f"{name}: {problem}")


def _become(files: Files, name: str, canary: str, ports: list[int], rng: random.Random) -> None:
    """Make the programs of a pack those of somebody who means harm."""
    if name == "other endpoints":
        found = shutil.which("true")
        assert found is not None
        files[ENDPOINTS] = Path(found).read_bytes()
    elif name == "endpoints and more":
        files[ENDPOINTS] += CANARY.encode()
    elif name != "nothing":
        values = {"header": rng.choice(HEADERS)}
        files[MODULE] += appended(PAYLOADS[name], canary, tuple(ports), values)


def _rows(name: str, status: int | None, out: str) -> str:
    """Return what is wrong with the answer."""
    try:
        document = json.loads(out)
        rows = {row["what"]: row for row in document["checks"]}
    except (ValueError, KeyError, TypeError):
        return f"the answer is no JSON: {out[:100]!r}"
    if rows["cells"]["verdict"] != "holds":
        return f"this installation's own cells: {rows['cells']}"
    trusted = rows["trusted programs"]
    payload = PAYLOADS.get(name)
    allowed = payload.verdicts if payload else ANY
    if trusted["verdict"] not in allowed or (payload and payload.said not in trusted["found"]):
        return f"the answer is {trusted}"
    if "\n" in trusted["found"]:
        return "the answer has more than one line"
    if (status == 0) != (trusted["verdict"] == "holds"):
        return f"status {status}, and the answer is {trusted}"
    differs = "holds" if name in ("nothing", "other endpoints", "endpoints and more") else "differs"
    return "" if rows["programs"]["verdict"] == differs else f"programs: {rows['programs']}"


def _listening() -> socket.socket:
    """Return a port that listens on every address of this machine's loopback, and does not
    block.
    """
    made = socket.create_server(("127.0.0.1", 0))
    made.setblocking(False)
    return made


def _connected(ports: list[socket.socket]) -> str:
    for port in ports:
        try:
            port.accept()
        except BlockingIOError:
            continue
        return "a program of the pack has reached this machine's network"
    return ""


def _images() -> dict[str, tuple[int, int, int]]:
    """Return the state of every file of the images, by path."""
    places = sorted((recipe.cache_directory() / "images").glob("*/*"))
    found = {str(p): p.stat() for p in places if p.is_file()}
    return {name: (s.st_ino, s.st_size, s.st_mtime_ns) for name, s in found.items()}


def _executed(trace: Path, sandbox: Sandbox) -> str:
    """Say what was executed out of the folders of the try, of which nothing may be."""
    lines = re.findall(r'execve(?:at)?\((?:[^",]*, )?"((?:[^"\\]|\\.)*)"', trace.read_text())
    if not any(line.endswith(("python", "python3", "python3.11")) for line in lines):
        return "strace has seen nothing"
    if "qemu-system-x86_64" not in {os.path.basename(line) for line in lines}:  # noqa: PTH119
        return "no machine was started"
    places = (str(sandbox.folder), "/proc/self/fd", "./", "../", "memfd")
    strange = [line for line in lines if line.startswith(places) or not line.startswith("/")]
    return f"{strange[0]} was executed on this machine" if strange else ""


def lacking() -> str:
    """Return what this machine lacks."""
    if shutil.which("strace") is None:
        return "strace"
    return kills.lacks("vm")


STRATEGIES = (
    Strategy(
        "trust.programs",
        f"verifies a pack whose endpoints or `cell/` are malicious ({', '.join(PAYLOADS)})"
        f" with `verify --trust`, in the real emulated machine:"
        " it ends, its answer says what happened and that this installation's cells hold,"
        " nothing from the pack is executed on"
        " this machine (strace), no canary, no connection, no file of an image written,"
        " nothing left",
        programs,
        lacking=lacking,
        weight=0.5,
        wanted=200,
    ),
)

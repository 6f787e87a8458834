"""`fairc verify PACK --trust`: packs whose programs mean harm, in the real emulated machine.

What is executed on the host is written down (`torture/executed.py`): nothing of the pack may be.
Canaries lie outside of the run, ports listen on the loopback, and files of images keep their inode
and time.
"""

from __future__ import annotations

import json
import random
import shutil
import socket
import sys
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from forgery import Files, read

from fairc.dsl.core.cache import cache_directory
from torture import executed, inspection
from torture.fault import Problem, Try, fault, require
from torture.sandbox import Sandbox, preload

from .kills import lacks
from .packs import CANARY, write
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
    return read(sandbox.work / "p.zip")


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


def _require_rows(name: str, status: int | None, out: str) -> None:
    """Raise Problem for what is wrong with the answer."""
    try:
        document = json.loads(out)
        rows = {row["what"]: row for row in document["checks"]}
    except (ValueError, KeyError, TypeError):
        raise Problem(f"the answer is no JSON: {out[:100]!r}") from None
    holds = rows["cells"]["verdict"] == "holds"
    require(holds, f"this installation's own cells: {rows['cells']}")
    trusted = rows["trusted programs"]
    payload = PAYLOADS.get(name)
    allowed = payload.verdicts if payload else ANY
    said = payload.said if payload else ""
    right = trusted["verdict"] in allowed and said in trusted["found"]
    require(right, f"the answer is {trusted}")
    require("\n" not in trusted["found"], "the answer has more than one line")
    right = (status == 0) == (trusted["verdict"] == "holds")
    require(right, f"status {status}, and the answer is {trusted}")
    differs = "holds" if name in ("nothing", "other endpoints", "endpoints and more") else "differs"
    require(rows["programs"]["verdict"] == differs, f"programs: {rows['programs']}")


def _listening() -> socket.socket:
    """Return a port that listens on every address of this machine's loopback, and does not
    block.
    """
    made = socket.create_server(("127.0.0.1", 0))
    made.setblocking(False)
    return made


def _require_no_connection(ports: list[socket.socket]) -> None:
    for port in ports:
        try:
            port.accept()
        except BlockingIOError:
            continue
        raise Problem("a program of the pack has reached this machine's network")


def _images() -> dict[str, tuple[int, int, int]]:
    """Return the state of every file of the images, by path."""
    places = sorted((cache_directory() / "images").glob("*/*"))
    found = {str(p): p.stat() for p in places if p.is_file()}
    return {name: (s.st_ino, s.st_size, s.st_mtime_ns) for name, s in found.items()}


def _require_nothing_executed(trace: Path, sandbox: Sandbox) -> None:
    """Raise Problem for what was executed out of the folders of the try, of which nothing may."""
    lines = [line.split("\t") for line in trace.read_text().splitlines()]
    ran = {Path(file).name for _, file in lines}
    require(any(name.startswith("python3") for name in ran), "nothing has been written down")
    require("qemu-system-x86_64" in ran, "no machine was started")
    places = (str(sandbox.folder), "/proc/self/fd", "/dev/fd", "/memfd")
    strange = [
        words
        for words in lines
        if any(word.startswith(places) or not word.startswith("/") for word in words)
    ]
    require(not strange, f"{strange[:1]} was executed on this machine")


def lacking() -> str:
    """Return what this machine lacks."""
    return lacks("vm")


@fault("trust.programs", lacking=lacking, weight=0.5, wanted=200)
def programs(one: Try) -> str:
    """Verify a pack whose endpoints or `cell/` are malicious (they write, connect, fork, fill,
    print, sleep, end, or forge clocks, dates and headers, at boot or in a cell) with `verify
    --trust`, in the real emulated machine: it ends, its answer says what happened and that this
    installation's cells hold, nothing from the pack is executed on this machine, no canary,
    no connection, no file of an image written, nothing left.
    """
    folder, sandbox = one.folder, Sandbox(one.folder, "vm")
    names = [*PAYLOADS, "other endpoints", "endpoints and more"]
    one.what = name = names[one.number % len(names)]
    files = dict(whole())
    (folder / "victim").write_text("whole")
    with ExitStack() as stack:
        ports = [stack.enter_context(_listening()) for _ in range(2)]
        _become(files, name, str(folder / "canary"), [p.getsockname()[1] for p in ports], one.rng)
        write(files, sandbox.work / "p.zip")
        images = _images()
        trace = sandbox.said / "executed"
        wrap = [sys.executable, executed.__file__, str(trace)]
        with inspection.untouched(folder, sandbox.said, sandbox.state, sandbox.tmp):
            running = sandbox.start(*VERIFY, wrap=wrap)
            ended = running.wait(LIMIT_S).require(0, 1)
        _require_rows(name, ended.status, ended.out)
        sandbox.require_nothing_left()
        _require_no_connection(ports)
    require(_images() == images, "a file of an image was written")
    _require_nothing_executed(trace, sandbox)
    return f"{name}: {ended.status}"

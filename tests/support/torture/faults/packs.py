"""Runs and packs that are not what fairc wrote: damaged, or somebody's who means harm and knows the
formats (`forgery`); packs killed while they are written.

Most packs that mean harm have hashes that are right. Some have links or devices for files. Those
for `fairc verify PACK --trust` have programs that mean harm, in the real emulated machine: what is
executed on the host is written down (`torture/executed.py`), and nothing of the pack may be.
Canaries lie outside of the run, ports listen on the loopback, and files of images keep their inode
and time.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import forgery
from forgery import SUMS, Files

from fairc.compiler.record import FILES, Record, of_file
from fairc.dsl.core.cache import cache_directory
from fairc.runtime.store import occupant
from torture import executed, inspection
from torture.fault import Problem, Try, fault, require, stage
from torture.sandbox import Sandbox, no_report, preload

from .documents import finished
from .kills import lacks
from .trust_payloads import ANY, PAYLOADS, appended

SIGNALS = ("KILL", "TERM", "INT", "HUP")
ENDS = {"KILL": -9, "TERM": -15, "INT": 130, "HUP": -1}
MEMORY = 6 << 30


# ---- A run ----


@fault("damage.run", weight=2, short=5, wanted=5_000)
def results(one: Try) -> str:
    """Flip a bit of a file of a run, truncate, zero, extend or empty it, or replace it by a pipe, a
    folder or a link; in three of four tries `table`, `report` or `compare`; then the command that
    made the run: harmless or repaired, the same hashes, the same table (an unreadable lock.json is
    refused until it is removed: only it records when metrics were declared; so is the copy of
    the spec, which a user may have edited; and a damaged files.json until the report is removed:
    only it tells whose that is).
    """
    rng, sandbox = one.rng, Sandbox(one.folder)
    run = sandbox.work / "run"
    shutil.copytree(finished() / "run", run)
    known = inspection.hashes(run)
    spec = shutil.copy(finished() / "sandbox/work/tiny.fexp", sandbox.work)
    again = ("run", Path(spec).name, "-o", "run")
    raw = rng.random() < 0.7  # what is computed is computed again: less of it
    found = [p for p in inspection.files(run) if p.suffix not in (".svg", ".pdf")]
    chosen = [p for p in found if "cells" in p.parts or p.suffix == ".json"] if raw else found
    path = rng.choice(chosen)
    one.what = forgery.damage(rng, path)
    reading = rng.choice(
        [(), ("table", "run", "goodput"), ("report", "run"), ("compare", "run", "run")]
    )
    if reading:
        with stage(reading[0]):
            sandbox.call(*reading, patch=no_report).require(0, 1, 2, 3)
    with stage("run again"):
        ended = sandbox.call(*again, patch=None if one.number % 10 == 0 else no_report)
        ended.require(0, 1, 2, 3)
        sandbox.require_nothing_left()
        if ended.status == 2 and one.what.endswith(
            ("a folder", "a pipe", "a dangling link", "read")
        ):
            return "refused: not a file"
        if ended.status == 2 and path == run / FILES:
            # Only it tells that the page and the figures are fairc's, so they are not replaced
            # until they are gone.
            for name in (FILES, *occupant.REPORTS):
                (run / name).unlink(missing_ok=True)
            shutil.rmtree(run / "figures", ignore_errors=True)
            ended = sandbox.call(*again, patch=no_report)
        if ended.status == 2 and path.name == "lock.json":
            # It knows when metrics were declared, and nothing else does: `fairc verify` says what
            # to do.
            path.unlink(missing_ok=True)
            ended = sandbox.call(*again, patch=no_report)
        if ended.status == 2 and run / "spec" in path.parents:
            # A user may have edited it, so it is not replaced until it is gone.
            path.unlink(missing_ok=True)
            ended = sandbox.call(*again, patch=no_report)
        ended.require(0)
        sandbox.require_results(known, "run")
    tables = sandbox.call("table", "run", "goodput").require(0)
    require(tables.out == table(), "another table")
    return "harmless, or repaired"


@cache
def table() -> str:
    """Return what `fairc table` says of the run that was not damaged."""
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        sandbox = Sandbox(Path(folder))
        shutil.copytree(finished() / "run", sandbox.work / "run")
        return sandbox.call("table", "run", "goodput").out


# ---- A pack ----


@cache
def packed() -> tuple[Path, float]:
    """Return the pack of the finished run, and how long packing takes, s."""
    preload()
    sandbox = Sandbox(Path(tempfile.mkdtemp(prefix="torture-")))
    shutil.copytree(finished() / "run", sandbox.work / "run")
    start = time.monotonic()
    ended = sandbox.call("pack", "run", "-o", "p.zip", "--with-raw")
    assert ended.status == 0, ended.err
    return sandbox.work / "p.zip", time.monotonic() - start


@fault("packs.kill", weight=0.7, short=2)
def kill(one: Try) -> str:
    """Send SIGKILL, SIGTERM, SIGINT or SIGHUP at any moment of `fairc pack`, then repeat it: at any
    moment the old file or the complete new one, in the end the same bytes, nothing left.
    """
    pack, lasted = packed()
    whole, rng, sandbox = pack.read_bytes(), one.rng, Sandbox(one.folder)
    shutil.copytree(finished() / "run", sandbox.work / "run")
    there = sandbox.work / "p.zip"
    old = rng.random() < 0.5  # over an old one, which has to be whole at any moment
    if old:
        there.write_bytes(b"old")
        (sandbox.work / "run/.partial").mkdir(exist_ok=True)
        record = Record(sandbox.work / "run", sandbox.work / "run/.partial")
        record.packs = (of_file(there).sha256,)
        record.save()
    command, name = ("pack", "run", "-o", "p.zip", "--with-raw"), rng.choice(SIGNALS)
    running = sandbox.fork(*command)
    time.sleep(rng.uniform(0.02, 1.3 * lasted))
    running.send(getattr(signal, f"SIG{name}"))
    one.ending = name
    ended = running.wait().require(0, ENDS[name])
    content = there.read_bytes() if there.exists() else None
    require(content in ((b"old" if old else None), whole), "half a pack")
    with stage("again"):
        sandbox.call(*command).require(0)
        require(there.read_bytes() == whole, "other bytes")
        left = {p.name for p in sandbox.work.iterdir()} - {"run", "p.zip"}
        require(not left, f"{left} is left")
        sandbox.require_nothing_left()
    return f"{name}: {'too late' if ended.status == 0 else 'killed'}"


FORMATS = (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFBLK, stat.S_IFCHR, stat.S_IFSOCK, stat.S_IFDIR)


def _write_harm(one: Try, path: Path) -> str:
    """Write a pack that means harm; return the kind of harm."""
    rng, whole = one.rng, packed()[0].read_bytes()
    files, harmful = forgery.read(packed()[0]), forgery.harmful(str(one.folder / "canary"))
    kind = rng.choice([*harmful, "table", "table", "a link", "sums", "bytes", "mode"])
    modes = {}
    if kind in harmful:
        one.what = harmful[kind](rng, files) or ""
        if rng.random() < 0.8:
            forgery.mend(files)
    elif kind == "a link":
        name = rng.choice(["cells/x", "x", ".partial", ".lock", "tables/cells.parquet", "spec/l"])
        one.what, modes[name] = name, rng.choice(FORMATS) | 0o644
        files[name] = rng.choice([str(one.folder / "victim").encode(), b"/etc/passwd", b"..", b""])
        forgery.mend(files)
    elif kind == "sums":
        sums = files[SUMS]
        files[SUMS] = rng.choice([b"", b"\xff", b"x\n", sums * 2, sums[: rng.randrange(500)]])
    elif kind == "mode":
        modes = dict.fromkeys(files, stat.S_IFREG | 0o6777)
    else:
        at, block = rng.randrange(len(whole)), rng.randbytes(50)
        flipped = forgery.flipped(rng, whole)
        cut = whole[:at]
        path.write_bytes(rng.choice([flipped, cut + block, cut, b"", whole * 2, block + whole]))
        return kind
    forgery.write(path, files, modes)
    return kind


COMMANDS = (
    (("verify", "p.zip", "--sample", "1"),),
    (("run", "p.zip", "-o", "out"), ("table", "out", "goodput", "--by", "flow")),
    (("report", "p.zip"), ("table", "results/tiny", "fairness")),
    (("run", "p.zip", "-o", "out"), ("compare", "out", "out"), ("pack", "out", "-o", "q.zip")),
)


@fault("packs.read", short=8, wanted=20_000)
def read(one: Try) -> str:
    """Read a pack with tables of other columns, far too many rows or damaged pages, hostile
    documents, names and specs, scripts in pages, modules named like Python's, links, pipes
    or devices, or damage, its hashes right in most cases, with `verify`, or `run`, `report`,
    `table`, `compare`, `pack`: accepted, reported or refused within 6 GiB; no canary, no program, no link, no script in the output, nothing written outside.
    """
    sandbox = Sandbox(one.folder)
    (one.folder / "victim").write_text("whole")
    kind = _write_harm(one, sandbox.work / "p.zip")
    own = [sandbox.work / "out", sandbox.work / "results"]
    pages = one.number % 4 == 0
    ending = ""
    with inspection.untouched(one.folder, *own, sandbox.said):
        for command in one.rng.choice(COMMANDS):
            with stage(command[0]):
                patch = _poor if pages else _poor_without_report
                ended = sandbox.call(*command, patch=patch).require(0, 1, 2)
                sandbox.require_nothing_left()
                (sandbox.work / "q.zip").unlink(missing_ok=True)
                _require_harmless(own, pages and ended.status in (0, 1))
            ending = {0: "taken", 1: "reported"}.get(ended.status or 0, "refused")
            if ended.status == 2:
                break
    return f"{kind}: {ending}"


def _require_harmless(places: list[Path], written: bool) -> None:
    """Raise Problem for what may not be in the folders of runs; written: the report has just
    been.
    """
    for path in (p for place in places for p in place.rglob("*")):
        file = not path.is_symlink() and (path.is_file() or path.is_dir())
        require(file, f"{path.name} was unpacked, and is no file")
        if path.is_file():
            mode = path.stat().st_mode
            require(not mode & 0o7111, f"{path.name} has the mode {mode:o}")
        page = path.suffix in (".html", ".svg") and path.parent.name in ("out", "tiny", "figures")
        if written and page and forgery.CANARY.encode() in path.read_bytes():
            raise Problem(f"{path.name} is the stranger's")


def _poor() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _poor_without_report() -> None:
    _poor()
    no_report()


# ---- Programs of a pack ----

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
def trusted() -> Files:
    """Return the files of a pack of a run on vm, whose programs are this installation's."""
    preload()
    sandbox = Sandbox(Path(tempfile.mkdtemp(prefix="torture-")), "vm")
    sandbox.spec(SPEC)
    for command in (("run", "tiny.fexp", "-o", "run"), ("pack", "run", "-o", "p.zip")):
        ended = sandbox.start(*command).wait(LIMIT_S)
        assert ended.status == 0, ended.err
    return forgery.read(sandbox.work / "p.zip")


def _become(files: Files, name: str, canary: str, ports: list[int], rng: random.Random) -> None:
    """Make the programs of a pack those of somebody who means harm."""
    if name == "other endpoints":
        found = shutil.which("true")
        assert found is not None
        files[ENDPOINTS] = Path(found).read_bytes()
    elif name == "endpoints and more":
        files[ENDPOINTS] += forgery.CANARY.encode()
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


@fault("trust.programs", lacking=lambda: lacks("vm"), weight=0.5, wanted=200)
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
    files = dict(trusted())
    (folder / "victim").write_text("whole")
    with ExitStack() as stack:
        ports = [stack.enter_context(_listening()) for _ in range(2)]
        _become(files, name, str(folder / "canary"), [p.getsockname()[1] for p in ports], one.rng)
        forgery.mend(files)
        forgery.write(sandbox.work / "p.zip", files)
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

"""Packs: killed while they are written; and those of somebody who means harm and knows the formats.

What is inside of the latter was made to be read: tables with other columns, too many
rows or damaged pages, pages with scripts, modules that Python could find, names and links of every
kind. Most have hashes that are right.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import signal
import stat
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import duckdb
import hostile
from forgery import SUMS, Files, mend
from forgery import read as unpacked

from fairc.compiler.record import Record, of_file
from torture import inspection
from torture.fault import Problem, Try, fault, require, stage
from torture.sandbox import Sandbox, no_report, preload

from .documents import finished, mutant

SIGNALS = ("KILL", "TERM", "INT", "HUP")
ENDS = {"KILL": -9, "TERM": -15, "INT": 130, "HUP": -1}
CANARY = "stranger-was-here"
MEMORY = 6 << 30
SCRIPT = f"<script>document.title='{CANARY}'</script><img src=x onerror='{CANARY}'>"


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


# What is done to the files of a pack: each gets (random numbers, files, a path that may not be
# written), and returns what was done.


def _flipped(rng: random.Random, old: bytes) -> bytes:
    """Return bytes of which a few are others: half of them near the end, where Parquet has its
    footer.
    """
    made = bytearray(old)
    for _ in range(rng.choice([1, 1, 3, 20])):
        least = max(0, len(made) - 2000) if rng.random() < 0.5 else 0
        at = rng.randrange(least, len(made))
        made[at] = rng.choice([0, 255, made[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
    return bytes(made)


VALUES = (
    *("1 AS x", "NULL AS cell", "'nan'::DOUBLE AS value", "[1, 2] AS value, {'a': 1} AS unit"),
    *(
        "1e308 AS value, 'a' AS cell, '=1+1' AS flow",
        f"'{SCRIPT.replace(chr(39), chr(34))}' AS unit",
    ),
    "range AS cell, repeat('x', 1000) AS flow FROM range(1000)",
    # what has the columns of the table, and a bit more
    *("COLUMNS(*)::VARCHAR FROM old", "repeat(COLUMNS(*)::VARCHAR, 100000) FROM old"),
    *("[COLUMNS(*)] FROM old", "*, 0 AS file_index FROM old", "* FROM old LIMIT 0"),
    "old.* FROM old, range(100000)",
)


def _table(rng: random.Random, files: Files, canary: str) -> str:
    """Replace a table by another, one with other columns or strange values, or a damaged one."""
    tables = [n for n in files if n.endswith(".parquet")]
    name = rng.choice(tables)
    kind = rng.randrange(4)
    if kind == 0:
        files[name] = files[rng.choice(tables)]
    elif kind == 1:
        files[name] = _flipped(rng, files[name])
    else:
        with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
            path = Path(folder, "made.parquet")
            path.write_bytes(files[name])
            connection.execute(f"CREATE TABLE old AS FROM '{path}'")
            chosen = rng.choice(VALUES)
            connection.execute(f"COPY (SELECT {chosen}) TO '{path}' (FORMAT parquet)")
            files[name] = path.read_bytes()
    return name


def _document(rng: random.Random, files: Files, canary: str) -> str:
    name = rng.choice([n for n in files if n.endswith((".json", ".jsonl"))])
    lines = files[name].decode().splitlines() if name.endswith("l") else []
    what, text = mutant(rng, json.loads(lines[0] if lines else files[name]))
    files[name] = "\n".join([text, *lines[1:], ""]).encode("utf-8", "replace")
    return f"{name}: {what}"


def _page(rng: random.Random, files: Files, canary: str) -> str:
    for page in [n for n in files if n.endswith((".html", ".svg", ".md"))]:
        files[page] = files[page].replace(b">", b">" + SCRIPT.encode(), 2) + SCRIPT.encode()
    return "every page"


def _module(rng: random.Random, files: Files, canary: str) -> str:
    code = f"open({canary!r}, 'w').close()\n".encode()
    for module in ("numpy", "json", "fairc", "mininet", "sitecustomize", "cell", "zstandard"):
        where = rng.choice(["", "programs/", "spec/"])
        files[f"{where}{module}{rng.choice(['.py', '/__init__.py'])}"] = code
    return "modules"


IMPORTED = ("/etc/passwd", "../../plan.json", "../../../x.fexp", "tiny.fexp", "/dev/zero", ".")


def _spec(rng: random.Random, files: Files, canary: str) -> str:
    imports = (*IMPORTED, "a/" * 200 + "x.fexp", "\\u0000")
    lets = ('let a = trace("/etc/shadow")', "let a = [" + "[" * 5000, rng.choice(hostile.TEXTS))
    line = rng.choice([*(f'import "{each}"' for each in imports), *lets])
    spec = next(n for n in files if n.startswith("spec/") and n.endswith(".fexp"))
    files[spec] = files[spec].replace(b"fexp 1\n", f"fexp 1\n{line}\n".encode(), 1)
    return line


def _raw(rng: random.Random, files: Files, canary: str) -> str:
    name = rng.choice([n for n in files if n.endswith(".tar.zst")])
    files[name] = rng.choice([_flipped(rng, files[name]), b"", files[name] * 2])
    return name


def _name(rng: random.Random, files: Files, canary: str) -> str:
    names = (
        *("../" * rng.randint(1, 9) + "canary", canary, "a/../../canary", "x" * 300, "a\\b", "A"),
        *("x/" * 150 + "x", "a/", "plan.json/x", "cells", "PLAN.json", "README.MD"),
        *(text for text in hostile.TEXTS if text and "\0" not in text),
    )
    name = rng.choice(names)
    files[name] = b"x"
    if rng.random() < 0.3:
        files[f"{name}/x"] = b"x"
    return name


def _less(rng: random.Random, files: Files, canary: str) -> str:
    name = rng.choice([*files])
    del files[name]
    return f"{name} less"


def _zeros(rng: random.Random, files: Files, canary: str) -> str:
    files["zeros"] = bytes(32 << 20)
    return "zeros"


HARM: Mapping[str, Callable[[random.Random, Files, str], str]] = MappingProxyType(
    {
        "table": _table,
        "document": _document,
        "page": _page,
        "module": _module,
        "spec": _spec,
        "raw": _raw,
        "name": _name,
        "less": _less,
        "zeros": _zeros,
    }
)
FORMATS = (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFBLK, stat.S_IFCHR, stat.S_IFSOCK, stat.S_IFDIR)


def write(files: Files, path: Path, kinds: Mapping[str, int] = MappingProxyType({})) -> None:
    """Write a pack in which every hash is right; kinds: name -> st_mode of what is no file."""
    mend(files)
    _zip(files, path, kinds)


def _zip(files: Files, path: Path, kinds: Mapping[str, int]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = kinds.get(name, stat.S_IFREG | 0o644) << 16
            made.writestr(member, data)


def _write_harm(one: Try, path: Path) -> str:
    """Write a pack that means harm; return the kind of harm."""
    rng, whole = one.rng, packed()[0].read_bytes()
    files, canary = unpacked(packed()[0]), str(one.folder / "canary")
    kind = rng.choice([*HARM, "table", "table", "a link", "sums", "bytes", "mode"])
    kinds = {}
    if kind in HARM:
        one.what = HARM[kind](rng, files, canary)
        if rng.random() < 0.8:
            mend(files)
    elif kind == "a link":
        name = rng.choice(["cells/x", "x", ".partial", ".lock", "tables/cells.parquet", "spec/l"])
        one.what, kinds[name] = name, rng.choice(FORMATS) | 0o644
        files[name] = rng.choice([str(one.folder / "victim").encode(), b"/etc/passwd", b"..", b""])
        mend(files)
    elif kind == "sums":
        sums = files[SUMS]
        files[SUMS] = rng.choice([b"", b"\xff", b"x\n", sums * 2, sums[: rng.randrange(500)]])
    elif kind == "mode":
        kinds = dict.fromkeys(files, stat.S_IFREG | 0o6777)
    else:
        at, block = rng.randrange(len(whole)), rng.randbytes(50)
        flipped = _flipped(rng, whole)
        cut = whole[:at]
        path.write_bytes(rng.choice([flipped, cut + block, cut, b"", whole * 2, block + whole]))
        return kind
    _zip(files, path, kinds)
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
        if written and page and CANARY.encode() in path.read_bytes():
            raise Problem(f"{path.name} is the stranger's")


def _poor() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _poor_without_report() -> None:
    _poor()
    no_report()

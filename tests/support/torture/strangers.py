"""Packs of somebody who means harm and knows the formats: every hash in them is right.

`packs.read` damages packs; here what is inside was made to be read: arrays with pickles, tables
with other columns or damaged pages, headers that claim sizes, pages with scripts, modules that
Python could find, links of every kind.
"""

from __future__ import annotations

import io
import json
import pickle
import random
import resource
import stat
import struct
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from forgery import mend

from . import inspection
from .documents import mutant
from .packs import packed
from .sandbox import Sandbox, no_report
from .strategy import Outcome, Strategy, dice

CANARY = "stranger-was-here"
MEMORY = 6 << 30
Files = dict[str, bytes]
SCRIPT = f"<script>document.title='{CANARY}'</script><img src=x onerror='{CANARY}'>"


@cache
def whole() -> Files:
    """Return the files of a pack by name."""
    with zipfile.ZipFile(packed() / "work/p.zip") as zipped:
        return {member.filename: zipped.read(member) for member in zipped.infolist()}


class Evil:
    """What writes a file when it is unpickled."""

    def __init__(self, canary: str) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (self.canary, "w")


def _npz(rng: random.Random, old: bytes, canary: str) -> bytes:
    """Return a cell's series, in which an array is something else."""
    with zipfile.ZipFile(io.BytesIO(old)) as zipped:
        arrays = {m.filename: zipped.read(m) for m in zipped.infolist()}
    name = rng.choice([*arrays])
    text = arrays[name]
    size = len(text)
    descr = rng.choice(["'<f8'", "'|O'", "'<U9'", "[('a', '<f8')]", "'<i8'", "'|b1'", "'<M8[s]'"])
    shape = rng.choice(["(0,)", "()", "(1,)", "(10**12,)", "(1000000000000,)", "(2, 2)", "(-1,)"])
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    made = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head) + 1) + head.encode() + b"\n"
    at = rng.randrange(size)
    arrays[name] = rng.choice(
        [
            *(b"", text[:at], text[:at] + rng.randbytes(8) + text[at + 8 :], made, text * 2),
            *(made + text[128:], pickle.dumps(Evil(canary)), made + pickle.dumps(Evil(canary))),
            b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535,
        ]
    )
    if rng.random() < 0.2:
        arrays.pop(name)
    if rng.random() < 0.1:
        return rng.choice([pickle.dumps(Evil(canary)), text, b"PK\x03\x04", old[:at], made])
    packed_by = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", packed_by) as again:
        for member, content in arrays.items():
            again.writestr(member, content)
    return written.getvalue()


def _bytes(rng: random.Random, old: bytes) -> bytes:
    """Return bytes with a few of them changed: in a half of cases at the end, where Parquet has its
    footer.
    """
    made = bytearray(old)
    for _ in range(rng.choice([1, 1, 3, 20])):
        least = max(0, len(made) - 2000) if rng.random() < 0.5 else 0
        at = rng.randrange(least, len(made))
        made[at] = rng.choice([0, 255, made[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
    return bytes(made)


def _table(rng: random.Random, old: bytes, files: Files) -> bytes:
    """Return a table that is another one, has other columns or strange values, or is damaged."""
    import duckdb

    tables = [n for n in files if n.endswith(".parquet")]
    kind = rng.randrange(4)
    if kind == 0:
        return files[rng.choice(tables)]
    if kind == 1:
        return _bytes(rng, old)
    values = rng.choice(
        [
            *(
                "1 AS x",
                "NULL AS cell",
                "'" + SCRIPT.replace("'", "''") + "' AS metric, 1 AS value",
            ),
            *(
                "range AS cell, repeat('x', 1000) AS flow FROM range(1000)",
                "'nan'::DOUBLE AS value",
            ),
            *("[1, 2] AS value, {'a': 1} AS unit", "1e308 AS value, 'a' AS cell, '=1+1' AS flow"),
        ]
    )
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.parquet")
        with duckdb.connect() as connection:
            connection.execute(f"COPY (SELECT {values}) TO '{path}' (FORMAT parquet)")
        return path.read_bytes()


def evil(rng: random.Random, canary: str) -> tuple[str, Files, dict[str, int]]:
    """Return what was done, the files of a pack, and the kinds (stat.S_IF...) of those that are
    none.
    """
    files, kinds = dict(whole()), dict[str, int]()
    cells = [n for n in files if n.startswith("cells/")]
    kind = rng.choice(
        ["npz", "npz", "table", "table", "document", "page", "module", "spec", "kind", "raw"]
    )
    name = ""
    match kind:
        case "npz":
            name = rng.choice([n for n in cells if n.endswith(".npz")])
            files[name] = _npz(rng, files[name], canary)
        case "table":
            name = rng.choice([n for n in files if n.endswith(".parquet")])
            files[name] = _table(rng, files[name], files)
        case "document":
            name = rng.choice([n for n in files if n.endswith((".json", ".jsonl"))])
            lines = files[name].decode().splitlines() if name.endswith("l") else []
            what, text = mutant(rng, json.loads(lines[0] if lines else files[name]))
            files[name] = "\n".join([text, *lines[1:], ""]).encode("utf-8", "replace")
            name = f"{name}: {what}"
        case "page":
            for page in [n for n in files if n.endswith((".html", ".svg", ".md"))]:
                files[page] = files[page].replace(b">", b">" + SCRIPT.encode(), 2) + SCRIPT.encode()
        case "module":
            code = f"open({canary!r}, 'w').close()\n".encode()
            for module in (
                "numpy",
                "json",
                "fairc",
                "mininet",
                "sitecustomize",
                "cell",
                "zstandard",
            ):
                where = rng.choice(["", "programs/", "spec/"])
                files[f"{where}{module}{rng.choice(['.py', '/__init__.py'])}"] = code
        case "spec":
            name = rng.choice(
                [
                    *(
                        'import "/etc/passwd"',
                        'import "../../plan.json"',
                        'import "../../../x.fexp"',
                    ),
                    *(
                        'import "tiny.fexp"',
                        f'import "{"a/" * 200}x.fexp"',
                        'let a = trace("/etc/shadow")',
                    ),
                    *(
                        'import "\\u0000"',
                        'import "/dev/zero"',
                        'import "."',
                        "let a = [" + "[" * 5000,
                    ),
                ]
            )
            spec = next(n for n in files if n.startswith("spec/") and n.endswith(".fexp"))
            files[spec] = files[spec].replace(b"fexp 1\n", f"fexp 1\n{name}\n".encode(), 1)
        case "kind":
            name = rng.choice(
                ["cells/x", "x", ".partial", ".lock", "tables/cells.parquet", "spec/l"]
            )
            kinds[name] = rng.choice(
                [
                    stat.S_IFLNK,
                    stat.S_IFIFO,
                    stat.S_IFBLK,
                    stat.S_IFCHR,
                    stat.S_IFSOCK,
                    stat.S_IFDIR,
                ]
            )
            files[name] = rng.choice([canary.encode(), b"/etc/passwd", b"..", b""])
        case _:
            name = rng.choice([n for n in cells if n.endswith(".tar.zst")])
            files[name] = rng.choice([_bytes(rng, files[name]), b"", files[name] * 2])
    mend(files)
    return f"{kind} {name}", files, kinds


def read(seed: int, number: int, folder: Path) -> Outcome:
    """Verify, run, report and tabulate a pack that is evil."""
    rng, sandbox = dice(seed, number, "packs.strangers"), Sandbox(folder)
    canary = folder / "canary"
    what, files, kinds = evil(rng, str(canary))
    with zipfile.ZipFile(sandbox.work / "p.zip", "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o6777 if rng.random() < 0.1 else 0o644
            member.external_attr = (kinds.get(name, stat.S_IFREG) | mode) << 16
            made.writestr(member, data)
    own = [sandbox.work / "out", sandbox.work / "results"]
    before = inspection.listing(folder, *own, sandbox.said)
    pages = number % 4 == 0
    commands: list[tuple[str, ...]] = rng.choice(
        [
            [("verify", "p.zip", "--sample", "1")],
            [("run", "p.zip", "-o", "out"), ("table", "out", "goodput", "--by", "flow")],
            [("report", "p.zip"), ("table", "results/tiny", "fairness")],
            [
                ("run", "p.zip", "-o", "out"),
                ("compare", "out", "out"),
                ("pack", "out", "-o", "q.zip"),
            ],
        ]
    )
    ending = ""
    for command in commands:
        ended = sandbox.call(*command, patch=_poor if pages else _poor_without_report)
        problem = ended.problem(0, 1, 2) or sandbox.leftovers()
        (sandbox.work / "q.zip").unlink(missing_ok=True)
        after = inspection.listing(folder, *own, sandbox.said)
        if not problem and (outside := inspection.changes(before, after)):
            problem = f"outside of the run: {outside}"
        if not problem and (found := _found(own, pages and ended.status in (0, 1))):
            problem = found
        if problem:
            return Outcome("problem", f"{problem} ({what}; {command[0]})")
        ending = {0: "taken", 1: "reported", 2: "refused"}.get(ended.status or 0, "?")
        if ended.status == 2:
            break
    return Outcome(f"{what.split()[0]}: {ending}")


def _found(places: list[Path], written: bool) -> str:
    """Return what is in the folders of runs and may not be; written: the report has just been."""
    for path in (p for place in places for p in place.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            return f"{path.name} was unpacked, and is no file"
        if path.is_file() and path.stat().st_mode & 0o7111:
            return f"{path.name} has the mode {path.stat().st_mode:o}"
        page = path.suffix in (".html", ".svg") and path.parent.name in ("out", "tiny", "figures")
        if written and page and CANARY.encode() in path.read_bytes():
            return f"{path.name} is the stranger's"
    return ""


def _poor() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _poor_without_report() -> None:
    _poor()
    no_report()


STRATEGIES = (
    Strategy(
        "packs.strangers",
        "reads a pack whose hashes are all right, but which contains arrays with pickles or"
        " false sizes, tables with other columns or damaged"
        " pages, hostile documents, scripts in pages, modules named like Python's, imports of"
        " other files, links, pipes or devices, with"
        " `verify`, or `run`, `report`, `table`, `compare`, `pack`: accepted, reported or"
        " refused within 6 GiB; no canary, no program, no"
        " link, no script in the output, nothing written outside",
        read,
        short=6,
        wanted=10_000,
    ),
)

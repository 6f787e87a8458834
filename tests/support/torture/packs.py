"""Packs: killed while they are written, and hostile when they are read."""

from __future__ import annotations

import hashlib
import io
import json
import random
import shutil
import signal
import stat
import tempfile
import time
import zipfile
from functools import cache
from pathlib import Path

import hostile

from fairc.compiler.record import Record, of_file

from . import inspection
from .documents import finished, mutant
from .sandbox import Sandbox, no_report, preload
from .strategy import Outcome, Strategy, dice

SIGNALS = ("KILL", "TERM", "INT", "HUP")
ENDS = {"KILL": -9, "TERM": -15, "INT": 130, "HUP": -1}
SUMS = "SHA256SUMS"


@cache
def packed() -> Path:
    """Return a folder with the pack of the finished run, `p.zip`, and how long packing takes,
    `lasted`.
    """
    preload()
    made = Path(tempfile.mkdtemp(prefix="torture-"))
    sandbox = Sandbox(made)
    shutil.copytree(finished() / "run", sandbox.work / "run")
    start = time.monotonic()
    ended = sandbox.call("pack", "run", "-o", "p.zip", "--with-raw")
    assert ended.status == 0, ended.err
    (made / "lasted").write_text(str(time.monotonic() - start))
    return made


def kill(seed: int, number: int, folder: Path) -> Outcome:
    """Kill `fairc pack`; pack again: the same bytes, and nothing is left."""
    whole = (packed() / "work/p.zip").read_bytes()
    lasted = float((packed() / "lasted").read_text())
    rng, sandbox = dice(seed, number, "packs.kill"), Sandbox(folder)
    shutil.copytree(finished() / "run", sandbox.work / "run")
    old = rng.random() < 0.5  # over an old one, which has to be whole at any moment
    if old:
        (sandbox.work / "p.zip").write_bytes(b"old")
        (sandbox.work / "run/.partial").mkdir(exist_ok=True)
        record = Record(sandbox.work / "run", sandbox.work / "run/.partial")
        record.packs = (of_file(sandbox.work / "p.zip").sha256,)
        record.save()
    command, name = ("pack", "run", "-o", "p.zip", "--with-raw"), rng.choice(SIGNALS)
    running = sandbox.fork(*command)
    time.sleep(rng.uniform(0.02, 1.3 * lasted))
    running.send(getattr(signal, f"SIG{name}"))
    ended = running.wait()
    there = sandbox.work / "p.zip"
    content = there.read_bytes() if there.exists() else None
    problem = ended.problem(0, ENDS[name])
    if not problem and content not in ((b"old" if old else None), whole):
        problem = "half a pack"
    if not problem and (again := sandbox.call(*command).problem(0)):
        problem = f"again: {again}"
    if not problem and there.read_bytes() != whole:
        problem = "again: other bytes"
    known = {"run", "p.zip"}
    if not problem and (left := [p.name for p in sandbox.work.iterdir() if p.name not in known]):
        problem = f"{left[0]} is left"
    problem = problem or sandbox.leftovers()
    ending = f"{name}: {'too late' if ended.status == 0 else 'killed'}"
    return Outcome(ending, problem and f"{ending}: {problem}")


def read(seed: int, number: int, folder: Path) -> Outcome:
    """Verify, run or report a pack that is hostile."""
    rng, sandbox = dice(seed, number, "packs.read"), Sandbox(folder)
    what, content = _hostile(rng, (packed() / "work/p.zip").read_bytes(), folder)
    (sandbox.work / "p.zip").write_bytes(content)
    (folder / "victim").write_text("whole")
    command = rng.choice(
        [("verify", "p.zip", "--sample", "1"), ("run", "p.zip", "-o", "out"), ("report", "p.zip")]
    )
    own = [sandbox.work / name for name in ("out", "tiny", "results", "report.html", "p")]
    before = inspection.listing(folder, *own, sandbox.said)
    ended = sandbox.call(*command, patch=no_report)
    problem = ended.problem(0, 1, 2) or sandbox.leftovers()
    after = inspection.listing(folder, *own, sandbox.said)
    if not problem and (outside := inspection.changes(before, after)):
        problem = f"outside of the run: {outside}"
    strange = [p for each in own for p in each.rglob("*") if p.is_symlink() or p.name == "canary"]
    if not problem and strange:
        problem = f"{strange[0].name} was unpacked"
    ending = {0: "taken", 1: "reported", 2: "refused"}.get(ended.status or 0, "?")
    return Outcome(
        "problem" if problem else ending, problem and f"{problem} ({what}; {command[0]})"
    )


def _hostile(rng: random.Random, whole: bytes, outside: Path) -> tuple[str, bytes]:
    """Return what was done to a pack, and its bytes; hashes are as they should be in half of the
    cases.
    """
    if rng.random() < 0.3:
        return _damaged(rng, whole)
    with zipfile.ZipFile(io.BytesIO(whole)) as zipped:
        files = {m.filename: zipped.read(m) for m in zipped.infolist()}
    kind = rng.choice(
        ["a document", "a document", "a name", "less", "sums", "a link", "zeros", "twice"]
    )
    links: set[str] = set()
    what = kind
    match kind:
        case "a document":
            found = [n for n in files if n.endswith((".json", ".jsonl", ".fexp"))]
            name = rng.choice(found)
            text = files[name].decode()
            if name.endswith(".json"):
                what, text = mutant(rng, json.loads(text))
            else:
                at = rng.randrange(len(text))
                text = text[:at] + rng.choice(hostile.TEXTS) + text[at:]
            what = f"{name}: {what}"
            files[name] = text.encode("utf-8", "replace")
        case "a name":
            names = [
                *("../" * rng.randint(1, 9) + "canary", str(outside / "canary"), "a/../../canary"),
                *(
                    "x" * 300,
                    "x/" * 150 + "x",
                    "a\\b",
                    "A",
                    "a/",
                    "plan.json/x",
                    "cells",
                    "PLAN.json",
                ),
                *(t for t in hostile.TEXTS if t and "\0" not in t),
            ]
            what = rng.choice(names)
            files[what] = b"x"
            if rng.random() < 0.3:
                files[f"{what}/x"] = b"x"
        case "less":
            del files[rng.choice([*files])]
        case "sums":
            files[SUMS] = rng.choice(
                [b"", b"\xff", b"x\n", files[SUMS] * 2, files[SUMS][: rng.randrange(500)]]
            )
        case "a link":
            files["link"] = str(outside / "victim").encode()
            links.add("link")
        case "zeros":
            files["zeros"] = bytes(32 << 20)
        case _:
            files["README.MD"] = files["Readme.md"] = b"x"
    if kind != "sums" and rng.random() < 0.7:
        files.pop(SUMS, None)
        sums = (
            f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())
        )
        files[SUMS] = "".join(sums).encode("utf-8", "replace")
    return ascii(what), _zip(files, links)


def _zip(files: dict[str, bytes], links: set[str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in files.items():
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            kind = stat.S_IFLNK if name in links else stat.S_IFREG
            member.external_attr = (kind | 0o644) << 16
            zipped.writestr(member, data)
    return made.getvalue()


def _damaged(rng: random.Random, whole: bytes) -> tuple[str, bytes]:
    at = rng.randrange(len(whole))
    flipped = bytes([whole[at] ^ 1 << rng.randrange(8)])
    block = rng.randbytes(50)
    return rng.choice(
        [
            ("a bit flipped", whole[:at] + flipped + whole[at + 1 :]),
            ("bytes in it", whole[:at] + block + whole[at + len(block) :]),
            ("cut off", whole[:at]),
            ("empty", b""),
            ("twice", whole + whole),
            ("more before", block + whole),
            ("no pack", zipfile_of(b"x")),
        ]
    )


def zipfile_of(content: bytes) -> bytes:
    """Return a zip file that is no pack."""
    return _zip({"x": content}, set())


STRATEGIES = (
    Strategy(
        "packs.kill",
        "sends SIGKILL, SIGTERM, SIGINT or SIGHUP at any moment of `fairc pack`, then repeats"
        " it: at any moment the old file or the"
        " complete new one, in the end the same bytes, nothing left",
        kill,
        weight=0.7,
        short=3,
        wanted=1000,
    ),
    Strategy(
        "packs.read",
        "reads a pack with a hostile document, name, link, checksum file or content, its"
        " hashes corrected in most cases, with `verify`, `run` or"
        " `report`: accepted, reported or refused, nothing written outside",
        read,
        short=15,
        wanted=10_000,
    ),
)

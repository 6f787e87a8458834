"""Files that a spec names: recordings of pages (HAR), traces of rates, BPF objects, other specs;
damaged and hostile.
"""

from __future__ import annotations

import json
import os
import random
from functools import cache
from pathlib import Path

import hostile

from fairc.dsl import Source
from torture.fault import Try, fault, require

from .specs import PIECES, ROOT, survive_within

LIMIT_S = 10.0
WITH = """fexp 1
{more}
experiment e {{
  topology {{
    node server  node client
    link server -- client {{ rate = {rate} }}
  }}
  flow a {{ {flow} }}
  measure = [goodput]
}}
"""
FLOW = "cca = cubic  workload = file(1MB)"


@cache
def good(name: str) -> bytes:
    """Return the content of a file that is well."""
    paths = {
        "har": "tests/diagnostics/shop.har",
        "trace": "examples/traces/walk.down",
        "object": "tests/engines/bpf/refused.bpf.o",
        "import": "examples/custom-topology.fexp",
    }
    return (ROOT / paths[name]).read_bytes()


def har(rng: random.Random) -> tuple[str, bytes]:
    """Return what was done, and a recording."""
    document = json.loads(good("har"))
    if rng.random() < 0.2:
        what, text = hostile.broken(rng, json.dumps(document))
    else:
        what = ""
        for _ in range(rng.choice([1, 1, 2, 5])):
            path = rng.choice([*hostile.places(document)])
            what, document = rng.choice([*hostile.at(document, path, rng, 4)])
        if rng.random() < 0.05 and isinstance(entries := document.get("log"), dict):
            entries["entries"] = (
                (entries.get("entries") or []) * 2000
                if isinstance(entries.get("entries"), list)
                else []
            )
        try:
            text = json.dumps(document)
        except ValueError:
            text = "{}"
    return what, text.encode("utf-8", "surrogatepass")


def trace(rng: random.Random) -> tuple[str, bytes]:
    """Return what was done, and a trace."""
    lines = good("trace").split(b"\n")[:200]
    for _ in range(rng.choice([1, 2, 5])):
        at = rng.randrange(len(lines))
        odd = [
            b"-1",
            b"9" * 5000,
            b"1e9",
            b"",
            b"\0",
            b" 5 ",
            b"0x10",
            "٣".encode(),
            b"10000000000000",
            b"nan",
        ]
        lines[at] = rng.choice(odd)
    kind = rng.choice(["lines", "bytes", "empty", "one line", "many", "backwards"])
    whole = {
        "lines": b"\n".join(lines),
        "bytes": rng.randbytes(500),
        "empty": b"",
        "one line": b"1" * 100_000,
        "many": b"1\n" * 300_000,
        "backwards": b"\n".join(lines[::-1]),
    }
    return kind, whole[kind]


def bpf(rng: random.Random) -> tuple[str, bytes]:
    """Return what was done, and an object file."""
    content = bytearray(good("object"))
    kind = rng.choice(["bits", "bits", "header", "cut off", "bytes", "empty"])
    match kind:
        case "bits":
            for _ in range(rng.choice([1, 3, 30])):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        case "header":
            for _ in range(rng.choice([1, 4])):
                content[rng.randrange(64)] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
        case "cut off":
            del content[rng.randrange(len(content)) :]
        case "bytes":
            content[4:] = rng.randbytes(1000)
        case _:
            content.clear()
    return kind, bytes(content)


def imported(rng: random.Random) -> tuple[str, bytes]:
    """Return what was done, and a spec that another one imports."""
    text = good("import").decode()
    at = rng.randrange(len(text))
    kind = rng.choice(["a piece", "itself", "bytes", "cut off"])
    made = {
        "a piece": text[:at] + rng.choice(PIECES) + text[at:],
        "itself": 'import "file"\n' + text,
        "bytes": "",
        "cut off": text[:at],
    }[kind]
    return kind, rng.randbytes(300) if kind == "bytes" else made.encode("utf-8", "surrogatepass")


KINDS = {
    "har": (har, {"flow": 'cca = cubic  workload = load(page(har: "file"), client: plain)'}),
    "trace": (trace, {"rate": 'trace("file")'}),
    "object": (bpf, {"flow": 'cca = bpf("file")  workload = file(1MB)'}),
    "import": (imported, {"more": 'import "file"'}),
}
USUAL = {"flow": FLOW, "rate": "2Mbit/s", "more": ""}


@fault("inputs.files", short=200, wanted=100_000)
def damaged(one: Try) -> str:
    """Compile with damaged or hostile recordings (HAR), traces, BPF objects and imported specs, or
    with pipes, devices and folders in their place: diagnostics or a plan within 10 s.
    """
    rng, folder = one.rng, one.folder
    kind = [*KINDS][one.number % len(KINDS)]
    make, words = KINDS[kind]
    what, content = make(rng)
    path = folder / ("file.fexp" if kind == "import" else "file")
    if rng.random() < 0.05:
        what = _odd(rng, path)
    else:
        path.write_bytes(content)
    one.what = f"{kind}, {what}"
    text = WITH.format(**USUAL | words)
    if kind == "import":
        text = text.replace('"file"', '"file.fexp"')
    before, here = sorted(folder.iterdir()), Path.cwd()
    os.chdir(folder)
    try:
        ending = survive_within(Source(str(folder / "spec.fexp"), text), LIMIT_S)
    finally:
        os.chdir(here)
    require(sorted(folder.iterdir()) == before, "a file appeared")
    return f"{kind}: {ending}"


def _odd(rng: random.Random, path: Path) -> str:
    """Put what is no file where the file should be; return what."""
    kind = rng.choice(["a pipe", "a folder", "a device", "a link to itself", "nothing"])
    match kind:
        case "a pipe":
            os.mkfifo(path)
        case "a folder":
            path.mkdir()
        case "a device":
            path.symlink_to("/dev/zero")
        case "a link to itself":
            path.symlink_to(path.name)
    return kind

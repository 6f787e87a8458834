"""Files of packs, runs and caches that are not what fairc wrote.

By accident: `damage`. By somebody who knows the formats and makes every hash anew (`mend`): a
forgery changes the files of a pack, by name. `FORGERIES` are of who wants other results; none may
pass `fairc verify PACK --all`. `harmful` are of who means harm to those that read a pack: tables
with other columns, too many rows or damaged pages, pages with scripts, modules that Python could
find, names of every kind.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import stat
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb
import hostile

from fairc.cell.seeds import canonical, identity

Files = dict[str, bytes]
Forgery = Callable[[random.Random, Files], str | None]
"""Changes files; may say what was done."""
SUMS = "SHA256SUMS"
RESULT = "result.json"
WORST = 5
CANARY = "stranger-was-here"
SCRIPT = f"<script>document.title='{CANARY}'</script><img src=x onerror='{CANARY}'>"


def read(pack: Path) -> Files:
    """Return the files of a pack by name."""
    with zipfile.ZipFile(pack) as zipped:
        return {member.filename: zipped.read(member) for member in zipped.infolist()}


def write(pack: Path, files: Files, modes: Mapping[str, int] = MappingProxyType({})) -> None:
    """Write a pack of these files; modes: name -> st_mode of what is no file of that of 0644."""
    with zipfile.ZipFile(pack, "w") as zipped:
        for name, content in files.items():
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = modes.get(name, stat.S_IFREG | 0o644) << 16
            zipped.writestr(member, content)


def folder_files(run: Path) -> Files:
    """Return the files of a run directory by name."""
    return {
        path.relative_to(run).as_posix(): path.read_bytes()
        for path in run.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def write_folder(run: Path, files: Files) -> None:
    """Make a run directory hold these files in place of its own."""
    for name in folder_files(run).keys() - files.keys():
        (run / name).unlink()
    for name, content in files.items():
        place = run / name
        if not place.is_file() or place.read_bytes() != content:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)


def mend(files: Files) -> None:
    """Write every hash anew, as who makes a pack does; files that are gone leave the records."""
    records = [name for name in files if name.endswith("files.json")]
    for name in sorted(records, key=lambda name: -name.count("/")):
        home = name.removesuffix("files.json")
        try:
            record = json.loads(files[name])
            for part in [*record["files"]]:
                content = files.get(home + part)
                if content is not None:
                    record["files"][part] = _hashed(content)
                elif part != "raw.tar.zst":
                    del record["files"][part]
            with suppress(ValueError, TypeError, KeyError, RecursionError):
                result = json.loads(files[home + RESULT])
                record["ran"] = record["ran"] and {field: result[field] for field in record["ran"]}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
        files[name] = json.dumps(record).encode()
    if files.pop(SUMS, None) is not None:
        lines = (f"{_hashed(data)['sha256']}  {name}\n" for name, data in sorted(files.items()))
        files[SUMS] = "".join(lines).encode("utf-8", "replace")


def _hashed(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


# What a forger reads and writes


def keys(files: Files) -> list[str]:
    """Return the keys of the cells, sorted."""
    return sorted({name.split("/")[1] for name in files if name.startswith("cells/")})


def result(files: Files, key: str) -> dict[str, Any]:
    """Return the result of a cell."""
    found: dict[str, Any] = json.loads(files[f"cells/{key}/{RESULT}"])
    return found


def put(files: Files, key: str, document: Mapping[str, Any]) -> None:
    """Replace the result of a cell."""
    files[f"cells/{key}/{RESULT}"] = f"{json.dumps(document, indent=1)}\n".encode()


def plan_cells(files: Files) -> list[dict[str, Any]]:
    """Return the cells of the plan."""
    return [json.loads(line) for line in files["cells.jsonl"].splitlines()]


def put_plan(files: Files, cells: list[dict[str, Any]], **header: object) -> None:
    """Replace the plan's cells, and what of the header and the lock depends on them."""
    text = "".join(json.dumps(cell, separators=(",", ":")) + "\n" for cell in cells)
    files["cells.jsonl"] = text.encode()
    document = {**json.loads(files["plan.json"]), "cells": len(cells), **header}
    files["plan.json"] = f"{json.dumps(document, indent=2)}\n".encode()
    lock = json.loads(files["lock.json"])
    parts = (hashlib.sha256(files[name]).digest() for name in ("plan.json", "cells.jsonl"))
    lock["plan"]["sha256"] = hashlib.sha256(b"".join(parts)).hexdigest()
    files["lock.json"] = json.dumps(lock).encode()


def worst(files: Files) -> list[str]:
    """Return the keys of the cells of the first configuration with the lowest goodput of the first
    flow.
    """
    cells = plan_cells(files)
    ids = {cell["id"] for cell in cells if cell["configuration"] == cells[0]["configuration"]}
    of = {key: result(files, key) for key in keys(files)}
    own = [key for key, found in of.items() if found["cell"] in ids]
    return sorted(own, key=lambda key: _goodput(of[key])["value"] or 0.0)[:WORST]


def _goodput(document: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(m for m in document["metrics"] if m["metric"] == "goodput")
    return found


def drop(files: Files, key: str) -> None:
    """Remove a cell."""
    for name in [name for name in files if name.startswith(f"cells/{key}/")]:
        del files[name]


def pair(rng: random.Random, files: Files) -> tuple[str, str]:
    """Return two cells."""
    first, second = rng.sample(keys(files), 2)
    return first, second


# Forgeries


def exchanged(rng: random.Random, files: Files) -> None:
    """Exchange the folders of two cells."""
    first, second = pair(rng, files)
    _swap_folders(files, first, second)


def _swap_folders(files: Files, first: str, second: str) -> None:
    one, other = (
        {n: files[n] for n in files if n.startswith(f"cells/{key}/")} for key in (first, second)
    )
    for name in (*one, *other):
        del files[name]
    files |= {name.replace(first, second, 1): content for name, content in one.items()}
    files |= {name.replace(second, first, 1): content for name, content in other.items()}


def exchanged_and_renamed(rng: random.Random, files: Files) -> None:
    """Exchange two cells, and write into each result that it is the other's."""
    first, second = pair(rng, files)
    names = {key: result(files, key) for key in (first, second)}
    _swap_folders(files, first, second)
    for key in (first, second):
        own = {field: names[key][field] for field in ("cell", "key", "image", "emitted")}
        put(files, key, result(files, key) | own)


def exchanged_ids(rng: random.Random, files: Files) -> None:
    """Exchange the ids of two cells in the plan."""
    cells = plan_cells(files)
    one, other = rng.sample(cells, 2)
    one["id"], other["id"] = other["id"], one["id"]
    put_plan(files, cells)


def relabelled(_: random.Random, files: Files) -> None:
    """Exchange what two configurations are called, in every cell of the plan."""
    cells = plan_cells(files)
    names = list(dict.fromkeys(json.dumps(cell["bindings"]) for cell in cells))
    for cell in cells:
        at = names.index(json.dumps(cell["bindings"]))
        cell["bindings"] = json.loads(names[(at + 1) % len(names)])
    put_plan(files, cells)


def relabelled_with_hashes(rng: random.Random, files: Files) -> None:
    """Exchange what two configurations are called, with the hash of it."""
    relabelled(rng, files)
    cells = plan_cells(files)
    for cell in cells:
        cell["configuration"] = identity(canonical(cell["bindings"]))
    put_plan(files, cells)


def cherry_picked(_: random.Random, files: Files) -> None:
    """Delete the five worst cells."""
    for key in worst(files):
        drop(files, key)


def cherry_picked_plan(_: random.Random, files: Files) -> None:
    """Delete the five worst cells, in the plan, too."""
    gone = {result(files, key)["cell"] for key in worst(files)}
    cherry_picked(_, files)
    put_plan(files, [cell for cell in plan_cells(files) if cell["id"] not in gone])


def left_out(_: random.Random, files: Files) -> None:
    """Have the five worst cells count for nothing."""
    for key in worst(files):
        put(files, key, result(files, key) | {"verdict": "invalid", "reasons": ["it looked odd"]})


def failed(_: random.Random, files: Files) -> None:
    """Have the five worst cells fail."""
    for key in worst(files):
        none: dict[str, object] = {
            "verdict": None,
            "metrics": [],
            "flows": [],
            "limits": [],
            "conditions": [],
            "series": None,
        }
        put(files, key, result(files, key) | {"status": "failed", "error": "it broke", **none})
        for name in [n for n in files if n.startswith(f"cells/{key}/") and n.endswith(".parquet")]:
            files.pop(name)


def better(_: random.Random, files: Files) -> None:
    """Give the five worst cells the goodput of the best."""
    values = [_goodput(result(files, key))["value"] or 0.0 for key in keys(files)]
    for key in worst(files):
        document = result(files, key)
        _goodput(document)["value"] = max(values)
        put(files, key, document)


def twice(rng: random.Random, files: Files) -> None:
    """Have a metric twice in a cell, so that it counts twice."""
    key = rng.choice(keys(files))
    document = result(files, key)
    document["metrics"].append(_goodput(document))
    put(files, key, document)


def not_a_number(rng: random.Random, files: Files) -> None:
    """Have a metric that is no number, so that it is left out."""
    key = rng.choice(keys(files))
    document = result(files, key)
    _goodput(document)["value"] = rng.choice([float("nan"), float("inf")])
    put(files, key, document)


FIELDS: Mapping[str, Callable[[dict[str, Any]], object]] = MappingProxyType(
    {
        "ended_by": lambda d: d.update(ended_by="deadline"),
        "verdict": lambda d: d.update(verdict="flagged", reasons=["it looked odd"]),
        "reasons": lambda d: d.update(reasons=["all is well"]),
        "virtual_s": lambda d: d.update(virtual_s=d["virtual_s"] + 1.0),
        "result_sha256": lambda d: d.update(result_sha256="0" * 64),
        "analysis": lambda d: d.update(analysis="0" * 16),
        "flows": lambda d: d["flows"][0].update(bytes=d["flows"][0]["bytes"] + 1),
        "conditions": lambda d: d["conditions"][0].update(value="other"),
        "limits": lambda d: d.update(
            limits=[{"flow": d["flows"][0]["flow"], "limit": "receiver", "share": 0.5}]
        ),
        "metrics": lambda d: d["metrics"][-1].update(value=0.123),
        "emitted": lambda d: d.update(emitted="0" * 16),
        "image": lambda d: d.update(image="another"),
        "engine": lambda d: d.update(engine="vm"),
    }
)


def field(name: str) -> Forgery:
    """Return the forgery of a field of a result."""

    def forge(rng: random.Random, files: Files) -> None:
        key = rng.choice(keys(files))
        document = result(files, key)
        FIELDS[name](document)
        put(files, key, document)

    return forge


def series(rng: random.Random, files: Files) -> None:
    """Change a value of a series."""
    name = f"cells/{rng.choice(keys(files))}/slots.parquet"
    _change(files, name, "* REPLACE (delivered_bytes + 1e6 AS delivered_bytes) FROM old")


def text_of(suffix: str, old: bytes = b"0", new: bytes = b"7") -> Forgery:
    """Return the forgery of a document by its name's end: its last `old` becomes `new`."""

    def forge(_: random.Random, files: Files) -> None:
        name = min(name for name in files if name.endswith(suffix))
        before, found, after = files[name].rpartition(old)
        assert found, name
        files[name] = before + new + after

    return forge


def page(_: random.Random, files: Files) -> None:
    """Write another sentence into the report."""
    files["report.html"] = files["report.html"].replace(b"</body>", b"<p>All is well.</p></body>")


def table(_: random.Random, files: Files) -> None:
    """Raise every value in the table of metrics."""
    _change(files, "tables/metrics.parquet", "* REPLACE (2 * value AS value) FROM old")


def _change(files: Files, name: str, selection: str) -> None:
    """Write a selection in the place of a table, which it may call `old`."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        path = Path(folder, "made.parquet")
        path.write_bytes(files[name])
        connection.execute(f"CREATE TABLE old AS FROM '{path}'")
        connection.execute(f"COPY (SELECT {selection}) TO '{path}' (FORMAT parquet)")
        files[name] = path.read_bytes()


def verdict(_: random.Random, files: Files) -> None:
    """State another verdict on a claim."""
    document = json.loads(files["claims.json"])
    first = document["claims"][0]
    first["verdict"] = "fails" if first["verdict"] == "holds" else "holds"
    files["claims.json"] = f"{json.dumps(document, indent=1)}\n".encode()


def claim(_: random.Random, files: Files) -> None:
    """Claim less in the plan than the spec does."""
    document = json.loads(files["plan.json"])
    for unit in document["claims"][0]["units"]:
        for end, factor in (("low", 0.1), ("high", 10)):
            unit[end] = unit[end] and unit[end] * factor
    put_plan(files, plan_cells(files), claims=document["claims"])


def no_records(_: random.Random, files: Files) -> None:
    """Remove every record of hashes, and change a number."""
    for name in [name for name in files if name.endswith("files.json")]:
        del files[name]


def no_record(rng: random.Random, files: Files) -> None:
    """Remove the record of a cell."""
    del files[f"cells/{rng.choice(keys(files))}/files.json"]


def a_name_twice(_: random.Random, files: Files) -> None:
    """Have a name twice in a document, so that readers find different values."""
    name = min(name for name in files if name.endswith(RESULT))
    files[name] = files[name].replace(b"{", b'{"verdict": "invalid",', 1)


def more(_: random.Random, files: Files) -> None:
    """Add a file that no pack has."""
    files["figures/proof.svg"] = b"<svg/>"


EXCHANGED: Mapping[str, Forgery] = MappingProxyType(
    {
        "exchanged": exchanged,
        "exchanged and renamed": exchanged_and_renamed,
        "exchanged ids": exchanged_ids,
        "relabelled": relabelled,
        "relabelled with hashes": relabelled_with_hashes,
    }
)
CHERRY_PICKED: Mapping[str, Forgery] = MappingProxyType(
    {
        "cherry-picked": cherry_picked,
        "cherry-picked with the plan": cherry_picked_plan,
        "left out": left_out,
        "failed": failed,
    }
)
REWRITTEN: Mapping[str, Forgery] = MappingProxyType(
    {
        "better": better,
        "twice": twice,
        "not a number": not_a_number,
        **{f"field {name}": field(name) for name in FIELDS},
        "series": series,
        "page": page,
        "figure": text_of(".svg"),
        "pdf": text_of(".pdf", b"0 ", b"1 "),
        "table": table,
        "README": text_of("README.md"),
        "citation": text_of("CITATION.cff", b"a", b"b"),
        "metadata": text_of("ro-crate-metadata.json"),
        "claims.json": verdict,
        "claim": claim,
        "no records": no_records,
        "no record": no_record,
        "a name twice": a_name_twice,
        "more": more,
    }
)
FORGERIES: Mapping[str, Forgery] = MappingProxyType({**EXCHANGED, **CHERRY_PICKED, **REWRITTEN})


# What somebody does who means harm


def flipped(rng: random.Random, old: bytes) -> bytes:
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


def strange_table(rng: random.Random, files: Files) -> str:
    """Replace a table by another, one with other columns or strange values, or a damaged one."""
    tables = [n for n in files if n.endswith(".parquet")]
    name = rng.choice(tables)
    kind = rng.randrange(4)
    if kind == 0:
        files[name] = files[rng.choice(tables)]
    elif kind == 1:
        files[name] = flipped(rng, files[name])
    else:
        _change(files, name, rng.choice(VALUES))
    return name


def strange_document(rng: random.Random, files: Files) -> str:
    """Put something hostile into a document."""
    name = rng.choice([n for n in files if n.endswith((".json", ".jsonl"))])
    lines = files[name].decode().splitlines() if name.endswith("l") else []
    what, text = hostile.mutant(rng, json.loads(lines[0] if lines else files[name]))
    files[name] = "\n".join([text, *lines[1:], ""]).encode("utf-8", "replace")
    return f"{name}: {what}"


def scripts(rng: random.Random, files: Files) -> str:
    """Put scripts into every page."""
    for page in [n for n in files if n.endswith((".html", ".svg", ".md"))]:
        files[page] = files[page].replace(b">", b">" + SCRIPT.encode(), 2) + SCRIPT.encode()
    return "every page"


def modules(canary: str, rng: random.Random, files: Files) -> str:
    """Add modules that Python could find before its own; they write the canary."""
    code = f"open({canary!r}, 'w').close()\n".encode()
    for module in ("numpy", "json", "fairc", "mininet", "sitecustomize", "cell", "zstandard"):
        where = rng.choice(["", "programs/", "spec/"])
        files[f"{where}{module}{rng.choice(['.py', '/__init__.py'])}"] = code
    return "modules"


IMPORTED = ("/etc/passwd", "../../plan.json", "../../../x.fexp", "tiny.fexp", "/dev/zero", ".")


def strange_spec(rng: random.Random, files: Files) -> str:
    """Have the spec import, read or nest what it may not."""
    imports = (*IMPORTED, "a/" * 200 + "x.fexp", "\\u0000")
    lets = ('let a = trace("/etc/shadow")', "let a = [" + "[" * 5000, rng.choice(hostile.TEXTS))
    line = rng.choice([*(f'import "{each}"' for each in imports), *lets])
    spec = next(n for n in files if n.startswith("spec/") and n.endswith(".fexp"))
    files[spec] = files[spec].replace(b"fexp 1\n", f"fexp 1\n{line}\n".encode(), 1)
    return line


def damaged_raw(rng: random.Random, files: Files) -> str:
    """Damage raw artefacts."""
    name = rng.choice([n for n in files if n.endswith(".tar.zst")])
    files[name] = rng.choice([flipped(rng, files[name]), b"", files[name] * 2])
    return name


def strange_name(canary: str, rng: random.Random, files: Files) -> str:
    """Add a file with a name that is none."""
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


def less(rng: random.Random, files: Files) -> str:
    """Remove a file."""
    name = rng.choice([*files])
    del files[name]
    return f"{name} less"


def zeros(rng: random.Random, files: Files) -> str:
    """Add a large file."""
    files["zeros"] = bytes(32 << 20)
    return "zeros"


def harmful(canary: str) -> dict[str, Forgery]:
    """Return what somebody does who means harm; canary: a path that may not be written."""
    return {
        "table": strange_table,
        "document": strange_document,
        "page": scripts,
        "module": partial(modules, canary),
        "spec": strange_spec,
        "raw": damaged_raw,
        "name": partial(strange_name, canary),
        "less": less,
        "zeros": zeros,
    }


# What happens to a file


def damage(rng: random.Random, path: Path) -> str:
    """Damage a file; return what was done."""
    size = path.stat().st_size
    kind = rng.choice(
        ["a bit", "a bit", "cut off", "cut off", "emptied", "zeros", "longer", "gone", "odd"]
    )
    if size == 0 and kind in ("a bit", "cut off", "zeros"):
        kind = "longer"
    at = rng.randrange(size) if size else 0
    match kind:
        case "a bit":
            with path.open("r+b") as file:
                file.seek(at)
                byte = file.read(1)[0] ^ 1 << rng.randrange(8)
                file.seek(at)
                file.write(bytes([byte]))
            return f"a bit of {path.name} flipped"
        case "cut off":
            os.truncate(path, at)
        case "emptied":
            os.truncate(path, 0)
        case "zeros":
            with path.open("r+b") as file:
                file.seek(at)
                file.write(bytes(min(4096, size - at)))
        case "longer":
            with path.open("ab") as file:
                file.write(rng.randbytes(100))
        case "gone":
            path.unlink()
        case _:
            return _odd(rng, path)
    return f"{path.name} {kind}"


def _odd(rng: random.Random, path: Path) -> str:
    """Put something else where a file is."""
    path.unlink()
    kind = rng.choice(["a pipe", "a folder", "a dangling link", "a file that cannot be read"])
    match kind:
        case "a pipe":
            os.mkfifo(path)
        case "a folder":
            path.mkdir()
        case "a dangling link":
            path.symlink_to("/nonexistent/x")
        case _:
            path.write_bytes(b"")
            path.chmod(0)
    return f"{path.name} is {kind}"

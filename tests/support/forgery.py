"""Packs and runs of somebody who forges results and knows the formats: every hash is made anew.

A forgery changes the files of a pack, by name. `FORGERIES` names them all; none may pass
`fairc verify PACK --all`.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb

from fairc.cell.seeds import canonical, identity

Files = dict[str, bytes]
SUMS = "SHA256SUMS"
RESULT = "result.json"
WORST = 5


def read(pack: Path) -> Files:
    """Return the files of a pack by name."""
    with zipfile.ZipFile(pack) as zipped:
        return {member.filename: zipped.read(member) for member in zipped.infolist()}


def write(pack: Path, files: Files) -> None:
    """Write a pack of these files."""
    with zipfile.ZipFile(pack, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in sorted(files.items()):
            zipped.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)


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


def field(name: str) -> Callable[[random.Random, Files], None]:
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
    _change(files, name, "* REPLACE (delivered_bytes + 1e6 AS delivered_bytes)")


def text_of(
    suffix: str, old: bytes = b"0", new: bytes = b"7"
) -> Callable[[random.Random, Files], None]:
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
    _change(files, "tables/metrics.parquet", "* REPLACE (2 * value AS value)")


def _change(files: Files, name: str, selection: str) -> None:
    """Write a selection from a table in its place."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        old, new = Path(folder, "old.parquet"), Path(folder, "new.parquet")
        old.write_bytes(files[name])
        values = f"SELECT {selection} FROM '{old}'"
        connection.execute(f"COPY ({values}) TO '{new}' (FORMAT parquet, COMPRESSION zstd)")
        files[name] = new.read_bytes()


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


Forgery = Callable[[random.Random, Files], None]
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

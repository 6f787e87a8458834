"""Archives from a stranger: raw artefacts of a run or of a job, and files of images."""

from __future__ import annotations

import io
import json
import random
import shutil
import tarfile
from pathlib import Path

import hostile
import zstandard

from fairc.runtime.host import archive
from fairc.runtime.uml import source
from fairc.runtime.vm import image, recipe
from torture import inspection
from torture.fault import Try, fault, require
from torture.sandbox import Sandbox, no_report, preload

from .documents import finished

RAW = "raw.tar.zst"
CANARY = "canary"


def members(rng: random.Random, outside: Path) -> tuple[str, bytes]:
    """Return what is done, and a tar file that does it. outside: where nothing may be written."""
    made = io.BytesIO()
    kinds = [rng.choice([*KINDS]) for _ in range(rng.choice([1, 1, 2, 3]))]
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, "cell.json", b"{}")
        for kind in kinds:
            KINDS[kind](tar, rng, outside)
    return " and ".join(kinds), made.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: bytes = b"x", **fields: object) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for field, value in fields.items():
        setattr(member, field, value)
    tar.addfile(member, io.BytesIO(content) if member.isreg() else None)


def _up(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    _add(tar, "../" * rng.randint(1, 12) + f"{outside.name}/{CANARY}")


def _inside_up(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    _add(tar, f"a/b/../../../../{CANARY}")


def _absolute(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    _add(tar, str(outside / CANARY))


def _symlink(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    _add(tar, "l", b"", type=tarfile.SYMTYPE, linkname=str(outside))
    _add(tar, f"l/{CANARY}")


def _hardlink(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    _add(tar, "h", b"", type=tarfile.LNKTYPE, linkname=f"../../../../{outside.name}/victim")
    _add(tar, "h")


def _device(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    kind = rng.choice([tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"V", b"S", b"7"])
    _add(tar, "cell.json.x", b"", type=kind, devmajor=1, devminor=5)


def _folder(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    _add(tar, rng.choice(["cell.json", "d", "../d", "monitor.ndjson"]), b"", type=tarfile.DIRTYPE)


def _twice(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    _add(tar, "cell.json", b"[]")


def _below_a_file(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    _add(tar, "cell.json/x")


def _name(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    names = ["a\nb", "\x1b[2J", "x" * 300, "x/" * 3000 + "x", "-rf", "", ".", "..", "/", "a\u202eb"]
    _add(tar, rng.choice([*names, *(t for t in hostile.TEXTS if "\0" not in t)]))


def _many(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    for number in range(2000):
        _add(tar, f"f{number}", b"")


def _headers(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    pax = {
        "path": rng.choice(["../x", "/x", "x" * 100_000]),
        "size": rng.choice(["-1", "x", "1e9"]),
    }
    _add(tar, "p", b"x", pax_headers=pax)


def _zeros(tar: tarfile.TarFile, rng: random.Random, outside: Path) -> None:
    _add(tar, "monitor.ndjson", bytes(16 << 20))


KINDS = {
    "a path up": _up,
    "a path up from inside": _inside_up,
    "an absolute path": _absolute,
    "a link out": _symlink,
    "a hard link out": _hardlink,
    "a device": _device,
    "a folder": _folder,
    "a name twice": _twice,
    "below a file": _below_a_file,
    "an odd name": _name,
    "many files": _many,
    "odd headers": _headers,
    "zeros": _zeros,
}


def compressed(rng: random.Random, tar: bytes) -> tuple[str, bytes]:
    """Return what was done to a compressed archive, and its bytes."""
    whole = zstandard.ZstdCompressor().compress(tar)
    at = rng.randrange(len(whole))
    if rng.random() < 0.6:
        return "", whole
    return rng.choice(
        [
            ("cut off", whole[:at]),
            ("empty", b""),
            (
                "a bit flipped",
                whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :],
            ),
            ("not compressed", tar),
            ("twice", whole + whole),
            ("bytes", rng.randbytes(2000)),
            (
                "cut off before it was compressed",
                zstandard.ZstdCompressor().compress(tar[: len(tar) // 2]),
            ),
        ]
    )


@fault("archives.raw", short=15, wanted=10_000)
def raw(one: Try) -> str:
    """Replace raw.tar.zst of a run or a job by one with `..` in paths, absolute paths, links,
    devices, odd names and headers, many files or damaged compression; then `run` or `run
    --collect`: repaired, reported or refused, nothing written outside.
    """
    rng, sandbox = one.rng, Sandbox(one.folder)
    (one.folder / "victim").write_text("whole")
    what, tar = members(rng, one.folder)
    how, content = compressed(rng, tar)
    for name in ("run", "plan"):
        shutil.copytree(finished() / name, sandbox.work / name)
    place, command = rng.choice(
        [
            ("run/cells/*/", ("run", "run", "-o", "run")),
            ("plan/results/*/", ("run", "plan", "--collect", "-o", "out")),
        ]
    )
    one.what = f"{what}; {how}; {command}"
    for path in sorted(sandbox.work.glob(place + RAW))[:2]:
        path.write_bytes(content)
        result = json.loads(path.with_name("result.json").read_text())
        result["analysis"] = "0" * len(result["analysis"])  # so that it is read
        path.with_name("result.json").write_text(json.dumps(result))
    own = [sandbox.work / name for name in ("run", "plan", "out")]
    with inspection.untouched(one.folder, *own, sandbox.said):
        ended = sandbox.call(*command, patch=no_report).require(0, 1, 2)
        sandbox.require_nothing_left()
    strange = [p for each in own for p in each.rglob("*") if p.is_symlink() or p.name == CANARY]
    require(not strange, f"{strange[:1]} was unpacked")
    return {0: "repaired", 1: "reported"}.get(ended.status or 0, "refused")


@fault("archives.image", short=25, wanted=10_000)
def images(one: Try) -> str:
    """The same with an image's file and its manifest; then `image load`, with and without --trust:
    loaded or refused, nothing written outside.
    """
    preload()
    rng, sandbox = one.rng, Sandbox(one.folder)
    sandbox.cache = one.folder / "cache"
    (one.folder / "victim").write_text("whole")
    one.what, content = _image(rng, one.folder)
    (sandbox.work / "file").write_bytes(content)
    trust = rng.choice([(), ("--trust",)])
    with inspection.untouched(one.folder, sandbox.cache, sandbox.said):
        ended = sandbox.call("image", "load", "file", *trust).require(0, 2, 3)
        sandbox.require_nothing_left()
    strange = [p for p in sandbox.cache.rglob("*") if p.is_symlink() or "loading-" in p.name]
    require(not strange, f"{strange[:1]} is in the cache")
    untrusted = trust or not [*sandbox.cache.glob("fairc/kernels/*")]
    require(untrusted, "a kernel was installed though nobody trusts it")
    return {0: "taken", 2: "refused"}.get(ended.status or 0, "reported")


def _image(rng: random.Random, outside: Path) -> tuple[str, bytes]:
    """Return what is done, and a file like those that `fairc image save` writes."""
    kind = rng.choice(["images", "kernels"])
    content = {"root.ext2": rng.randbytes(100), "kernel": b"#!/bin/sh\n", "packages.txt": b"x"}
    parts = outside / "parts" / kind
    parts.mkdir(parents=True)
    for name, data in content.items():
        (parts / name).write_bytes(data)
    recipes = [*(v.hash() for v in recipe.VARIANTS), source.recipe_hash()]
    manifest: object = {
        "recipe": rng.choice(recipes),
        "digest": image.digest(parts),
        "kernel": "7.3",
    }
    shutil.rmtree(parts.parent)
    text, what = json.dumps(manifest), "whole"
    if rng.random() < 0.5:
        what, manifest = rng.choice([*hostile.mutants(manifest, rng, 4)])
        text = json.dumps(manifest)
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in {**content, "manifest.json": text.encode("utf-8", "replace")}.items():
            _add(tar, f"{kind}/{name}", data)
        for _ in range(rng.choice([0, 1, 1, 2])):
            more = rng.choice([*KINDS])
            KINDS[more](tar, rng, outside)
            what += f" and {more}"
    how, packed = compressed(rng, made.getvalue())
    return f"{what}; {how}", packed


def whole(rng: random.Random, outside: Path, size: int) -> bytes:
    """Return the file of a kernel that can be loaded, made of random bytes."""
    parts = outside / "parts" / "kernels"
    parts.mkdir(parents=True)
    (parts / "kernel").write_bytes(rng.randbytes(size))
    manifest = {"recipe": source.recipe_hash(), "digest": image.digest(parts), "kernel": "7.3"}
    (parts / "manifest.json").write_text(json.dumps(manifest))
    archive.pack_several({"kernels": parts}, outside / "packed")
    shutil.rmtree(parts.parent)
    content = (outside / "packed").read_bytes()
    (outside / "packed").unlink()
    return content

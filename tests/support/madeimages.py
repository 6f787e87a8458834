"""Container images made for tests, as `docker save` and OCI layouts have them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

FOLDER = object()


def layer(entries: Iterable[tuple[str, Any]], compress: str = "") -> bytes:
    """Return a layer. entries: names with bytes, a symbolic link's target, (a hard link's,), or
    FOLDER. compress: "gzip", or nothing.
    """
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as written:
        for name, content in entries:
            member = tarfile.TarInfo(name)
            member.mode = 0o755
            match content:
                case bytes():
                    member.size = len(content)
                case str():
                    member.type, member.linkname = tarfile.SYMTYPE, content
                case (target,):
                    member.type, member.linkname = tarfile.LNKTYPE, target
                case _:
                    member.type = tarfile.DIRTYPE
            written.addfile(member, io.BytesIO(content if isinstance(content, bytes) else b""))
    return gzip.compress(out.getvalue()) if compress else out.getvalue()


def docker(
    path: Path, layers: Iterable[bytes], environment: Iterable[str] = (), **config: Any
) -> Path:
    """Write an image as `docker save` does; config: replaces parts of its configuration."""
    files = {f"blobs/sha256/{_hash(each)}": each for each in layers}
    of_all = {"architecture": "amd64", "os": "linux", "config": {"Env": [*environment]}} | config
    text = json.dumps(of_all).encode()
    manifest = [{"Config": f"blobs/sha256/{_hash(text)}", "Layers": [*files]}]
    return write(
        path,
        files
        | {
            f"blobs/sha256/{_hash(text)}": text,
            "manifest.json": json.dumps(manifest).encode(),
        },
    )


def oci(path: Path, layers: Iterable[bytes]) -> Path:
    """Write an OCI layout with an index for two architectures."""
    blobs = [*layers]
    config = json.dumps({"architecture": "amd64", "os": "linux"}).encode()
    manifest = json.dumps(
        {"config": _descriptor(config), "layers": [_descriptor(each) for each in blobs]}
    ).encode()
    entry = _descriptor(manifest)
    other = _descriptor(b"absent") | {"platform": {"architecture": "arm64", "os": "linux"}}
    entry |= {"platform": {"architecture": "amd64", "os": "linux"}}
    index = json.dumps({"manifests": [other, entry]}).encode()
    files = {f"blobs/sha256/{_hash(each)}": each for each in (*blobs, config, manifest)}
    return write(path, files | {"index.json": index})


def write(path: Path, files: Mapping[str, bytes]) -> Path:
    """Write a tar."""
    path.write_bytes(layer(files.items()))
    return path


def _descriptor(content: bytes) -> dict[str, Any]:
    return {"digest": f"sha256:{_hash(content)}", "size": len(content)}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

#!/usr/bin/env python3
"""Write a container image of a folder's files as a tar, as `docker save` does.

    image.py IMAGE.tar FOLDER [--base BASE.tar] [--env NAME=VALUE]...

BASE.tar: another image as a tar, over whose layers the folder's files come; --env: a variable.
The same files give the same bytes.
"""

import argparse
import hashlib
import io
import json
import tarfile
from pathlib import Path


def main():
    """Do what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("image", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--env", action="append", default=[])
    asked = parser.parse_args()
    config, layers = {"architecture": "amd64", "os": "linux", "config": {}}, []
    if asked.base:
        config, layers = opened(asked.base)
    config["config"]["Env"] = [*config["config"].get("Env", []), *asked.env]
    files = asked.folder.rglob("*")
    layers.append(packed((path, path.relative_to(asked.folder)) for path in files))
    config["rootfs"] = {"type": "layers", "diff_ids": [f"sha256:{hashed(each)}" for each in layers]}
    blobs = [*layers, json.dumps(config, sort_keys=True).encode()]
    names = [f"blobs/sha256/{hashed(each)}" for each in blobs]
    manifest = json.dumps([{"Config": names[-1], "Layers": names[:-1]}]).encode()
    with tarfile.open(asked.image, "w") as image:
        for name, content in [*zip(names, blobs, strict=True), ("manifest.json", manifest)]:
            add(image, tarfile.TarInfo(name), content)


def opened(base):
    """Return the configuration and the layers of an image."""
    with tarfile.open(base) as image:
        (manifest,) = json.load(image.extractfile("manifest.json"))
        config = json.load(image.extractfile(manifest["Config"]))
        return config, [image.extractfile(name).read() for name in manifest["Layers"]]


def packed(files):
    """Return files as a layer; files: their paths here and there."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as written:
        for path, name in sorted(files):
            member = tarfile.TarInfo(str(name))
            member.mode = 0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644
            if path.is_dir():
                member.type = tarfile.DIRTYPE
            add(written, member, b"" if path.is_dir() else path.read_bytes())
    return layer.getvalue()


def add(archive, member, content):
    """Add a file to a tar."""
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def hashed(content):
    """Return the name of a blob."""
    return hashlib.sha256(content).hexdigest()


main()

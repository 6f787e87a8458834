"""Container images of Debian packages, for programs of the user's own: `fairc image packages`.

mmdebstrap installs the packages with Debian's essential ones, as `debian:trixie-slim` has them;
what it writes becomes the one layer of an image in the form of `docker save` (Docker Image
Specification 1.3), so the tar is read like any other, and its hash pins the versions.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from fairc.compiler.files import sha256_of
from fairc.runtime.host import clean, supervisor
from fairc.runtime.vm import image, recipe
from fairc.words.container_images import ARCHITECTURE

PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+~:-]+)?")
"""A name as in Debian Policy 5.6.1, with a version (5.6.12) if one is wanted."""
MOST_PACKAGES = 200
# What no program reads, in every package.
UNREAD = ("/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/man/*")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def build(packages: Sequence[str], target: Path, progress: Callable[[str], None]) -> dict[str, str]:
    """Write an image with packages of Debian to `target`; return the version of each of them.

    packages: as in PACKAGE. progress: called with a line of text at every step. Needs no root.
    Raises EngineUnavailable when mmdebstrap is missing, or a package cannot be had.
    """
    place = target.absolute().parent
    clean.remove_temporary(place)  # what killed builds left
    prefix = supervisor.temporary_prefix("packages")
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place) as folder:
        work = Path(folder)
        work.chmod(0o755)  # mmdebstrap's user namespace has to enter it
        layer = work / "layer.tar"
        command = [
            *("mmdebstrap", "--variant=essential", "--skip=output/dev"),
            "--include=" + ",".join(packages),
            '--aptopt=Apt::Install-Recommends "false"',
            *(f"--dpkgopt=path-exclude={pattern}" for pattern in UNREAD),
            recipe.SUITE,
            str(layer),
            *recipe.BROWSER.sources(),  # those with security updates
        ]
        again = f"fairc image packages {' '.join(packages)} --output {target}"
        image.bootstrap("image", command, layer, progress, again)
        versions = _versions(layer, packages)
        _save(layer, versions, work / "image.tar")
        (work / "image.tar").rename(target)
    return versions


def _versions(layer: Path, packages: Sequence[str]) -> dict[str, str]:
    """Return the version of each package, as dpkg's own list in the layer has it; a name that
    another package provides has none.
    """
    with tarfile.open(layer) as archive:
        file = archive.extractfile("./var/lib/dpkg/status")
        assert file is not None, "dpkg installed them"
        status = file.read().decode()
    found = dict(re.findall(r"^Package: (\S+)$(?:\n.+)*?\nVersion: (\S+)$", status, re.MULTILINE))
    names = (each.partition("=")[0] for each in packages)
    return {name: found[name] for name in names if name in found}


def _save(layer: Path, versions: dict[str, str], target: Path) -> None:
    """Write an image of one layer, in the form of `docker save`."""
    digest = sha256_of(layer)
    labels = {f"debian.package.{name}": version for name, version in versions.items()}
    config = {
        "architecture": ARCHITECTURE,
        "os": "linux",
        "config": {"Env": [f"PATH={PATH}"], "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": None, "Layers": ["layer.tar"]}]
    with tarfile.open(target, "w") as archive:
        for name, document in (("manifest.json", manifest), ("config.json", config)):
            content = json.dumps(document, indent=2, sort_keys=True).encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        member = tarfile.TarInfo("layer.tar")
        member.size = layer.stat().st_size
        with layer.open("rb") as file:
            archive.addfile(member, file)

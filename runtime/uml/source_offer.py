"""The sources of the machine of `uml`: of its kernel, and of every Debian package that its image
has files of.

Their licences (GPL-2.0 for most of them) ask whoever passes on the programs to pass on these, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.host.supervisor import temporary_prefix
from fairc.runtime.vm import recipe
from fairc.runtime.vm.image import Image

from . import source
from .kernel import MODULES, Kernel

RELEASE = (
    "the file fairc-VERSION-sources.tar of the release that this fairc was installed from has them"
)
PACKAGES = "packages.txt"
CONTENTS = ("kernel", "packages", PACKAGES)
"""The contents of the folder of the sources."""
SIGNED = "[check-valid-until=no signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
"""The mirrors of yesterday, too, but by nobody's word but Debian's."""
ARCHIVE = "https://snapshot.debian.org/archive/debian/%Y%m%dT%H%M%SZ"
"""Debian's archive as it was at a time (UTC); it keeps every version."""


def packages(image: Image) -> list[tuple[str, str]]:
    """Return the source packages of an image and their versions, sorted."""
    lines = (image.folder / PACKAGES).read_text().splitlines()
    return sorted({(name, version) for _, _, name, version in map(str.split, lines)})


def archive(image: Image) -> str:
    """Return the address of Debian's archive as of the time at which an image was built."""
    return time.strftime(ARCHIVE, time.gmtime((image.folder / "manifest.json").stat().st_mtime))


def write(
    folder: Path,
    kernel: Kernel,
    image: Image,
    progress: Callable[[str], None] = lambda _: None,
    mirrors: Sequence[str] = (),
) -> None:
    """Write the sources into a folder; what an earlier try left there stays.

    mirrors: of Debian, to ask for what the recipe's mirror no longer has, before Debian's archive
    is asked. Raises EngineUnavailable where sources cannot be had here: it names each, and the
    others are in the folder. Raises OSError.
    """
    if not (kernel.folder / source.TARBALL).is_file():
        raise EngineUnavailable(("this kernel came without its source",), RELEASE)
    if shutil.which("apt-get") is None:
        raise EngineUnavailable(("Debian's sources come by apt-get, which is not here",), RELEASE)
    left_out = shutil.ignore_patterns("build.log", "kernel", MODULES)
    shutil.copytree(kernel.folder, folder / "kernel", ignore=left_out, dirs_exist_ok=True)
    shutil.copy(image.folder / PACKAGES, folder / PACKAGES)
    (folder / "packages").mkdir(exist_ok=True)
    lacking, silent = dict.fromkeys(packages(image), ""), list[str]()
    for mirror in (recipe.MIRROR, *mirrors, archive(image)):
        try:
            lacking = _fetch(mirror, list(lacking), folder / "packages", progress)
        except _NoAnswer as error:
            silent.append(f"{mirror} does not answer: {error}")
        if not lacking:
            return
    raise EngineUnavailable(
        (
            *(
                f"the source of {name} {version} cannot be fetched{why and f': {why}'}"
                for (name, version), why in lacking.items()
            ),
            *silent,
        ),
        f"the same command where Debian's archive ({archive(image)}) can be reached, or with"
        f" --mirror URL of another copy: it goes on with what is missing; or {RELEASE}",
    )


class _NoAnswer(Exception):
    """A mirror gave no list of what it has."""


def _fetch(
    mirror: str, wanted: Sequence[tuple[str, str]], folder: Path, progress: Callable[[str], None]
) -> dict[tuple[str, str], str]:
    """Fetch source packages from a mirror; return those that it does not have, and why.

    Raises _NoAnswer.
    """
    lacking = {}
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("sources")) as scratch:
        apt = _apt(Path(scratch), mirror)
        if why := _fault([*apt, "update"], folder):
            raise _NoAnswer(why)
        for number, (name, version) in enumerate(wanted, 1):
            progress(f"source {number} of {len(wanted)}: {name} {version}")
            command = [*apt, "source", "--download-only", f"{name}={version}"]
            if why := _fault(command, folder):
                lacking[name, version] = why
    return lacking


def _apt(scratch: Path, mirror: str) -> list[str]:
    """Return apt-get with folders of its own, which knows a mirror's sources of the image's
    suite.
    """
    for name in ("lists/partial", "cache/archives/partial", "etc"):
        (scratch / name).mkdir(parents=True)
    (scratch / "status").touch()
    (scratch / "sources.list").write_text(f"deb-src {SIGNED} {mirror} {recipe.SUITE} main\n")
    options = {
        "Dir::Etc": scratch / "etc",
        "Dir::Etc::SourceList": scratch / "sources.list",
        "Dir::State::Lists": scratch / "lists",
        "Dir::State::status": scratch / "status",
        "Dir::Cache": scratch / "cache",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
        "APT::Update::Error-Mode": "any",
    }
    return ["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items())]


def _fault(command: list[str], folder: Path) -> str:
    """Run a command in a folder; return why it failed, empty where it did not."""
    locale = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=locale
    )
    if not done.returncode:
        return ""
    lines = [line[2:].strip() for line in done.stderr.splitlines() if line.startswith("E:")]
    return (lines or done.stderr.splitlines()[-1:] or ["apt-get printed no reason"])[0]

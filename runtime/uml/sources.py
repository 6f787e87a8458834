"""The sources of the machine of `uml`: of its kernel, and of every Debian package that its image
has files of.

Their licences (GPL-2.0 for most of them) ask whoever passes on the programs to pass on these, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.vm import recipe
from fairc.runtime.vm.image import Image

from . import source
from .kernel import Kernel

RELEASE = (
    "the file fairc-VERSION-sources.tar of the release that this fairc was installed from has them"
)
PACKAGES = "packages.txt"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def packages(image: Image) -> list[tuple[str, str]]:
    """Return the source packages of an image and their versions, sorted."""
    lines = (image.folder / PACKAGES).read_text().splitlines()
    return sorted({(name, version) for _, _, name, version in map(str.split, lines)})


def write(
    folder: Path, kernel: Kernel, image: Image, progress: Callable[[str], None] = lambda _: None
) -> None:
    """Write the sources into an empty folder.

    Raises EngineUnavailable where they cannot be had here, OSError.
    """
    if not (kernel.folder / source.TARBALL).is_file():
        raise EngineUnavailable(("this kernel came without its source",), RELEASE)
    if shutil.which("apt-get") is None:
        raise EngineUnavailable(("Debian's sources come by apt-get, which is not here",), RELEASE)
    shutil.copytree(
        kernel.folder, folder / "kernel", ignore=shutil.ignore_patterns("build.log", "kernel")
    )
    shutil.copy(image.folder / PACKAGES, folder / PACKAGES)
    (folder / "packages").mkdir()
    wanted = packages(image)
    lacking: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        apt = _apt(Path(scratch))
        _run([*apt, "update"], folder)
        for number, (name, version) in enumerate(wanted, 1):
            progress(f"source {number} of {len(wanted)}: {name} {version}")
            try:
                _run([*apt, "source", "--download-only", f"{name}={version}"], folder / "packages")
            except EngineUnavailable as error:
                lacking += error.missing
    if lacking:
        raise EngineUnavailable(tuple(lacking), RELEASE)


def _apt(scratch: Path) -> list[str]:
    """Return apt-get with folders of its own, which know the sources of the image's suite."""
    for name in ("lists/partial", "cache/archives/partial", "etc"):
        (scratch / name).mkdir(parents=True)
    (scratch / "status").touch()
    suites = (recipe.SUITE, f"{recipe.SUITE}-updates")
    (scratch / "sources.list").write_text(
        "".join(f"deb-src [signed-by={KEYRING}] {recipe.MIRROR} {suite} main\n" for suite in suites)
    )
    options = {
        "Dir::Etc": scratch / "etc",
        "Dir::Etc::SourceList": scratch / "sources.list",
        "Dir::State::Lists": scratch / "lists",
        "Dir::State::status": scratch / "status",
        "Dir::Cache": scratch / "cache",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
    }
    return ["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items())]


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("E:")]
        why = (lines or done.stderr.splitlines()[-1:] or ["it printed no reason"])[0]
        raise EngineUnavailable((f"apt-get cannot fetch the sources: {why}",), RELEASE)

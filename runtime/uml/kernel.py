"""The kernel of the `uml` engine: compiled in a separate Debian root, cached, verified before
use.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fairc.compiler.files import content, sha256_of
from fairc.dsl.core.cache import cache_directory
from fairc.runtime.formatting import bar
from fairc.runtime.host.faults import EngineUnavailable, to_install
from fairc.runtime.vm import image, recipe

from . import source

BUILD_COMMAND = "fairc image build"
LOAD = "`fairc image load FILE --trust` with what another machine saved"
OTHER_WAYS = (
    "`fairc image build --kernel FILE` with a linux-source tarball of that series,"
    f" {LOAD}, or `--engine vm`"
)
MODULES = "modules.ext2"
PARTS = ("kernel", "config", "version", MODULES)
# How custom patches are numbered, before those of the engine.
YOURS = "00-{number:02}-"
_YOURS = re.compile(r"00-[0-9]+-")
REPORT_EVERY_S = 5.0
# How the line of a build begins (mmdebstrap, build.sh) with which a step does, how much is done
# then, and what it does.
STEPS = (
    ("I: running apt-get update", 0.0, "asking Debian's mirror"),
    ("I: downloading packages with apt", 0.02, "fetching the source and a compiler (230 MB)"),
    ("I: extracting archives", 0.1, "unpacking them in a separate root"),
    ("unpacking", 0.15, "unpacking the source"),
    ("applying", 0.25, "configuring"),
)
COMPILING, COMPILED = 0.3, 0.95
# About how many files are compiled.
FILES = 750


@dataclass(frozen=True)
class Kernel:
    """A built kernel.

    folder: holds `kernel` (a static program), `config`, `version`, `manifest.json`, MODULES (the
    file system of a machine that compiles modules for it: modules.sh), and its
    sources: the source's archive, `patches/`, `kernel.config`, and what built it (`source.BUILD`).
    recipe: the hash of its recipe. sha256: of the program. digest: over all files.
    """

    folder: Path
    recipe: str
    version: str
    sha256: str
    digest: str

    @property
    def program(self) -> Path:
        """The kernel as a program."""
        return self.folder / "kernel"

    def verify(self, whole: bool = False) -> None:
        """Raise EngineUnavailable unless the program is the one that was built; whole: check the
        other files as well.
        """
        try:
            well = hashlib.sha256(content(self.program)).hexdigest() == self.sha256
        except OSError:
            well = False
        if not well or (whole and image.digest(self.folder) != self.digest):
            raise EngineUnavailable(
                (f"the kernel in {self.folder} is damaged: its hash is not the one recorded",),
                f"fairc image rm, then {BUILD_COMMAND}",
            )


def folder() -> Path:
    """Return where the kernel of the present recipe belongs."""
    return cache_directory() / "kernels" / source.recipe_hash()


def find() -> Kernel | None:
    """Return the kernel of the present recipe if it has been built.

    Raises EngineUnavailable when its manifest is malformed.
    """
    place = folder()
    try:
        written = content(place / "manifest.json")
        manifest, sha256 = image.described(written), json.loads(written).get("sha256")
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        manifest, sha256 = {}, None
    if not isinstance(sha256, str):
        raise EngineUnavailable(
            (f"the kernel in {place} is damaged: its manifest.json does not describe it",),
            f"fairc image rm, then {BUILD_COMMAND}",
        )
    return Kernel(place, manifest["recipe"], manifest["kernel"], sha256, manifest["digest"])


def require() -> Kernel:
    """Return the verified kernel; raise EngineUnavailable with the command that builds it."""
    kernel = find()
    if kernel is None:
        raise EngineUnavailable(
            ("the kernel of the engine `uml` has not been built",),
            f"{BUILD_COMMAND}; for one that other machines have too: fairc image load FILE --trust",
        )
    kernel.verify()
    if os.statvfs(kernel.folder).f_flag & os.ST_NOEXEC:
        raise EngineUnavailable(
            (
                (
                    f"the kernel of the engine `uml` is a program, and {kernel.folder} is mounted"
                    f" noexec"
                ),
            ),
            "XDG_CACHE_HOME=/another/folder, where programs may start; then the same command again",
        )
    return kernel


def build(progress: Callable[[str], None] = lambda _: None, tarball: Path | None = None) -> Kernel:
    """Build the kernel of the present recipe, or return it if it is there.

    progress: called with a line of text now and then. tarball: the kernel's source, instead of
    Debian's package. Needs no root: mmdebstrap uses user namespaces then. Raises EngineUnavailable
    when a tool is missing, the archive has no such source, a patch does not apply, or a build
    fails.
    """
    existing = find()
    if existing is not None:
        return existing
    require_mmdebstrap()
    if tarball is not None and not tarball.is_file():
        raise EngineUnavailable((f"{tarball} is not a file",), "name a linux-source tarball")
    with image.whole_build(folder()) as work:
        _compile(work, progress, tarball)
        for path in (source.CONFIGURATION, *source.BUILD):
            shutil.copy(path, work)
        shutil.copytree(source.PATCHES, work / "patches")
        sha256 = sha256_of(work / "kernel")
        manifest = {
            "recipe": source.recipe_hash(),
            "digest": image.digest(work),
            "kernel": (work / "version").read_text().strip(),
            "sha256": sha256,
        }
        (work / "kernel").chmod(0o755)
        image.write_manifest(work, manifest)
    return require()


def require_mmdebstrap() -> None:
    """Raise EngineUnavailable unless mmdebstrap is installed."""
    if shutil.which("mmdebstrap") is None:
        raise EngineUnavailable(
            ("mmdebstrap is not installed",),
            f"{to_install('mmdebstrap')}; or {LOAD}",
        )


def _compile(work: Path, progress: Callable[[str], None], tarball: Path | None) -> None:
    """Write the parts of the standard kernel and its source's archive into `work`."""
    fetch, packages = f'mv "$1/usr/src/{source.TARBALL}" "$1/build/"', [source.PACKAGE]
    if tarball is not None:
        fetch = f'cp {shlex.quote(str(tarball.absolute()))} "$1/build/{source.TARBALL}"'
        packages = []
    copy_in = [*source.BUILD, source.CONFIGURATION, source.PATCHES]
    parts = (*PARTS, source.TARBALL)
    in_debian(work, progress, copy_in, [fetch], "build.sh", parts, packages=packages)


def in_debian(
    work: Path,
    progress: Callable[[str], None],
    copy_in: Sequence[Path],
    fetch: Sequence[str],
    script: str,
    leaves: Sequence[str],
    what: str = "the kernel of the engine `uml`",
    remedy: str = OTHER_WAYS,
    packages: Sequence[str] = (),
) -> None:
    """Run a script in a Debian root with a compiler.

    copy_in: the files that it finds in its folder, /build. fetch: hooks of mmdebstrap that bring
    others. leaves: the files there that go to `work`. what, remedy: of the error. packages: further
    ones in the root than its own; they are only unpacked, in half the time of an installation.
    Raises EngineUnavailable.
    """
    here = shlex.quote
    files = " ".join(f"/build/{name}" for name in leaves)
    environment = " ".join(f"{name}={here(v)}" for name, v in source.BUILD_ENVIRONMENT.items())
    hooks = (
        'mkdir "$1/build"; ln -s mawk "$1/usr/bin/awk"',
        f"copy-in {' '.join(here(str(path)) for path in copy_in)} /build",
        *fetch,
        f'chroot "$1" env {environment} sh /build/{script}',
        f"copy-out {files} {here(str(work))}",
    )
    command = [
        *("mmdebstrap", "--variant=extract", "--format=null"),
        "--include=" + ",".join((*source.COMPILER_PACKAGES, *packages)),
        '--aptopt=Apt::Install-Recommends "false"',
        *(f"--extract-hook={hook}" for hook in hooks),
        *(recipe.SUITE, "/dev/null"),
        *recipe.PLAIN.sources(),
    ]
    log = cache_directory() / "kernels" / "build.log"
    locale = {"LC_ALL": "C"}
    with (
        log.open("w") as kept,
        image.building(command, locale, subprocess.PIPE, subprocess.STDOUT) as process,
    ):
        assert process.stdout is not None
        _follow(process.stdout, kept, progress)
        process.wait()
    if process.returncode:
        why = _failure(log.read_text())
        raise EngineUnavailable((f"{what} could not be built: {why} ({log})",), remedy)


def _follow(lines: IO[bytes], kept: IO[str], progress: Callable[[str], None]) -> None:
    """Keep the build's output, and report its progress."""
    files, reported_s, share = 0, time.monotonic(), -1.0
    for line in io.TextIOWrapper(lines, errors="replace"):
        kept.write(line)
        kept.flush()
        files += line.startswith("  CC ")
        for sign, begins, what in STEPS:
            if line.startswith(sign) and begins > share:
                share = begins
                progress(bar("kernel", share, what))
        if time.monotonic() > reported_s + REPORT_EVERY_S and files:
            part = min(1.0, files / FILES)
            share = COMPILING + part * (COMPILED - COMPILING)
            said = f"compiling, {files} of about {FILES} files"
            progress(bar("kernel", share, said))
            reported_s = time.monotonic()


def _failure(log: str) -> str:
    """Return why a build failed, from its output."""
    lines = log.splitlines()
    reasons = [
        line
        for line in lines
        if "error:" in line or line.startswith("E: ") or "FAILED" in line or "has no" in line
    ]
    why = (reasons or lines[-1:] or ["it printed nothing"])[0].strip()
    if any("Unable to locate package" in line or "No packages found" in line for line in lines):
        why = f"Debian has no {source.PACKAGE} any more"
    if (broken := [line for line in lines if line.startswith("applying ")]) and "FAILED" in why:
        patch = broken[-1].removeprefix("applying ")
        whose = "your patch" if (own := _YOURS.match(patch)) else "the engine's patch"
        why = f"{whose} {patch[own.end() if own else 0 :]} does not apply: {why}"
    return why

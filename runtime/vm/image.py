"""The image of the engines in virtual time: a Debian root file system, and the kernel of `vm`;
built and cached.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from fairc.compiler.files import content, sha256_of
from fairc.dsl.core.cache import cache_directory
from fairc.runtime.formatting import bar
from fairc.runtime.host import clean, supervisor
from fairc.runtime.host.faults import EngineUnavailable, NotBuilt, to_install

from . import recipe, verified

# How long a build that is stopped may take to clean up: as a user, mmdebstrap's files are not this
# user's.
GRACE_S = 20.0
BUILD_COMMAND = "fairc image build"
LOAD_COMMAND = "fairc image load FILE"
NO_KERNEL = "none"
BLOCK = 4096
# How the line of mmdebstrap begins with which a step does, how much is done then, and what it does.
STEPS = (
    ("I: running apt-get update", 0.0, "asking Debian's mirror"),
    ("I: downloading packages with apt", 0.1, "fetching packages"),
    ("I: extracting archives", 0.4, "unpacking them"),
    ("I: installing essential packages", 0.5, "installing the essential ones"),
    ("I: installing remaining packages", 0.6, "installing the others"),
    ("I: running --", 0.75, "leaving out what no cell needs"),
    ("I: creating tarball", 0.9, "packing them"),
)
TOOLS = {"mmdebstrap": "mmdebstrap", "genext2fs": "genext2fs"}


@dataclass(frozen=True)
class Image:
    """A built image.

    variant: the kind of image. folder: holds `root.ext2`, `busybox`, `packages.txt`,
    `manifest.json`; unless it is bare also `vmlinuz`, `modules/*.ko`. recipe: hash of its recipe.
    digest: SHA-256 over its files. kernel: its release; of a bare image NO_KERNEL.
    """

    variant: recipe.Variant
    folder: Path
    recipe: str
    digest: str
    kernel: str

    @property
    def root(self) -> Path:
        """The root file system."""
        return self.folder / "root.ext2"

    @property
    def vmlinuz(self) -> Path:
        """The kernel."""
        return self.folder / "vmlinuz"

    @property
    def busybox(self) -> Path:
        """The static busybox that the initramfs runs."""
        return self.folder / "busybox"

    def root_modules(self) -> list[tuple[str, bytes]]:
        """Return (name, content) of the modules that find the root file system, in order."""
        return [
            (name, (self.folder / "modules" / f"{name}.ko").read_bytes())
            for name in recipe.ROOT_MODULES
        ]

    def verify(self, whole: bool = False) -> None:
        """Raise EngineUnavailable unless the files are those that were built.

        They are read once (60 MB, that of `vm` 450 MB), and again when the size, inode or times of
        one changed; `whole`: read them now in any case.
        """

        def found_well() -> bool:
            return digest(self.folder) == self.digest

        note = self.folder.with_suffix(".verified")
        if not verified.known_or(note, self.folder.rglob("*"), found_well, whole=whole):
            raise EngineUnavailable(
                (f"the image in {self.folder} is damaged: its hash is not the one recorded",),
                f"fairc image rm; {build_command(self.variant)}",
            )

    def size_bytes(self) -> int:
        """Return its size on disk."""
        return sum(p.stat().st_blocks * 512 for p in self.folder.rglob("*") if p.is_file())


def folder(variant: recipe.Variant = recipe.UML) -> Path:
    """Return where the image of a variant's present recipe belongs."""
    return cache_directory() / "images" / variant.hash()


def find(variant: recipe.Variant = recipe.UML) -> Image | None:
    """Return the image of a variant's present recipe if it has been built.

    Raises EngineUnavailable when its manifest is malformed.
    """
    place = folder(variant)
    try:
        manifest = described(content(place / "manifest.json"))
    except FileNotFoundError:
        return None
    except (ValueError, OSError):
        raise EngineUnavailable(
            (f"the image in {place} is damaged: its manifest.json does not describe it",),
            f"fairc image rm; {build_command(variant)}",
        ) from None
    return Image(variant, place, manifest["recipe"], manifest["digest"], manifest["kernel"])


_MANIFEST = {
    "recipe": re.compile("[0-9a-f]{16}"),
    "digest": re.compile("[0-9a-f]{64}"),
    "kernel": re.compile("[0-9A-Za-z][0-9A-Za-z.+~_-]{0,99}"),
}


def described(content: bytes) -> dict[str, str]:
    """Return the manifest of an image or a kernel. Raises ValueError where it is malformed."""
    try:
        document = json.loads(content)
    except RecursionError:
        raise ValueError("too deep") from None
    found: dict[str, str] = {}
    for name, pattern in _MANIFEST.items():
        value = document.get(name) if isinstance(document, dict) else None
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(f"its `{name}` is none")
        found[name] = value
    return found


def require(variant: recipe.Variant = recipe.UML) -> Image:
    """Return the verified image; raise EngineUnavailable with the commands that build or load
    it.
    """
    image = find(variant)
    if image is None:
        raise NotBuilt(
            f"the virtual machine's image{recipe.suffix(variant)} has not been built",
            f"{build_command(variant)}; for one that other machines have too: {LOAD_COMMAND}",
            f"{variant.size_mb} MB",
            partial(build, variant),
        )
    image.verify()
    return image


def build_command(variant: recipe.Variant) -> str:
    """Return the command that builds an image."""
    options = {recipe.PLAIN: " --engine vm", recipe.BROWSER: " --browser"}
    return BUILD_COMMAND + options.get(variant, "")


def remove() -> list[Path]:
    """Remove every image, kernel, module and snapshot from the cache; return what was removed."""
    removed = []
    for name in ("bytecode", "images", "kernels", "modules", "snapshots"):
        path = cache_directory() / name
        if path.exists():
            shutil.rmtree(path)
            removed.append(path)
    return removed


def build(
    variant: recipe.Variant = recipe.UML, progress: Callable[[str], None] = lambda _: None
) -> Image:
    """Build the image of a variant's present recipe, or return it if it is there.

    progress: called with a line of text at every step. Needs no root: mmdebstrap uses user
    namespaces then. Raises EngineUnavailable when a tool is missing or the build fails.
    """
    existing = find(variant)
    if existing is not None:
        return existing
    _require_tools(TOOLS)
    with whole_build(folder(variant)) as work:
        make_root(variant, work / "root.tar", progress)
        progress(bar(f"image {variant.name}", 0.95, "making the root file system"))
        _unpack_boot_files(variant, work / "root.tar", work)
        _make_file_system(work / "root.tar", work / "root.ext2", variant.blocks, variant.inodes)
        (work / "root.tar").unlink()
        manifest = {"recipe": variant.hash(), "kernel": NO_KERNEL}
        if not variant.bare:
            manifest["kernel"] = (work / "kernel-release").read_text().strip()
        write_manifest(work, manifest | {"digest": digest(work)})
    return require(variant)


@contextmanager
def whole_build(target: Path) -> Iterator[Path]:
    """Give a folder to build in that then takes the place of `target`, as a whole; a failed build
    leaves none.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    clean.remove_temporary(target.parent)  # what killed builds left
    prefix = supervisor.temporary_prefix("building")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=prefix) as temporary:
        work = Path(temporary)
        work.chmod(0o755)  # mmdebstrap's user namespace has to enter it
        yield work
        finished = work.parent / f"{work.name}done"
        work.rename(finished)
        work.mkdir()  # the context manager removes its folder
        try:
            finished.rename(target)
        except OSError:  # somebody else has built it meanwhile
            shutil.rmtree(finished)


def write_manifest(folder: Path, manifest: Mapping[str, object]) -> None:
    """Write what a build says of itself."""
    text = json.dumps(manifest, indent=2, sort_keys=True) + "\n"
    (folder / "manifest.json").write_text(text)


def make_root(variant: recipe.Variant, tarball: Path, progress: Callable[[str], None]) -> None:
    """Write the root file system of a recipe as an archive, with `build.log` next to it.

    Raises EngineUnavailable when mmdebstrap is missing or fails.
    """
    when = "extract" if variant.bare else "customize"
    command = [
        *("mmdebstrap", "--variant=extract" if variant.bare else "--variant=minbase"),
        "--include=" + ",".join(variant.packages),
        '--aptopt=Apt::Install-Recommends "false"',
        *(f'--{when}-hook={recipe.GUEST / hook} "$1"' for hook in variant.hooks),
        recipe.SUITE,
        str(tarball),
        *variant.sources(),
    ]
    bootstrap(f"image {variant.name}", command, tarball, progress, build_command(variant))


def _require_tools(tools: Iterable[str]) -> None:
    """Raise EngineUnavailable unless these tools are installed."""
    missing = [TOOLS[tool] for tool in tools if shutil.which(tool) is None]
    if missing:
        raise EngineUnavailable(
            tuple(f"{name} is not installed" for name in missing),
            f"{to_install(*missing)}; or {LOAD_COMMAND}, with what another machine saved",
        )


def bootstrap(
    what: str, command: Sequence[str], tarball: Path, progress: Callable[[str], None], again: str
) -> None:
    """Run a command of mmdebstrap that writes an archive, with `build.log` next to it.

    what: is built, for progress. again: the command of fairc that builds it. Raises
    EngineUnavailable when mmdebstrap is missing or fails.
    """
    _require_tools(["mmdebstrap"])
    log = tarball.with_name("build.log")
    environment = {
        "SOURCE_DATE_EPOCH": str(recipe.SOURCE_DATE_EPOCH),
        "FAIRC_KERNEL_SERIES": recipe.KERNEL_SERIES,
        "LC_ALL": "C",
    }
    done = -1.0
    with (
        log.open("w") as kept,
        building(command, environment, subprocess.PIPE, subprocess.STDOUT) as process,
    ):
        assert process.stdout is not None
        with io.TextIOWrapper(process.stdout, errors="replace") as lines:
            for line in lines:
                kept.write(line)
                kept.flush()
                for sign, share, step in STEPS:
                    if line.startswith(sign) and share > done:
                        done = share
                        progress(bar(what, share, step))
        process.wait()
    if process.returncode:
        errors = [line for line in log.read_text(errors="replace").splitlines() if line[:2] == "E:"]
        why = errors[0] if errors else "it printed no reason"
        raise EngineUnavailable((f"mmdebstrap could not build the image: {why}",), again)


@contextmanager
def building(
    command: Sequence[str], environment: Mapping[str, str], stdout: IO[bytes] | int, stderr: Any
) -> Iterator[supervisor.Child]:
    """Run mmdebstrap; if it is killed, it leaves no mount, and this run or the next removes its
    files.

    As root it mounts `/proc`, `/sys` and parts of `/dev`, in its own mount namespace, which ends
    with it.
    """
    clean.remove_temporary()  # what killed builds left
    prefix = supervisor.temporary_prefix("root")
    own = ["unshare", "--mount"] if os.geteuid() == 0 and _can_unshare() else []
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as place:
        Path(place).chmod(0o755)  # mmdebstrap's user namespace has to enter it
        env = {**os.environ, **environment, "TMPDIR": place}
        with supervisor.start(
            [*own, *command], stdout=stdout, stderr=stderr, env=env, grace_s=GRACE_S
        ) as process:
            yield process
            process.wait()


def _can_unshare() -> bool:
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return done.returncode == 0


def _unpack_boot_files(variant: recipe.Variant, tarball: Path, target: Path) -> None:
    """Extract from the archive what the machine needs before it has a root file system."""
    plain = {
        "./bin/busybox": "busybox",
        "./usr/bin/busybox": "busybox",
        "./usr/share/fairc/packages.txt": "packages.txt",
    }
    modules: dict[str, str] = {}
    if not variant.bare:
        plain["./boot/vmlinuz"] = "vmlinuz"
        plain["./usr/share/fairc/kernel-release"] = "kernel-release"
        modules = {f"{name}.ko.xz": f"modules/{name}.ko" for name in recipe.ROOT_MODULES}
    if modules:
        (target / "modules").mkdir()
    with tarfile.open(tarball) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is None:
                continue
            if member.name in plain:
                (target / plain[member.name]).write_bytes(file.read())
            elif (name := member.name.rpartition("/")[2]) in modules:
                (target / modules[name]).write_bytes(lzma.decompress(file.read()))
    absent = [name for name in (*plain.values(), *modules.values()) if not (target / name).exists()]
    if absent:
        raise EngineUnavailable(
            (f"the image lacks {', '.join(sorted(set(absent)))}",), build_command(variant)
        )


def _make_file_system(tarball: Path, target: Path, blocks: int, inodes: int) -> None:
    """Turn an archive into an ext2 file system, in the archive's order, with all times zero."""
    subprocess.run(
        [
            "genext2fs",
            f"--block-size={BLOCK}",
            f"--size-in-blocks={blocks}",
            f"--number-of-inodes={inodes}",
            "--reserved-percentage=0",
            "--faketime",
            f"--tarball={tarball}",
            str(target),
        ],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def digest(work: Path) -> str:
    """Return the SHA-256 over names and contents of the files that determine what an image or a
    kernel does.
    """
    total = hashlib.sha256()
    for path in sorted(p for p in work.rglob("*") if p.is_file()):
        if path.name not in ("root.tar", "build.log", "manifest.json"):
            total.update(f"{path.relative_to(work)} {sha256_of(path)}\n".encode())
    return total.hexdigest()

"""What the `uml` engine's kernel is built from, and custom kernels of `uml` and `vm`. A hash of it
names the built kernel.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

from fairc.runtime.vm import recipe

HERE = Path(__file__).parent
PATCHES = HERE / "patches"
CONFIGURATION = HERE / "kernel.config"
# The script that builds, the compiler that it calls, the headers that this compiles first, and what
# then gathers all that modules are compiled with.
BUILD = (HERE / "build.sh", HERE / "cc.sh", HERE / "headers.h", HERE / "modules.sh")

# Prepares the source of a custom kernel for it.
OWN = HERE / "own.sh"
# For the engine `vm`: what is configured otherwise, and what then stands for `make`.
X86_CONFIGURATION, X86_MAKE = HERE / "x86.config", HERE / "make-x86.sh"

# Debian keeps only the newest version of a series: the recipe names the series, and the engine's
# identity includes the hash of the built kernel.
PACKAGE = f"linux-source-{recipe.KERNEL_SERIES}"
TARBALL = f"{PACKAGE}.tar.xz"

COMPILER_PACKAGES = (
    *("bc", "bison", "flex", "gcc", "genext2fs", "libc6-dev", "make", "patch", "xz-utils"),
    # And what every Debian has.
    *("base-files", "bash", "coreutils", "dash", "diffutils", "findutils", "grep", "gzip"),
    *("hostname", "libc-bin", "mawk", "perl-base", "sed", "tar"),
)

# Two builds of the same source are the same bytes.
BUILD_ENVIRONMENT = {
    "KBUILD_BUILD_HOST": "fairc",
    "KBUILD_BUILD_TIMESTAMP": "Wed Jan 1 00:00:00 UTC 2020",
    "KBUILD_BUILD_USER": "fairc",
    "KBUILD_BUILD_VERSION": "1",
    "LC_ALL": "C",
    "TZ": "UTC",
}


def patches() -> list[Path]:
    """Return the patches in the order in which they apply."""
    return sorted(PATCHES.glob("*.patch"))


def recipe_hash() -> str:
    """Return the hash of everything that determines the kernel, 16 hex digits."""
    parts = {
        "suite": recipe.SUITE,
        "series": recipe.KERNEL_SERIES,
        "packages": COMPILER_PACKAGES,
        "environment": BUILD_ENVIRONMENT,
        "configuration": CONFIGURATION.read_text(),
        "script": [path.read_text() for path in BUILD],
        "patches": {patch.name: patch.read_text() for patch in patches()},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Platform:
    """What custom kernels of an engine are compiled for.

    fragments: of the configuration; a later one decides. scripts: what builds. packages: Debian's,
    in addition to the compiler's. oldest: the first version supported; empty: any. files: about how
    many are compiled, for the progress of a build.
    """

    engine: str
    fragments: tuple[Path, ...]
    scripts: tuple[Path, ...]
    packages: tuple[str, ...] = ()
    oldest: tuple[int, ...] = ()
    files: int = 750


UML = Platform("uml", (CONFIGURATION,), (*BUILD, OWN), oldest=(6, 16))
"""User-Mode Linux, which has seccomp mode from that version on: the engine's patches follow it."""

VM = Platform(
    "vm",
    (CONFIGURATION, X86_CONFIGURATION),
    (*BUILD, OWN, X86_MAKE),
    # pahole and Python, for the types by which BPF is loaded; objtool's library.
    packages=("dwarves", "libelf-dev", "python3", "zlib1g-dev"),
    files=1500,
)
"""The machine of QEMU."""

PLATFORMS = {platform.engine: platform for platform in (UML, VM)}

RADIO = "CONFIG_NET_SCH_RADIO=y"


@dataclass(frozen=True)
class Own:
    """What a custom kernel is compiled from.

    name: as `hosts { kernel = NAME }` has it. tree: a folder with its source, or an archive of one;
    None: the standard kernel's. patches: applied to it in this order, before those of the engine.
    config: a fragment that goes before the engine's, or None. platform: what it is compiled for.
    """

    name: str
    tree: Path | None = None
    patches: tuple[Path, ...] = ()
    config: Path | None = None
    platform: Platform = UML

    def configuration(self) -> str:
        """Return the fragment to build with: the engine's, less what this one sets itself."""
        first, *others = self.platform.fragments
        if self.config is not None:
            others.append(self.config)
        merged = first.read_text()
        for fragment in others:
            own = fragment.read_text()
            decided = set(_OPTION.findall(own))
            usual = (
                line
                for line in merged.splitlines()
                if not decided.intersection(_OPTION.findall(line))
            )
            merged = "\n".join((*usual, own))
        return merged

    def engine_patches(self) -> list[Path]:
        """Return the engine's patches in their order: on `vm`, where no other is needed, that of
        radio links, and not even that where this kernel goes without them.
        """
        if self.platform is UML:
            return patches()
        return [recipe.RADIO_PATCH] if RADIO in self.configuration().splitlines() else []

    def recipe_hash(self, tree: str) -> str:
        """Return the hash of everything that determines the kernel, 16 hex digits.

        tree: the hash of its source.
        """
        parts: dict[str, object] = {
            "standard": recipe_hash(),
            "tree": tree,
            "script": OWN.read_text(),
            "configuration": self.configuration(),
            "patches": [patch.read_text(errors="replace") for patch in self.patches],
        }
        if self.platform is not UML:
            parts["platform"] = [self.platform.engine, X86_MAKE.read_text(), self.platform.packages]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


_OPTION = re.compile(r"^(?:# )?(CONFIG_\w+)(?:=| is not set)", re.MULTILINE)
_LINE = re.compile(r"CONFIG_\w+=\S.*|# CONFIG_\w+ is not set|#.*|\s*")


def config_fault(config: Path) -> str:
    """Return what is wrong with a fragment of a configuration; empty: nothing."""
    try:
        text = config.read_text()
    except UnicodeDecodeError:
        return f"{config} is not text"
    for number, line in enumerate(text.splitlines(), 1):
        if not _LINE.fullmatch(line):
            return f"{config}:{number} is no line of a kernel's configuration: {line[:80]!r}"
    return ""


def source_fault(tree: Path, platform: Platform) -> str:
    """Return why this is no kernel's source for a platform; empty where it may be."""
    if tree.is_file():
        return "" if tarfile.is_tarfile(tree) else f"{tree} is not a tarball"
    if not tree.is_dir():
        return f"{tree} does not exist"
    if not (tree / "arch" / "um" / "Kconfig").is_file():
        return f"{tree} is not a kernel's source: it has no arch/um/Kconfig"
    makefile = (tree / "Makefile").read_text(errors="replace")
    found = re.findall(r"^(?:VERSION|PATCHLEVEL) = (\d+)$", makefile, re.MULTILINE)
    version = tuple(map(int, found))
    if version < platform.oldest:
        return (
            f"{tree} is Linux {'.'.join(found)}: the engine {platform.engine} runs kernels from"
            f" {'.'.join(map(str, platform.oldest))} on"
        )
    return ""

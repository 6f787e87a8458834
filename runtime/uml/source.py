"""Sources of the `uml` engine's kernel, and of custom kernels. A hash of them names the built
kernel.
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


OLDEST = (6, 16)
"""The first version of a custom kernel: User-Mode Linux has seccomp mode from it on, which the
engine's patches follow.
"""


@dataclass(frozen=True)
class Own:
    """The sources of a custom kernel.

    name: as `hosts { kernel = NAME }` has it. tree: a folder with its source, or an archive of one;
    None: the standard kernel's. patches: applied to it in this order, before those of the engine.
    config: a fragment that goes before the engine's, or None.
    """

    name: str
    tree: Path | None = None
    patches: tuple[Path, ...] = ()
    config: Path | None = None

    def configuration(self) -> str:
        """Return the fragment to build with: the engine's, less what this one sets itself."""
        standard = CONFIGURATION.read_text()
        if self.config is None:
            return standard
        own = self.config.read_text()
        decided = set(_OPTION.findall(own))
        usual = (
            line
            for line in standard.splitlines()
            if not decided.intersection(_OPTION.findall(line))
        )
        return "\n".join((*usual, own))

    def recipe_hash(self, tree: str) -> str:
        """Return the hash of everything that determines the kernel, 16 hex digits.

        tree: the hash of its source.
        """
        parts = {
            "standard": recipe_hash(),
            "tree": tree,
            "script": OWN.read_text(),
            "configuration": self.configuration(),
            "patches": [patch.read_text(errors="replace") for patch in self.patches],
        }
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


def source_fault(tree: Path) -> str:
    """Return why this is no source of a custom kernel; empty where it may be."""
    if tree.is_file():
        return "" if tarfile.is_tarfile(tree) else f"{tree} is not a tarball"
    if not tree.is_dir():
        return f"{tree} does not exist"
    if not (tree / "arch" / "um" / "Kconfig").is_file():
        return f"{tree} is not a kernel's source: it has no arch/um/Kconfig"
    makefile = (tree / "Makefile").read_text(errors="replace")
    found = re.findall(r"^(?:VERSION|PATCHLEVEL) = (\d+)$", makefile, re.MULTILINE)
    version = tuple(map(int, found))
    if version < OLDEST:
        return (
            f"{tree} is Linux {'.'.join(found)}: the engine uml runs kernels from"
            f" {'.'.join(map(str, OLDEST))} on"
        )
    return ""

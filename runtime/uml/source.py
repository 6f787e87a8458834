"""The version and the changes of the `uml` engine's kernel. Their hash names the built kernel."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from fairc.runtime.vm import recipe

HERE = Path(__file__).parent
PATCHES = HERE / "patches"
CONFIGURATION = HERE / "kernel.config"
# The script that builds, the compiler that it calls, and the headers that this compiles first.
BUILD = (HERE / "build.sh", HERE / "cc.sh", HERE / "headers.h")

# Debian keeps only the newest version of a series: the recipe names the series, and the engine's
# identity includes the hash of the built kernel.
PACKAGE = f"linux-source-{recipe.KERNEL_SERIES}"
TARBALL = f"{PACKAGE}.tar.xz"

# How many files are compiled; for the progress of a build.
OBJECTS = 836

COMPILER_PACKAGES = ("bc", "bison", "flex", "gcc", "libc6-dev", "make", "patch", "xz-utils")

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

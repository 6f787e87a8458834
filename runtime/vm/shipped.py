"""The machine of the engine `uml` as the package `fairc-machine` brings it: a file of
`fairc image save`.

It is unpacked into the cache when it is first needed. Whoever installed the package trusts its
kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from fairc.dsl.core.cache import cache_directory
from fairc.runtime.host.faults import EngineUnavailable

from . import portable, recipe

PACKAGE, FILE = "fairc_machine", "machine.tar.zst"
INSTALL_COMMAND = "pip install fairc-*.whl fairc_machine-*.whl"  # of one `make wheels`
UNPACKED_MB = 80


def file() -> Path | None:
    """Return the file of the installed package, or None."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).with_name(FILE)


def install(kernel_recipe: str, progress: Callable[[str], None] = lambda _: None) -> None:
    """Load the package's kernel and image into the cache, unless both are there or there is no such
    package.

    kernel_recipe: hash of the recipe of the kernel. Raises EngineUnavailable when the package is of
    another version, and when the cache cannot be written.
    """
    recipes = {"kernels": (kernel_recipe,), "images": (recipe.UML.hash(),)}
    cache = cache_directory()
    places = (cache / kind / wanted for kind, (wanted,) in recipes.items())
    source = file()
    if source is None or all(place.exists() for place in places):
        return
    progress(f"unpacking the machine of the engine uml into {cache}")
    try:
        portable.load(source, recipes, trusted=recipes)
    except portable.ImageFileError as error:
        raise EngineUnavailable((str(error),), INSTALL_COMMAND) from None
    except OSError as error:
        raise EngineUnavailable(
            (f"the machine of the engine uml cannot be unpacked into {cache}: {error.strerror}",),
            (
                f"XDG_CACHE_HOME=/another/folder with {UNPACKED_MB} MB of space; then the same"
                f" command again"
            ),
        ) from None

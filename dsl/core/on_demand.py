"""Names of a package that are imported where they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def on_demand(package: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package.

    names: module, as an import in the package has it (`.links`) -> what the package offers of it,
    separated by blanks.
    """
    homes = {name: module for module, several in names.items() for name in several.split()}

    def __getattr__(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(homes[name], package), name)
        setattr(sys.modules[package], name, found)
        return found

    return __getattr__

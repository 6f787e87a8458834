"""The kinds of fault: each module registers its own with `@fault`."""

from importlib import import_module
from pkgutil import iter_modules

from torture.fault import FAULTS

for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __name__)

__all__ = ["FAULTS"]

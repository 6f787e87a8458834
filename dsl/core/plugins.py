"""Entries that other packages add to the registries through entry points: `fairc.queues`,
`fairc.metrics`, ...

An entry point names an object of the type that the registry holds (docs/build/plugins.md). What
cannot be loaded is left out, kept here, and reported by `fairc check` and `fairc doctor`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, distributions, entry_points
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

SEPARATE: Mapping[str, str] = dict.fromkeys(
    ("deviations", "loss_window", "ranges", "spectrum"), "deviations"
)
"""Metrics and figures that a release has in wheels of their own -> the folder in `plugins/`."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point that was found: its group, name and package; why: the reason it cannot be
    used, if any.
    """

    group: str
    name: str
    package: str
    why: str = ""

    def __str__(self) -> str:
        """Name it with its package."""
        return f"`{self.name}` of {self.package} ({self.group})"


class Modular(Protocol):
    """An entry with a module of its own; module: its full name, empty for an entry of fairc."""

    @property
    def name(self) -> str: ...
    @property
    def module(self) -> str: ...


SEEN: dict[tuple[str, str, str], Plugin] = {}
"""Every plug-in seen so far."""


def offer(name: str) -> str | None:
    """Return how to get the package that has a metric or figure of this name, if we release one."""
    if not (folder := SEPARATE.get(name)):
        return None
    wheel, clone = f"pip install fairc_{folder}-*.whl", f".venv/bin/pip install ./plugins/{folder}"
    return (
        f"install its package: `{wheel}` in the folder of the other wheels, or `{clone}` in a clone"
    )


def failed() -> list[Plugin]:
    """Return the plug-ins that cannot be used."""
    return [plugin for plugin in SEEN.values() if plugin.why]


def packages() -> set[str]:
    """Return the names of the installed packages that add words, and of those that they require."""
    adding = [
        package
        for package in distributions()
        if any(point.group.startswith("fairc.") for point in package.entry_points)
    ]
    required = (line for package in adding for line in package.requires or () if ";" not in line)
    names = {match[0] for line in required if (match := re.match(r"[\w.-]+", line))}
    return {package.name for package in adding} | names - {"fairc"}


def load(group: str, kind: type) -> Iterator[tuple[EntryPoint, object]]:
    """Yield a group's entry points with their objects of one type; note what is wrong with the
    rest.
    """
    points: EntryPoints = _points().select(group=group)
    for point in sorted(points, key=lambda point: point.name):
        try:
            found = point.load()
        except Exception as error:  # noqa: BLE001 (third-party code may raise anything)
            note(point, f"{type(error).__name__}: {error}")
            continue
        if isinstance(found, kind):
            yield point, found
        else:
            note(point, f"{point.value} is not of type {kind.__name__}")


@cache
def _points() -> Any:
    """Return all entry points, to `select` from: to read those of a hundred packages takes 3 ms."""
    return entry_points()


def attempt(group: str, name: str, build: Callable[[], T]) -> T | None:
    """Return what a plug-in's own module makes, or None after noting why it cannot be used."""
    try:
        return build()
    except Exception as error:  # noqa: BLE001 (third-party code may raise anything)
        for key, plugin in SEEN.items():
            if key[:2] == (group, name):
                SEEN[key] = replace(
                    plugin, why=" ".join(f"{type(error).__name__}: {error}".split())
                )
        return None


def members(entries: Iterable[Modular], group: str, package: str, member: str) -> Iterator[Any]:
    """Yield a member of each entry's module: the one that the entry gives, or the one of its name
    in a package.

    A plug-in's module that fails is noted and left out.
    """
    for entry in entries:
        if not entry.module:
            yield _member(f"{package}.{entry.name}", member)
        elif found := attempt(group, entry.name, partial(_member, entry.module, member)):
            yield found


def _member(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def note(point: EntryPoint, why: str = "") -> None:
    """Remember a plug-in and, if it cannot be used, why."""
    package = point.dist.name if point.dist else "an unknown package"
    plugin = Plugin(point.group, point.name, package, " ".join(why.split()))
    SEEN[plugin.group, plugin.name, plugin.package] = plugin

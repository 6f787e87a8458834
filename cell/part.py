"""Parts of a plan: what makes a dataclass one, and which of its fields the JSON leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

from .frames import MTU


class Part:
    """A part of a plan: a frozen dataclass, the same in a plan, an emitted program and a conductor.

    Where a plan is read or written pydantic checks it as this says: nothing unknown, nothing
    converted, and what a compiler has made as well as what comes from outside.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, object]] = {
        "strict": True,
        "extra": "forbid",
        "revalidate_instances": "always",
    }


P = TypeVar("P", bound=Part)
Q = TypeVar("Q", bound=Part)


class Kinds(Generic[P]):
    """The kinds of a part: classes that their field `kind` tells apart. An annotation.

    pydantic asks it where a part is read or written, and takes any of the kinds that have been
    added until then.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, type[Any]] = {}
        self._whole: Kinds[P] = self
        self._chosen: Callable[[type[P]], bool] = lambda kind: True

    def add(self, kind: type[Q]) -> type[Q]:
        """Add a kind, and return it. Raises ValueError if another one has its name."""
        name = kind.__dataclass_fields__["kind"].default  # type: ignore[attr-defined]
        if self._kinds.setdefault(name, kind) is not kind:
            raise ValueError(f"two kinds of a part are called {name!r}")
        return kind

    def where(self, chosen: Callable[[type[P]], bool]) -> Kinds[P]:
        """Return those of the kinds that are chosen, whenever they are added."""
        some: Kinds[P] = Kinds()
        some._whole, some._chosen = self, chosen
        return some

    def __iter__(self) -> Iterator[type[P]]:
        return filter(self._chosen, self._whole._kinds.values())

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        """Return pydantic's description of one of the kinds; of none, where there is none."""
        choices = {
            name: handler.generate_schema(kind)
            for name, kind in self._whole._kinds.items()
            if self._chosen(kind)
        }
        if not choices:
            return {"type": "is-instance", "cls": source}
        return {
            "type": "tagged-union",
            "discriminator": "kind",
            "choices": choices,
            "from_attributes": True,
        }


def unless(default: object) -> dict[str, Any]:
    """Return the metadata of a field that is left out of the JSON where it has this value."""
    return {"exclude_if": lambda value: value == default}


UNLESS_ABSENT, UNLESS_OFF, UNLESS_EMPTY, UNLESS_USUAL = map(unless, (None, False, (), MTU))
"""Metadata of fields that are not in the JSON where they have no value, so that they leave
identities alone.
"""

"""Web pages."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairc.dsl.core.source import Span

from .inputs import Input


@dataclass(frozen=True, slots=True)
class PageObject:
    """An object of a web page: where it is offered, its MIME type, the position of what names it.

    parent: None for the document, which is the first object; else less than its own position.
    """

    path: str
    size_bytes: int
    type: str
    parent: int | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Page:
    """A web page: its document, then all else in the order in which it is asked for.

    file: the recording that it comes from. remarks: what the page does not have of it.
    """

    objects: tuple[PageObject, ...]
    file: Input | None = None
    remarks: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Bytes of all objects."""
        return sum(item.size_bytes for item in self.objects)

    @property
    def depth(self) -> int:
        """How many objects are asked for one after the other, the document included."""
        levels: list[int] = []
        for item in self.objects:
            levels.append(1 if item.parent is None else levels[item.parent] + 1)
        return max(levels)

"""Web pages."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairc.dsl.core.source import Span

from .requests import Input


@dataclass(frozen=True, slots=True)
class PageObject:
    """An object of a web page.

    path: where it is served. type: its MIME type. parent: the position of the object that refers to
    it, less than its own; None for the document, which is the first object.
    """

    path: str
    size_bytes: int
    type: str
    parent: int | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Page:
    """A web page: its document, then all other objects in the order of their requests.

    file: the recording that it comes from. remarks: what the page leaves out of it.
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
        """The length of the longest chain of requests, including the document."""
        levels: list[int] = []
        for item in self.objects:
            levels.append(1 if item.parent is None else levels[item.parent] + 1)
        return max(levels)

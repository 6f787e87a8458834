"""Source texts and the places in them that a diagnostic can point at."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property


def printable(text: str, instead: str = "?") -> str:
    """Return a text with another character in place of each that does not print."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else instead for char in text)


@dataclass(frozen=True, eq=False)
class Source:
    """One `.fexp` text.

    name: what messages call it (a path as the user gave it, or `<preset bottleneck>`).
    text: the whole text; all offsets are characters into it.
    attached: the files it names that have been read, by path as it gives them. hashes: SHA-256 of
    some of them.
    """

    name: str
    text: str = field(repr=False)
    attached: dict[str, bytes] = field(default_factory=dict, repr=False)
    hashes: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def base_name(self) -> str:
        """The name without its folders, for plans: they must not depend on where the file is.

        A file may have any name; characters that do not print become question marks.
        """
        return printable(self.name.rpartition("/")[2])

    @property
    def is_preset(self) -> bool:
        """Whether it is a topology that ships with fairc."""
        return self.name.startswith("<preset ")

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(i + 1 for i, char in enumerate(self.text) if char == "\n")]

    def position(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column (in characters) of an offset."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the text of a 1-based line, without its line end."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters, `[start, end)`, in a source."""

    source: Source = field(repr=False)
    start: int
    end: int

    @property
    def text(self) -> str:
        """The characters that the span covers."""
        return self.source.text[self.start : self.end]

    @property
    def one_line(self) -> str:
        """The same on one line."""
        return " ".join(self.text.split())

    def first(self, count: int) -> Span:
        """Return its first characters."""
        return Span(self.source, self.start, self.start + count)

    @property
    def line(self) -> int:
        """The 1-based line of the first character."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """The 1-based column of the first character."""
        return self.source.position(self.start)[1]

    def __str__(self) -> str:
        """Write `file:line`, the form that emitted programs carry in comments."""
        return f"{self.source.base_name}:{self.line}"

"""A study's page: written by hand, except for the parts between marks, which come from its run.

    <!-- facts -->                              how many cells, their verdicts, cost, machine
    <!-- claims -->                             the claims and their verdicts
    <!-- table: METRIC [--by A,B] ... -->       what `fairc table` prints with these arguments
    <!-- sql: SELECT ... -->                    rows of the run's tables (docs/reference/tables.md);
                                                may have several lines
    <!-- end -->                                ends each of them

A picture from the run is a link to `../img/STUDY/FIGURE.svg`: it is copied from the figures of the
run.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping

WIDTH = 100
"""Of lines of prose, in characters."""
Writers = Mapping[str, Callable[[str], str]]
"""Word of a mark -> the function that writes its part, given the text after the colon, if any."""

_PART = re.compile(
    r"<!-- (?P<kind>\w+)(?P<asked>:(?:(?!-->).)*)? -->\n(?:(?!<!-- ).)*?<!-- end -->", re.DOTALL
)
_MARK = re.compile(r"<!-- \w+")


class BrokenPage(ValueError):
    """A mark of the page has no end, an end has no mark, or a mark is of an unknown kind."""


def filled(text: str, writers: Writers) -> str:
    """Return a page with its parts rewritten. Raises BrokenPage and what the writers raise."""

    def part(found: re.Match[str]) -> str:
        kind, asked = found["kind"], found["asked"] or ""
        if kind not in writers:
            raise BrokenPage(f"`{kind}` is no mark of a page; there are {', '.join(writers)}")
        # Lines of prose are wrapped, also within a quoted name.
        content = writers[kind](" ".join(asked.removeprefix(":").split()))
        return f"<!-- {kind}{asked} -->\n{wrapped(content.strip())}\n<!-- end -->"

    rest = _PART.sub("", text)
    if stray := _MARK.search(rest):
        line = rest.count("\n", 0, stray.start()) + 1
        raise BrokenPage(f"`{stray[0]}` is not one of a pair (line {line} without the other parts)")
    return _PART.sub(part, text)


def wrapped(text: str) -> str:
    """Wrap what is no table as the prose of the pages is."""
    return "\n".join(
        line if line.startswith("|") else textwrap.fill(line, WIDTH) for line in text.split("\n")
    )


def pictures(text: str, study: str) -> Iterator[str]:
    """Yield the figures of the run that a page shows, each by its file name."""
    yield from dict.fromkeys(
        re.findall(rf"\]\((?:\.\./)+img/{re.escape(study)}/([\w.-]+\.svg)\)", text)
    )

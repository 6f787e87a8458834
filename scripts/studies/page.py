"""A study's page: written by hand, but for the parts between marks, which come from its run.

    <!-- facts -->                                how many cells, their verdicts, cost, machine, build
    <!-- table: METRIC [--by A,B] [--where ...] -->   what `fairc table` prints with these arguments
    <!-- end -->                                  ends either

A picture from the run is a link to `../img/STUDY/FIGURE.svg`: it is copied from the figures of the run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence

_PART = re.compile(
    r"<!-- (?P<kind>facts|table: (?P<asked>[^\n]*?)) -->\n.*?<!-- end -->", re.DOTALL
)
_MARK = re.compile(r"<!-- (facts|table:|end)")


class BrokenPage(ValueError):
    """A mark of the page is without its end, or an end without its mark."""


def filled(text: str, facts: str, table: Callable[[Sequence[str]], str]) -> str:
    """Return a page with its parts written anew; `table` takes arguments of `fairc table`. Raises BrokenPage."""

    def part(found: re.Match[str]) -> str:
        asked = found["asked"]
        content = facts if asked is None else table(shlex.split(asked))
        return f"<!-- {found['kind']} -->\n{content.strip()}\n<!-- end -->"

    rest = _PART.sub("", text)
    if stray := _MARK.search(rest):
        line = rest.count("\n", 0, stray.start()) + 1
        raise BrokenPage(f"`{stray[0]}` is not one of a pair (line {line} without the other parts)")
    return _PART.sub(part, text)


def pictures(text: str, study: str) -> Iterator[str]:
    """Yield the figures of the run that a page shows, each by its file name."""
    yield from dict.fromkeys(re.findall(rf"\]\(\.\./img/{re.escape(study)}/([\w.-]+\.svg)\)", text))

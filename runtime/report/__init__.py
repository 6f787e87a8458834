"""The report of a run: one page that answers first and shows its evidence, and its figures.

In order of control flow: `run` (opens a run directory), `summary` (its numbers over repetitions),
`formatting` (numbers and lists as text), `answer`, `choose` and `story` (what the page says), `figures` (what
they look like), `lead` (what the page begins with), `svg` and `render` (figures as files), `page` (HTML and
Markdown), `build` (all of it). Nothing here computes a metric or runs a cell.
"""

from .build import FORMATS, build
from .run import ReportError

__all__ = ["FORMATS", "ReportError", "build"]

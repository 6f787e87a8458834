"""The report of a run: one page that answers first and shows its evidence, and its figures.

In order of control flow: `run` (opens a run directory), `summary` (what `runtime/repetitions`
reads, per configuration), `answer` and `description` (the page's text), `figures`
(drawings and tables), `key_figures` (the top of the page), `svg` and `render` (figures as files),
`page` (HTML and Markdown), `build` (the whole report). Nothing here computes a metric or runs a
cell.
"""

import logging

# Its lines are about its own folders, such as a HOME that cannot be written.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

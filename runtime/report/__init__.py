"""The report of a run: one page that answers first and shows its evidence, and its figures.

In order of control flow: `run` (opens a run directory), `summary` (what `runtime/repetitions`
reads, per configuration), `answer` and `description` (the page's text), `claims` and `key_figures`
(the top of the page), `comparisons`, `endings`, `differences`, `limits`, `phases`, `warmup` and
`glossary` (its further parts), `invocation` (the commands that repeat the run), `explore` (the
cells of a sweep), `figures` (drawings and tables; `backdrop`: what stands behind those over time;
`links` and `protocols`: what they call these), `svg` and `render` (figures as files), `sheet`,
`export` and `latex` (tables as files), `page` (HTML and Markdown), `build` (the whole report;
`place`: where it is). `methods` writes the paragraph of a paper, `advice` what a plan is too small
for. Nothing here computes a metric or runs a cell.
"""

import logging

# Its lines are about its own folders, such as a HOME that cannot be written.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

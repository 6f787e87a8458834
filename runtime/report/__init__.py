"""The report of a run: one page that answers first and shows its evidence, and its figures.

In order of control flow: `run` (opens a run directory), `summary` (what `runtime/repetitions`
reads, per configuration), `answer`, `choose` and `story` (the page's text), `figures`
(drawings and tables), `lead` (the top of the page), `svg` and `render` (figures as files), `page`
(HTML and Markdown), `build` (the whole report). Nothing here computes a metric or runs a cell.
"""

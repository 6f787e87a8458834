"""The command line of `fairc methods`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, quiet, type_run


@click.command(cls=Command)
@click.argument("run", metavar="RUN|PACK", type=type_run)
@quiet()
def methods() -> None:
    """Print the paragraph on RUN for a paper's methods section, and BibTeX.

    One paragraph: network, flows, kernel, engine, seeds, repetitions, validity, statistics, and
    departures from the study that `source` names; then entries of fairc and of the sources in
    `source` and `title`.
    """

"""The command line of `fairc compare`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, form, quiet, type_run


@click.command(cls=Command)
@click.argument("first", metavar="RUN|PACK", type=type_run)
@click.argument("second", metavar="[RUN|PACK]", type=type_run, required=False)
@click.option(
    "--baseline",
    metavar="RUN|PACK",
    type=type_run,
    help="Instead of a second run: show the changes since this one, claims first.",
)
@form("text", "json", "md", help="json is in SI base units; md: with --baseline.")
@click.option(
    "--margin",
    "margins",
    metavar="[METRIC=]MARGIN",
    multiple=True,
    help="Ask whether they agree within a share of the first's median (5%), or an amount for one"
    " metric (fairness.F=0.02, SI base unit). May be repeated.  [between engines: 5%]",
)
@quiet()
def compare() -> None:
    """Compare two runs, metric by metric: identical, same, different, undecided or missing.

    Between runs of two engines, or with --margin: agree, differ, or cannot tell, by the 95 %
    interval of the shift from the first to the second. The exit status is 1 unless everything is
    identical or the same, or agrees; with --baseline also when the verdict of a claim has changed.
    If RUN holds several experiments, those of the same name are compared.
    """

"""The command line of `fairc table`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, completing, form, quiet, type_run, where


@click.command(cls=Command)
@click.argument("run", metavar="RUN|PACK", type=type_run)
@click.argument("metric", shell_complete=completing("metrics"))
@click.option(
    "--by",
    metavar="A,B",
    shell_complete=completing("swept"),
    help="Swept names, flow, repetition, load, protocol.  [default: swept, flow]",
)
@where("Use only cells that meet a condition, as in `exclude`; `flow == f[2]` chooses flows.")
@click.option(
    "--stat",
    metavar="A,B",
    default="median",
    show_default=True,
    help="median, mean, bootstrap (mean with BCa interval), min, max, p90, ...",
)
@click.option(
    "--test", "tested", is_flag=True, help="Compare every pair of rows: test, effect size, verdict."
)
@form("text", "csv", "json", "md", help="csv and json are in SI base units.")
@quiet()
def table() -> None:
    """Print one table of METRIC (fairness.F, goodput, ...): value, n and 95 % confidence
    interval.

    RUN may be the folder of several experiments: the table has all that have METRIC.
    """

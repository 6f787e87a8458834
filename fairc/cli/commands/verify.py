"""The command line of `fairc verify`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, allow_module, allow_program, form, jobs, quiet, type_run


@click.command(cls=Command)
@click.argument("target", metavar="RUN|PACK", type=type_run)
@form("text", "json")
@click.option(
    "--sample",
    type=click.IntRange(0),
    help=(
        "How many cells to draw: of a pack to run again [default: 3], of a run to derive from raw"
        " artefacts [default: all]."
    ),
)
@click.option("--all", "everything", is_flag=True, help="For a pack: run every cell again.")
@jobs()
@click.option(
    "--trust",
    is_flag=True,
    help="For a pack: also run its own programs and endpoints, only inside the engine vm.",
)
@allow_module()
@allow_program()
@quiet()
def verify() -> None:
    """Check a stored run or a pack, and say what that proves.

    For a run directory, RUN: compare every file with the hash recorded when it was written, each
    cell with the plan, tables with the cells, and results with raw artefacts; list the damage with
    its repair, and change nothing. RUN may be the folder of several experiments.

    For a file of `fairc pack`, PACK: compile its spec again, rebuild everything that follows from
    the results of its cells, decide its claims again, and rerun some of its cells, drawn at random;
    its own programs run only with --trust.

    The exit status is 1 when something is damaged, differs or is missing.
    """

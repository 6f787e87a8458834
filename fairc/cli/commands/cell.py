"""The command line of `fairc cell`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, allow_module, allow_program, quiet, type_path


@click.command(cls=Command)
@click.argument("plan", metavar="DIR", type=type_path)
@click.option(
    "--index",
    "indices",
    metavar="LIST",
    required=True,
    help="Which cells, from 0, as in `sbatch --array`: 3, 0-7 or 2,5,8-9.",
)
@click.option(
    "--chunk",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number chunks of this many cells instead of single cells.",
)
@click.option(
    "--engine",
    metavar="NAME",
    help="Refuse plans for another engine.  [default: the plan's, but never mininet]",
)
@click.option("--fresh", is_flag=True, help="Run them even if they have results.")
@allow_module()
@allow_program()
@quiet()
def cell() -> None:
    """Run single cells of the compiled plan in DIR, and store their results in DIR/results.

    Any number of these commands may run at once, on any machines that see DIR; `fairc run DIR
    --collect` collects the results. SIGTERM and Ctrl-C discard the cell in progress. If DIR has
    several experiments, LIST counts through the cells of all of them.
    """

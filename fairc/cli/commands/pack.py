"""The command line of `fairc pack`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, quiet, type_path, type_run


@click.command(cls=Command)
@click.argument("run", metavar="RUN", type=type_run)
@click.option(
    "-o", "--output", type=type_path, help="The file to write.  [default: EXPERIMENT.zip]"
)
@click.option("--with-image", is_flag=True, help="Include the guest's image and kernel.")
@click.option(
    "--with-raw", is_flag=True, help="Include the raw artefacts of every cell: captures, logs."
)
@quiet()
def pack() -> None:
    """Write RUN as one zip file: spec, plan, lock, results, tables, figures, report, programs.

    Writes tables, figures and report again from the cells. Packing twice gives the same bytes; it
    replaces only an earlier pack of RUN. RUN may be the folder of several experiments; the pack
    then holds all of them. `fairc verify`, `run`, `report`, `verdict`, `table` and `compare` accept
    the pack in place of RUN.
    """

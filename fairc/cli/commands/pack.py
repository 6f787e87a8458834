"""The command line of `fairc pack`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, quiet, type_path


@click.command(cls=Command)
@click.argument("run", metavar="RUN", type=type_path)
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

    Tables, figures and report are written anew from the cells. Packing twice gives the same bytes;
    only an earlier pack of RUN is replaced. Of a file with several experiments, RUN is their
    folder, and the file holds all of them. `fairc verify`, `run`, `report`, `verdict`, `table` and
    `compare` accept the file in place of RUN.
    """

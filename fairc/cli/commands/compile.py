"""The command line of `fairc compile`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, engine, quiet, settings, type_path


@click.command("compile", cls=Command)
@click.argument("file", type=type_path)
@click.option(
    "-o", "--output", metavar="DIR", required=True, type=type_path, help="Folder to write."
)
@click.option(
    "--target",
    "targets",
    metavar="TARGET",
    multiple=True,
    help="What to emit in addition to the plan; `fairc show targets` lists them. May be repeated."
    "  [default: containers for the engine docker, else mininet]",
)
@engine()
@settings()
@quiet()
def compile() -> None:
    """Write the plan and the emitted programs; byte-identical each time.

    Prints the engine that `fairc run DIR` will use, and the next commands.
    """

"""The command line of `fairc run`."""

from __future__ import annotations

import click

from fairc.cli.options import (
    Command,
    allow_module,
    allow_program,
    engine,
    jobs,
    quiet,
    settings,
    type_path,
    where,
)


@click.command(cls=Command)
@click.argument("target", metavar="FILE|DIR", type=type_path)
@click.option("-o", "--output", metavar="RUN", type=type_path, help="[default: results/EXPERIMENT]")
@engine()
@jobs()
@settings()
@where("Run only cells that meet a condition, as in `exclude`.")
@click.option("--fresh", is_flag=True, help="Run all cells again, even finished ones.")
@click.option(
    "--phase-check",
    "phases",
    is_flag=True,
    help="Then rerun some cells with hosts that delay packets by up to the time of one full frame.",
)
@click.option(
    "--collect",
    "collecting",
    is_flag=True,
    help="Run nothing: collect the results of `fairc cell` from DIR.",
)
@click.option(
    "--machine",
    metavar="IDENTITY",
    help="With --collect: the machine whose results to take, if several ran cells.",
)
@click.option(
    "--allow-image",
    is_flag=True,
    help="With --engine docker: run the container images named by flows. Images are code.",
)
@allow_module()
@allow_program()
@click.option("--strict", is_flag=True, help="Also exit with 1 when a claim is undecided.")
@quiet()
def run() -> None:
    """Run the missing cells of FILE or of the plan in DIR, and write the report.

    Press Ctrl-C at any time: finished cells stay, and the same command resumes. A run directory has
    one engine: if it has results of another one, --engine runs in results/EXPERIMENT-ENGINE.
    """

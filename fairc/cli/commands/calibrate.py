"""The command line of `fairc calibrate`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, form, jobs, quiet, type_path


@click.command(cls=Command)
@click.option("--engine", metavar="NAME", help="uml, vm, mininet or docker.  [default: uml]")
@click.option(
    "-o", "--output", metavar="DIR", type=type_path, help="[default: results/calibration-ENGINE]"
)
@jobs()
@click.option(
    "--case", "chosen", metavar="NAME", multiple=True, help="Only this case.  [repeatable]"
)
@form("text", "md", "json")
@quiet()
def calibrate() -> None:
    """Run a fixed suite on an engine and compare it with theory.

    Rate, base RTT, jitter, loss, buffer; Reno's square-root law, fairness of equal flows, RTT
    unfairness, slow start; a load at the limit; half the guest's speed. The exit status is 1 when a
    number is outside its accepted range. fairc keeps the table of a whole suite, and lock.json of
    later runs names it.
    """

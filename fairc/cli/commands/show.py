"""The command line of `fairc show`."""

from __future__ import annotations

import click

from fairc.cli.options import Command, form, quiet


@click.command(cls=Command)
@click.argument("name", required=False)
@form("text", "json")
@quiet()
def show() -> None:
    """Describe NAME: a preset, a metric, a queue, a CCA, ...

    NAME may also be a family of words, such as `queues`; without NAME, the families are listed.
    """

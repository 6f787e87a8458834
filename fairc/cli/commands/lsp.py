"""The command line of `fairc lsp`."""

from __future__ import annotations

import click

from fairc.cli.options import Command


@click.command(cls=Command)
def lsp() -> None:
    """A language server, for editors; speaks on standard input and output.

    It checks a file while it is typed, completes keys, values and units, explains words, finds
    declarations and formats. docs/run/editors.md has the lines for each editor.
    """

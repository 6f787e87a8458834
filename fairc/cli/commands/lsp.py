"""The command line of `fairc lsp`."""

from __future__ import annotations

import click

from fairc.cli.options import Command


@click.command(cls=Command)
def lsp() -> None:
    """Run a language server for editors, on standard input and output.

    It checks a file while you type, completes keys, values and units, explains words, finds
    declarations and formats. docs/run/editors.md has the set-up for each editor.
    """

"""`fairc lsp`: a language server, for editors; speaks on standard input and output."""

from __future__ import annotations

import click

from .failures import UsageError
from .options import Command


@click.command(cls=Command)
def lsp() -> None:
    """A language server, for editors; speaks on standard input and output.

    It checks a file while it is typed, completes keys, values and units, explains words, finds
    declarations and formats. docs/run/editors.md has the lines for each editor.
    """
    try:
        from fairc.lsp.server import server
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        raise UsageError(
            f"the language server needs {error.name}, which is not installed",
            "pip install pygls",
        ) from error
    server.start_io()

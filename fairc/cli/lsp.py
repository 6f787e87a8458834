"""`fairc lsp`: run a language server for editors, on standard input and output."""

from __future__ import annotations

from .failures import UsageError


def lsp() -> None:
    """Run a language server for editors, on standard input and output."""
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

"""Standard output carries results; standard error carries progress and diagnostics."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from fairc.runtime.run.progress import Progress

# Control characters, and those that reorder what is read.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_quiet = False


def be_quiet() -> None:
    """Print only what was asked for, and errors, from now on."""
    global _quiet
    _quiet = True


def is_quiet() -> bool:
    """Return whether only what was asked for, and errors, are printed."""
    return _quiet


def prepare() -> None:
    """Replace characters that a stream cannot encode instead of ending the program.

    A closed stream becomes /dev/null: otherwise the next file opened would get its descriptor, and
    output would be written into that file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")


class ReaderGoneError(Exception):
    """The reader of standard output is gone (click would turn a BrokenPipeError into status 1)."""


def result(text: str) -> None:
    """Print a part of the result. Raises ReaderGoneError."""
    try:
        print(visible(text), flush=True)
    except BrokenPipeError:
        raise ReaderGoneError from None


def outcome(text: str) -> None:
    """Say what a command that writes files has done, on standard output; nothing when quiet.

    Raises ReaderGoneError.
    """
    if not _quiet:
        result(text)


def as_json(document: object) -> str:
    """Return a result as JSON, for programs."""
    import json

    return json.dumps(document, indent=2, ensure_ascii=False)


def say(text: str) -> None:
    """Report what is going on."""
    if not _quiet:
        _write(visible(text))


def agreed(question: str) -> bool:
    """Ask a user who is at the terminal; nobody else agrees to anything."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    import click

    return click.confirm(visible(question), default=True, err=True)


def complain(text: str) -> None:
    """Report what is wrong, even when quiet."""
    _complain(visible(text))


def diagnostics(text: str) -> None:
    """Print rendered diagnostics, if there are any; `dsl.render` has made them safe and
    coloured.
    """
    if text:
        _complain(text.rstrip("\n"))


def _complain(text: str) -> None:
    with suppress(OSError):
        sys.stdout.flush()
    _write(text)


def _write(text: str) -> None:
    """Write to standard error; if that fails, work goes on and the exit status still counts."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def finish() -> bool:
    """Flush standard output; return whether that was possible."""
    try:
        sys.stdout.flush()
    except OSError:
        discard(sys.stdout)
        return False
    return True


def discard(stream: TextIO) -> None:
    """Discard what a stream still holds and gets from now on: Python tries to flush it again at
    exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def visible(text: str) -> str:
    """Replace what a terminal would obey: results and logs quote what programs and strangers
    wrote.
    """
    return _OBEYED.sub("\N{REPLACEMENT CHARACTER}", text)


def coloured(stream: TextIO) -> bool:
    """Return whether colours may be written to a stream (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def progress() -> Progress:
    """Return the progress display that suits standard error."""
    from fairc.runtime.run.progress import Lines, Progress

    if _quiet:
        return Progress()
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from fairc.runtime.run.bar import Bar

        return Bar(terminal(sys.stderr))
    return Lines(say)


def terminal(stream: TextIO) -> Console:
    """Return a rich console on a stream; it honours NO_COLOR by itself."""
    from rich.console import Console

    return Console(file=stream, highlight=False, emoji=False)

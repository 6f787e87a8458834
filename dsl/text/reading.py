"""Reading of files, and everything that can be wrong with one before its first word."""

from __future__ import annotations

import os
from pathlib import Path

from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Source, Span

SIZE_LIMIT = 1_000_000
"""Bytes; a thousand times what the largest study needs."""


def read(path: str | os.PathLike[str]) -> Source:
    """Return a file's text as a source named by the path as given.

    Raises CompileError with one diagnostic for a file that is missing, unreadable, a directory,
    not a regular file, empty, over 1 MB or not UTF-8 text.
    """
    name = os.fspath(path)
    return decoded(_bytes(name), name)


def decoded(data: bytes, name: str) -> Source:
    """Return the text of a file, of which the first SIZE_LIMIT + 1 bytes have been read.

    Raises CompileError as `read` does.
    """
    if len(data) > SIZE_LIMIT:
        fail(
            "too-large",
            f"`{name}` is larger than 1 MB, so it is not an experiment",
            None,
            help="a .fexp file is a page or two of text",
        )
    if b"\0" in data:
        fail("not-text", f"`{name}` is not a text file", None, help="give a .fexp file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8", "replace")
        source = Source(name, good + data[error.start :].decode("utf-8", "replace"))
        fail(
            "not-text",
            "the file is not UTF-8 text",
            Span(source, len(good), len(good) + 1),
            note=f"byte 0x{data[error.start]:02x}",
            help="save it as UTF-8",
        )
    source = Source(name, text)
    if not text.strip():
        fail(
            "empty-file",
            f"`{name}` is empty",
            None,
            help="begin with `fexp 1` and `experiment NAME { ... }`; see examples/quickstart.fexp",
        )
    return source


def _bytes(name: str) -> bytes:
    path = Path(name)
    try:
        if path.is_dir():
            fail(
                "is-directory", f"`{name}` is a directory", None, help="give one of its .fexp files"
            )
        if path.exists() and not path.is_file():
            fail("not-text", f"`{name}` is not a regular file", None, help="give a .fexp file")
        with path.open("rb") as file:
            return file.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        fail("no-such-file", f"there is no file `{name}`", None, help=_nearby(path))
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        fail("unreadable", f"`{name}` cannot be read: {reason}", None)


def _nearby(path: Path) -> str | None:
    from fairc.dsl.core.registry import suggest

    try:
        near = suggest(path.name, [p.name for p in path.parent.glob("*.fexp")][:1000])
    except OSError:
        return None
    return f"did you mean `{path.parent / near}`?" if near else None

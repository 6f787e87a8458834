"""Files on the disk: documents are read up to a bound, and files are written completely or not at
all.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

LARGEST_BYTES = 256 << 20
"""Largest document that is read as a whole; a genuine one with 100,000 cells is a tenth of it."""


class IrregularError(OSError):
    """A pipe, a folder, a device or an endless file is where a document should be."""


def content(path: Path) -> bytes:
    """Return the content of a document, which must be a regular file of limited size.

    Raises OSError.
    """
    if path.exists() and not path.is_file():
        raise IrregularError(errno.EINVAL, "it is not a regular file", str(path))
    with path.open("rb") as file:
        found = file.read(LARGEST_BYTES + 1)
    if len(found) > LARGEST_BYTES:
        raise IrregularError(errno.EINVAL, "it is too large for a document", str(path))
    return found


def lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a document, which must be a regular file: there may be many, but each is
    of limited size, as one of zeros may take no room on the disk.

    Raises OSError.
    """
    if path.exists() and not path.is_file():
        raise IrregularError(errno.EINVAL, "it is not a regular file", str(path))
    with path.open("rb") as file:
        while line := file.readline(LARGEST_BYTES + 1):
            if len(line) > LARGEST_BYTES:
                raise IrregularError(errno.EINVAL, "a line of it is too large", str(path))
            yield line


def opened(path: Path) -> BufferedReader:
    """Open a file that others may have put in place: a regular one, at once, and no link.

    Raises OSError.
    """
    found = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    file = os.fdopen(found, "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise IrregularError(errno.EINVAL, "it is not a regular file", str(path))
    return file


def sha256_of(path: Path) -> str:
    """Return the hash of a file of any size. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def whole(path: Path, scratch: Path) -> Iterator[Path]:
    """Yield the name under which a file is written; it replaces `path` atomically, or not at all.

    scratch: a folder on the same file system in which nobody else keeps files. Something with this
    name there is removed first: in a stranger's folder it may be a link to a file of the user's.
    """
    part = scratch / f"{path.name}.part"
    part.unlink(missing_ok=True)
    try:
        yield part
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Flush a file, or a directory's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Tars from strangers, read with bounds on what their headers take."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from typing import IO, Protocol

MOST_HEADER_BYTES = 1 << 20
"""Bytes of the headers of one member, which tarfile holds in memory: a name is the largest part."""
MOST_READ_BYTES = 8 << 20
"""Bytes that are read at once of a tar with places: its headers, and documents in it."""
MOST_COMMON = 64
"""Values that a tar may set for all of its members: tarfile copies them for each."""


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        ...


class Bounded(io.RawIOBase):
    """The stream of a tar, read no further than a limit, and no further than a member may begin.

    left: bytes until the limit. error: what is raised beyond either.
    """

    def __init__(self, stream: Readable, left: int, error: Exception) -> None:
        self._stream = stream
        self._position = 0
        self._header_end = MOST_HEADER_BYTES
        self.left = left
        self.error = error

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises `error`."""
        content = self._stream.read(size)
        self._position += len(content)
        self.left -= len(content)
        if self.left < 0 or self._position > self._header_end:
            raise self.error
        return content

    def expect_header(self, offset: int) -> None:
        """Allow the content until a header begins, and the header.

        offset: where, in bytes from the tar's beginning.
        """
        self._header_end = offset + MOST_HEADER_BYTES


class ShortReads(io.RawIOBase):
    """The file of a tar that is read from any place, in pieces of limited size."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises TarError where a header asks for too many."""
        if not 0 <= size <= MOST_READ_BYTES:
            raise tarfile.ReadError(f"a header has more than {MOST_READ_BYTES >> 20} MiB")
        return self._file.read(size)

    def seekable(self) -> bool:
        """Return whether there are places to go to."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place in the file."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the place in the file."""
        return self._file.tell()


def members(tar: tarfile.TarFile, bounded: Bounded | None = None) -> Iterator[tarfile.TarInfo]:
    """Yield a tar's members without keeping them.

    bounded: the stream that it is read from, if it is one. Raises TarError for one that sets too
    much for all members.
    """
    for member in tar:
        setattr(tar, "members", [])  # noqa: B010 (typeshed does not have it)
        if len(tar.pax_headers) > MOST_COMMON:
            raise tarfile.ReadError(f"it sets {len(tar.pax_headers)} values for all its files")
        if bounded is not None:
            bounded.expect_header(tar.offset)
        yield member

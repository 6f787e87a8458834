"""The exchange: the memory device through which a job enters the guest and its results leave it.

Layout: MAGIC, the length of the header (8 bytes, little endian), the header (JSON), and from
DATA_OFFSET on the files that the header lists, one after the other. The header is written last, so
a device whose header says `result` is complete. Standard library only: the guest has this file too.
"""

from __future__ import annotations

import json
import mmap
import os
import stat

TYPE_CHECKING = False  # spares a guest a megabyte
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, BinaryIO

MAGIC = b"fairc-exchange\n\0"
DATA_OFFSET = 1 << 18
CHUNK = 1 << 18
ALIGNMENT = 4096
SIZE = 1 << 30  # of a device: a sparse file, or memory that a machine never touches


def pack_header(header: dict[str, Any]) -> bytes:
    """Return the device's first bytes for a header; ValueError when it does not fit."""
    text = json.dumps(header, sort_keys=True).encode()
    head = MAGIC + len(text).to_bytes(8, "little") + text
    if len(head) > DATA_OFFSET:
        raise ValueError(f"a header of {len(head)} bytes is more than {DATA_OFFSET}")
    return head


def unpack_header(head: bytes) -> dict[str, Any]:
    """Return the header in a device's first bytes; ValueError when there is none."""
    start = len(MAGIC) + 8
    if not head.startswith(MAGIC):
        raise ValueError("not an exchange")
    length = int.from_bytes(head[len(MAGIC) : start], "little")
    if length > DATA_OFFSET - start:
        raise ValueError("the header's length is out of range")
    header: dict[str, Any] = json.loads(head[start : start + length])
    return header


def create(path: Path, header: dict[str, Any], files: dict[str, bytes], size: int) -> None:
    """Write a sparse exchange file of `size` bytes that holds a job."""
    listing = [[name, len(content)] for name, content in files.items()]
    with path.open("wb") as device:
        device.truncate(size)
        device.write(pack_header({**header, "files": listing}))
        device.seek(DATA_OFFSET)
        for content in files.values():
            device.write(content)


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of an exchange file; ValueError when it is broken."""
    with _opened(path) as device:
        return unpack_header(device.read(DATA_OFFSET))


def _opened(path: Path) -> BinaryIO:
    """Open what a guest has left: a regular file, at once, and no link. Raises OSError,
    ValueError.
    """
    found = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    device = os.fdopen(found, "rb")
    if not stat.S_ISREG(os.fstat(device.fileno()).st_mode):
        device.close()
        raise ValueError("the exchange is not a regular file")
    return device


def extract(path: Path, folder: Path) -> None:
    """Write the files that an exchange file holds into a folder.

    The guest is not trusted: names that are not plain file names, and sizes that the device does
    not hold, raise ValueError.
    """
    header = read_header(path)
    with _opened(path) as device:
        room = os.fstat(device.fileno()).st_size - DATA_OFFSET
        device.seek(DATA_OFFSET)
        for name, size in header["files"]:
            if name in (".", "..") or "/" in name or "\0" in name or not name:
                raise ValueError(f"the guest gave a file the name {name!r}")
            if not 0 <= size <= room:
                raise ValueError(f"the guest gave the file {name} a size of {size} bytes")
            room -= size
            with (folder / name).open("wb") as out:
                while size:
                    chunk = device.read(min(size, CHUNK))
                    if not chunk:
                        raise ValueError(f"the exchange ends in the middle of the file {name}")
                    out.write(chunk)
                    size -= len(chunk)


class Device:
    """The guest's side: direct reads and writes, past its page cache."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_DIRECT)
        self._size = os.lseek(self._fd, 0, os.SEEK_END)
        self._buffer = mmap.mmap(-1, CHUNK)  # page-aligned, as O_DIRECT asks

    def read_job(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return the job's header and its files."""
        header = unpack_header(self._read(0, DATA_OFFSET))
        data = self._read(DATA_OFFSET, sum(size for _, size in header["files"]))
        files, offset = {}, 0
        for name, size in header["files"]:
            files[name] = data[offset : offset + size]
            offset += size
        return header, files

    def write_result(self, header: dict[str, Any], paths: list[str]) -> None:
        """Write the files and then the header; OSError when they do not fit."""
        sizes = [os.stat(path).st_size for path in paths]
        position, filled = DATA_OFFSET, 0
        view = memoryview(self._buffer)
        for size, path in zip(sizes, paths, strict=True):
            with open(path, "rb", buffering=0) as file:
                while size:
                    count = file.readinto(view[filled : filled + min(size, CHUNK - filled)])
                    if not count:
                        raise OSError(f"{path} became shorter while it was read")
                    filled, size = filled + count, size - count
                    if filled == CHUNK:
                        self._write(position, CHUNK)
                        position, filled = position + CHUNK, 0
        self._write(position, filled)
        names = [os.path.basename(path) for path in paths]
        head = pack_header({**header, "files": list(zip(names, sizes, strict=True))})
        view[: len(head)] = head
        self._write(0, len(head))

    def _read(self, offset: int, size: int) -> bytes:
        parts = []
        while size > 0:
            count = min(CHUNK, -(-size // ALIGNMENT) * ALIGNMENT)
            got = os.preadv(self._fd, [memoryview(self._buffer)[:count]], offset)
            parts.append(self._buffer[: min(size, got)])
            offset, size = offset + got, size - got
        return b"".join(parts)

    def _write(self, offset: int, size: int) -> None:
        size = -(-size // ALIGNMENT) * ALIGNMENT
        if offset + size > self._size:
            raise OSError("the results are larger than the exchange")
        os.pwrite(self._fd, memoryview(self._buffer)[:size], offset)

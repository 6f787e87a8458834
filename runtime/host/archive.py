"""Raw artefacts as one `raw.tar.zst`: the same files give the same bytes."""

from __future__ import annotations

import errno
import hashlib
import shutil
import sys
import tarfile
from collections.abc import Container, Mapping
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from fairc.compiler.files import sha256_of
from fairc.dsl.core import tars

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LEVEL = 3
# Errors for names that no archive of ours contains: too long, already there, below a file.
BAD_NAMES = (
    *(errno.ENAMETOOLONG, errno.EEXIST, errno.ENOTDIR),
    *(errno.EISDIR, errno.EINVAL, errno.EILSEQ),
)
# The most that an archive may unpack to: far more than captures and images do (they pack to between
# a tenth and a fiftieth), so that a small file from a stranger cannot fill a disk.
MOST_BYTES, MOST_TIMES, MOST_FILES = 2 << 30, 100, 100_000
UNREADABLE = (
    *(tarfile.TarError, zstd.ZstdError, EOFError, ValueError),
    *(IndexError, KeyError, OverflowError, RecursionError),
)
"""What tarfile raises for headers that are cut off, contradict each other, have numbers without
bounds, or follow one another without end.
"""


def pack(folder: Path, archive: Path, left_out: Container[str] = ()) -> None:
    """Write the regular files of a folder, sorted, without times or owners, to an archive.

    left_out: names of files to leave out.
    """
    pack_several({"": folder}, archive, left_out)


def pack_several(
    folders: Mapping[str, Path], archive: Path, left_out: Container[str] = (), level: int = LEVEL
) -> None:
    """Write several folders to one archive, each below its name in `folders`.

    level: of the compression.
    """
    with (
        zstd.open(archive, "wb", level=level) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, folder in sorted(folders.items()):
            for path in sorted(folder.rglob("*")):
                if not path.is_file() or path.is_symlink() or path.name in left_out:
                    continue
                member = tarfile.TarInfo((name / path.relative_to(folder)).as_posix())
                member.size = path.stat().st_size
                with path.open("rb") as content:
                    tar.addfile(member, content)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack what `pack` writes into an existing empty folder. Raises OSError, ValueError.

    Accepts only regular files below the folder, and not much more than `pack` ever packs. (The
    filters of tarfile came with Python 3.11.4; Debian 12 has 3.11.2.)
    """
    files = 0
    most = MOST_BYTES + MOST_TIMES * archive.stat().st_size
    too_large = ArchiveError(f"{archive} is damaged: it unpacks to more than it can hold")
    try:
        with (
            zstd.open(archive) as stream,
            closing(tars.Bounded(stream, most, too_large)) as bounded,
            tarfile.open(fileobj=bounded, mode="r|") as tar,
        ):
            for member in tars.members(tar, bounded):
                name = PurePosixPath(member.name)
                # The holes of a sparse file are in no stream, so nothing would bound them.
                is_plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.sparse
                content = tar.extractfile(member) if is_plain else None
                if content is None or name.is_absolute() or ".." in name.parts:
                    raise ArchiveError(
                        f"{archive} is damaged: {member.name[:200]!r} does not belong there"
                    )
                files += 1
                if files > MOST_FILES or member.size > bounded.left:
                    raise too_large
                with new_file(folder / name, archive) as written:
                    shutil.copyfileobj(content, written)
    except ArchiveError:
        raise
    except UNREADABLE as error:
        raise ArchiveError(f"{archive} is damaged: {error}") from None


class ArchiveError(ValueError):
    """An archive is not what `pack` writes; the message says why."""


def new_file(target: Path, archive: Path) -> BinaryIO:
    """Create a file and the folders above it.

    Raises OSError, and ValueError for an impossible name.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.open("xb")
    except OSError as error:
        if error.errno not in BAD_NAMES:
            raise
        message = f"{archive} is damaged: {error.strerror}: {target.name[:80]!r}"
        raise ArchiveError(message) from None


def digest(folder: Path) -> str:
    """Return the SHA-256 over the names and contents of the files in a folder."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        total.update(f"{path.name} {sha256_of(path)}\n".encode())
    return total.hexdigest()

"""The record of a folder: the files in it that fairc wrote. It replaces and removes these, and no
others.

`files.json` names them, with their hashes; a file that is being written has none yet. A file is on
record before it is written, so a killed command leaves nothing that the next one would take for the
user's.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from .files import IrregularError, content, whole
from .plan import Model

FILES = "files.json"
SPEC = "spec"
"""The folder with the experiment's file and every file that it reads."""
RESULTS = "results"
"""The traces that cells run on a cluster leave in a compiled plan (runtime/run/cluster.py)."""

# Any path that stays inside the folder; users name parts of it.
_PART = r"[^/\x00-\x1f\x7f]*[^./\x00-\x1f\x7f][^/\x00-\x1f\x7f]*"
Name = Annotated[str, Field(pattern=f"^{_PART}(/{_PART}){{0,20}}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ForeignFileError(Exception):
    """Something that fairc did not write is where it would write a file; the message says what to
    do.
    """


class File(Model):
    """A file as it was written.

    user: by the user, with the content that fairc needs; it stays when fairc's are removed.
    """

    bytes: Annotated[int, Field(ge=0)]
    sha256: Sha256
    user: bool = False


class RunRecord(Model):
    """What the raw artefacts of a cell do not tell about its run; fields as in CellResult."""

    result_sha256: str
    virtual_s: float
    wall_s: float


class Recorded(Model):
    """A record as it is stored.

    files: by their names below the folder; None: it is being written. ran: only of a cell that an
    engine ran to its end. packs: hashes of the packs made of a run; the next one may replace them.
    report: the hash of what the report of a run was made of (runtime/report/place.py).
    """

    files: dict[Name, File | None]
    ran: RunRecord | None = None
    packs: tuple[Sha256, ...] = ()
    report: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""

    def text(self) -> str:
        """Return the document."""
        return self.model_dump_json(indent=1, exclude_defaults=True) + "\n"

    def write(self, folder: Path, scratch: Path) -> None:
        """Store it. scratch: as for `whole`. Raises OSError."""
        with whole(folder / FILES, scratch) as part:
            part.write_text(self.text(), encoding="utf-8")


def recorded(folder: Path) -> Recorded | None:
    """Return what is recorded of a folder; None if nothing is, or if the record itself is
    damaged.
    """
    try:
        return Recorded.model_validate_json(content(folder / FILES))
    except (FileNotFoundError, NotADirectoryError, IrregularError, ValidationError):
        return None


def of_file(path: Path) -> File:
    """Hash a file. Raises OSError, also for what is not a regular one."""
    if path.exists() and not path.is_file():
        raise IrregularError(errno.EINVAL, "it is not a regular file", str(path))
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return File(bytes=os.fstat(file.fileno()).st_size, sha256=sha256)


class Record:
    """The record of a folder in which fairc writes.

    folder: it exists. scratch: a folder for unfinished files, as for `whole`.
    """

    def __init__(self, folder: Path, scratch: Path) -> None:
        known = recorded(folder) or Recorded(files={})
        self._folder = folder
        self._scratch = scratch
        self.files = dict(known.files)
        self.packs = known.packs
        self.report = known.report

    def require_free(self, names: Iterable[str]) -> None:
        """Raise ForeignFileError unless each name is free, or that of a file that fairc wrote."""
        for name in names:
            path = self._folder / name
            if not self._reached(name) or (os.path.lexists(path) and not self._is_ours(name)):
                raise ForeignFileError(
                    f"{path} is not a file that fairc wrote, and would be replaced: move or"
                    f" remove it"
                )

    def _is_ours(self, name: str) -> bool:
        if name not in self.files or not _is_file(self._folder / name):
            return False
        file = self.files[name]
        return file is None or not file.user

    def _reached(self, name: str) -> bool:
        """Return whether the folders on the way to a file are folders, or not there yet."""
        place = self._folder
        for part in name.split("/")[:-1]:
            place /= part
            if place.is_symlink() or (place.exists() and not place.is_dir()):
                return False
        return True

    def _is_unchanged(self, name: str) -> bool:
        """Return whether a file is as fairc wrote it, or was writing it."""
        file = self.files.get(name, FOREIGN)
        return file is None or (not file.user and self._has(name, file))

    def _has(self, name: str, file: File) -> bool:
        path = self._folder / name
        if not _is_file(path) or path.stat().st_size != file.bytes:
            return False
        return of_file(path).sha256 == file.sha256

    def _is_there(self, source: Path, name: str) -> bool:
        """Return whether a file of ours is here with the content that it has in another folder."""
        file = self.files.get(name)
        if file is None or not self._reached(name) or not self._is_unchanged(name):
            return False
        return of_file(source / name) == file

    def theirs(self, source: Path, names: Iterable[str]) -> dict[str, File]:
        """Return the files that the user wrote here with the content of those of the same names in
        another folder.

        Raises ForeignFileError for one that the user wrote or changed, and that has other content.
        """
        found = {}
        for name in names:
            path = self._folder / name
            reached = self._reached(name)
            if reached and (not os.path.lexists(path) or self._is_unchanged(name)):
                continue
            new = of_file(source / name)
            if not reached or not self._has(name, new):
                raise ForeignFileError(
                    f"{path} is not as fairc wrote it, and would be replaced: move or remove it"
                )
            found[name] = new.model_copy(update={"user": True})
        return found

    def begin(self, names: Iterable[str]) -> None:
        """Record that files are about to be written. Raises ForeignFileError, OSError."""
        new = list(names)
        self.require_free(new)
        self.files |= dict.fromkeys(new)
        self.save()

    def end(self, names: Iterable[str]) -> None:
        """Record that files have been written. Raises OSError."""
        self.files |= {name: of_file(self._folder / name) for name in names}
        self.save()

    def move(self, source: Path, names: Iterable[str], edited: Container[str] = ()) -> None:
        """Move files from another folder on the same file system to the same names here, in this
        order; a file with the content that is there already is only removed from there.

        edited: names of files that users edit: one that is not as fairc wrote it is not replaced,
        and stays the user's if it has the new content. Raises ForeignFileError, OSError.
        """
        new = list(names)
        theirs = self.theirs(source, (name for name in new if name in edited))
        there = [name for name in new if name not in theirs and self._is_there(source, name)]
        for name in there:
            (source / name).unlink()
        ours = [name for name in new if name not in theirs and name not in there]
        self.begin(ours)
        for name in ours:
            (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).replace(self._folder / name)
        self.files |= theirs
        self.end(ours)

    def write(self, name: str, data: bytes) -> Path:
        """Write a file, completely or not at all; return its path.

        Raises ForeignFileError, OSError.
        """
        self.begin([name])
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path, self._scratch) as part:
            part.write_bytes(data)
        self.end([name])
        return path

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, and folders that they leave empty; what the user wrote or changed stays,
        off the record.
        """
        for name in list(names):
            path = self._folder / name
            if self._reached(name) and _is_file(path) and self._is_unchanged(name):
                path.unlink()
                _remove_empty(path.parent, self._folder)
            del self.files[name]
        self.save()

    def save(self) -> None:
        """Store it. Raises OSError."""
        files = dict(sorted(self.files.items()))
        stored = Recorded(files=files, packs=self.packs, report=self.report)
        stored.write(self._folder, self._scratch)


FOREIGN = File(bytes=0, sha256="0" * 64, user=True)
"""The description of a file that is not on record."""


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent

"""A note of files that have been verified, so that large files are not read for every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path


def known_or(note: Path, files: Iterable[Path], look: Callable[[], bool], *, whole: bool) -> bool:
    """Whether files are undamaged: according to a note about exactly these, or else by calling
    `look`.

    note: its file; unlike the files it may be lost. files: folders among them do not count.
    A change that keeps size, inode and times (a failing disk) is detected only with `whole`,
    which always calls `look`.
    """
    now = _stamp(files)
    if not whole:
        with suppress(OSError, UnicodeDecodeError):
            if note.read_text() == now:
                return True
    found = look()
    with suppress(OSError):  # a cache that cannot be written: they are read every time
        if found:
            note.write_text(now)
        else:
            note.unlink(missing_ok=True)
    return found


def _stamp(files: Iterable[Path]) -> str:
    """Return a text that changes when a file is written, added or removed."""
    lines = []
    for path in sorted(p for p in files if p.is_file()):
        found = path.stat()
        times = f"{found.st_mtime_ns} {found.st_ctime_ns}"
        lines.append(f"{path} {found.st_size} {found.st_ino} {times}")
    return "\n".join(lines) + "\n"

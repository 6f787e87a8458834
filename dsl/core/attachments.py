"""Files that an experiment names: none of them outside its folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from .problems import fail
from .values import Text

T = TypeVar("T")


def inside(text: str, folder: Path, root: Path) -> Path | None:
    """Return the path of a file that is named in `folder`; None if it lies outside `root`.

    A symbolic link counts as its target; a loop of links lies nowhere.
    """
    path = Path(text)
    plain = bool(text) and text.isprintable() and "\\" not in text
    if not plain or path.is_absolute() or ".." in path.parts:
        return None
    try:
        real = (folder / path).resolve()
    except (OSError, RuntimeError):  # Python up to 3.12 raises the latter for a loop
        return None
    if real.is_symlink():  # later ones resolve a loop as far as it goes
        return None
    return folder / path if real.is_relative_to(root.resolve()) else None


def attached(name: Text, limit_bytes: int, missing: str | None = None) -> bytes:
    """Return the content of a file in the folder of the source that names it, or below; it is read
    once for each source.

    missing: what to do where there is none. Raises CompileError for a file that lies elsewhere,
    cannot be read, or is too large.
    """
    folder = Path(name.span.source.name).parent
    path = inside(name.value, folder, folder)
    if path is None:
        fail(
            "file-path",
            "a file of an experiment must be in the experiment's folder or below it",
            name.span,
            help='write a relative path without `..`, such as "data/reno.bpf.o"',
        )
    try:
        if path.exists() and not path.is_file():
            fail("unreadable", f"`{name.value}` is not a regular file", name.span)
        content = name.span.source.attached.get(name.value, b"")
        if not content:
            with path.open("rb") as file:
                content = file.read(limit_bytes + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        help = missing if isinstance(error, FileNotFoundError) else None
        fail("unreadable", f"`{name.value}` cannot be read: {reason}", name.span, help=help)
    if len(content) > limit_bytes:
        message = f"`{name.value}` has more than {limit_bytes:,} bytes"
        fail("too-large", message, name.span, help="use a smaller file: fewer rows, or fewer parts")
    name.span.source.attached[name.value] = content
    return content


def sha256_of(name: Text, data: bytes) -> str:
    """Return the SHA-256 of a file, as `attached` returns it; it is computed once for each source:
    an image of 100 MB takes a tenth of a second, and each configuration asks for it.
    """
    hashes = name.span.source.hashes
    if name.value not in hashes:
        hashes[name.value] = hashlib.sha256(data).hexdigest()
    return hashes[name.value]


class Contents(Generic[T]):
    """Contents of files that are read in one way: each is read once, whoever names it."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], T] = {}

    def of(self, name: Text, data: bytes, read: Callable[[str], T], *how: object) -> T:
        """Return what a file says.

        data: the file, as `attached` returns it. read: reads it; gets its SHA-256, and may raise
        CompileError. how: what else the result depends on.
        """
        sha256 = sha256_of(name, data)
        key = name.span.source.name, name.value, sha256, *how
        if key not in self._known:
            self._known[key] = read(sha256)
        return self._known[key]

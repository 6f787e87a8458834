"""The files of a container image, as one tar: its layers put on one another.

Applied as container engines do: a later layer replaces, adds, and takes away what is below it
(`.wh.NAME`, `.wh..wh..opq`); the folders of a name are found through the symbolic links of the
layers below. Source: OCI Image Format Specification 1.1, layer.md.

Two passes: the first learns what is there in the end, the second copies what is left. Names are
data: nothing is made on this computer's file system but one file.
"""

from __future__ import annotations

import gzip
import io
import posixpath
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from fairc.cell.workloads import IMAGE_USER
from fairc.dsl.core import tars
from fairc.words.container_images import ImageContent, ImageError, members

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MOST_ENTRIES, MOST_BYTES = 200_000, 4 << 30
MOST_LAYER_BYTES = MOST_BYTES + (1 << 30)
"""Of a layer, with its headers."""
MOST_LINKS = 40
"""How many symbolic links a name may lead through, as in Linux."""
MOST_PASSWD_BYTES = 1 << 20

EMPTY_FOLDERS = ("dev", "old", "proc", "program", "sys", "tmp", "work")
"""Where the guest mounts what it has; they are folders, whatever the image says."""
OWN_FILES = ("hostname", "hosts", "resolv.conf")
"""In /etc: the guest writes them; they are plain files, whatever the image says."""
ACCOUNTS = {
    "passwd": f"program:x:{IMAGE_USER}:{IMAGE_USER}::/work:/bin/sh\n".encode(),
    "group": f"program:x:{IMAGE_USER}:\n".encode(),
}
"""In /etc: what is added for the program's user."""

_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_UNREADABLE = (tarfile.TarError, EOFError, OSError, ValueError, zstd.ZstdError, RecursionError)
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@dataclass(eq=False, slots=True)
class File:
    """A regular file, which may have several names.

    place: its layer's number, and its number in the layer. paths: its names in the end.
    added: what follows its own content.
    """

    place: tuple[int, int]
    mode: int
    mtime: int
    size: int
    paths: list[str] = field(default_factory=list)
    added: bytes = b""


@dataclass(eq=False, slots=True)
class Link:
    """A symbolic link."""

    target: str
    mtime: int


@dataclass(eq=False, slots=True)
class Folder:
    """A folder. layer: the last one that made it or put something into it."""

    mode: int = 0o755
    mtime: int = 0
    entries: dict[str, Entry] = field(default_factory=dict)


Entry = File | Link | Folder


def flatten(image: IO[bytes], content: ImageContent, out: IO[bytes]) -> tuple[int, int]:
    """Write an image's files as one tar; return how many there are, and their bytes.

    image: the tar that holds its layers. content: what `container_images.read` said of it. Raises
    ImageError.
    """
    root = Folder()
    image.seek(0)
    try:
        with tarfile.open(fileobj=tars.ShortReads(image), mode="r:", encoding="utf-8") as archive:
            names = members(archive)
            count = 0
            for number, name in enumerate(content.layers):
                with _layer(archive, names, name) as layer:
                    count = _apply(root, layer, number, count)
            _prepare(root)
            left = _Left()
            left.find(root)
            with tarfile.open(
                fileobj=out, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8"
            ) as written:
                for member, added in left.first:
                    written.addfile(member, io.BytesIO(added))
                for number, name in enumerate(content.layers):
                    with _layer(archive, names, name) as layer:
                        _copy(layer, number, left.files, written)
                for path, target in left.links:
                    written.addfile(_member(path, tarfile.LNKTYPE, linkname=target))
    except ImageError:
        raise
    except _UNREADABLE as error:
        what = " ".join(str(error).split())[:200] or type(error).__name__
        raise ImageError(f"its layers cannot be read: {what}") from None
    return left.count, left.size


Layer = tuple[tarfile.TarFile, tars.Bounded]
"""A layer, and the stream that it is read from."""


@contextmanager
def _layer(
    archive: tarfile.TarFile, names: Mapping[str, tarfile.TarInfo], name: str
) -> Iterator[Layer]:
    """Open a layer, which may be compressed. names: what the image's tar holds."""
    member = names.get(posixpath.normpath(name))
    file = archive.extractfile(member) if member is not None else None
    if file is None:
        raise ImageError(f"it lacks its layer `{name[:100]}`")
    head = file.read(4)
    file.seek(0)
    stream: Any = file
    if head.startswith(_GZIP):
        stream = gzip.GzipFile(fileobj=file)
    elif head == _ZSTD:
        stream = zstd.ZstdFile(file)
    too_large = ImageError("a layer has a header or a size that is too large")
    with (
        stream,
        closing(tars.Bounded(stream, MOST_LAYER_BYTES, too_large)) as bounded,
        tarfile.open(fileobj=bounded, mode="r|", encoding="utf-8") as layer,
    ):
        yield layer, bounded


def _members(layer: Layer) -> Iterator[tuple[int, tarfile.TarInfo]]:
    """Yield a layer's members without keeping them, with their numbers. Raises ImageError."""
    size = 0
    for number, member in enumerate(tars.members(*layer)):
        size += member.size
        if size > MOST_BYTES or number >= MOST_ENTRIES:
            raise ImageError(
                f"a layer has more than {MOST_ENTRIES:,} files or {MOST_BYTES >> 30} GiB"
            )
        yield number, member


def _apply(root: Folder, layer: Layer, number: int, count: int) -> int:
    """Put a layer on those below it; return how many entries there have been.

    number: the layer's. count: entries of the layers below.
    """
    fresh = set[Entry]()  # what this layer made itself, which its own whiteouts leave alone
    for index, member in _members(layer):
        count += 1
        if count > MOST_ENTRIES:
            raise ImageError(f"it has more than {MOST_ENTRIES:,} files")
        parts = _parts(member.name)
        if not parts:
            if member.isdir():
                root.mode, root.mtime = member.mode & 0o7777, _time(member)
            continue
        *above, name = parts
        folder = _folder(root, above)
        if name == _OPAQUE:
            for each in [*folder.entries]:
                _take_away(folder, each, fresh)
        elif name.startswith(_WHITEOUT):
            _take_away(folder, name.removeprefix(_WHITEOUT), fresh)
        elif (made := _made(root, folder.entries.get(name), member, (number, index))) is not None:
            folder.entries[name] = made
            fresh.add(made)
    return count


def _take_away(folder: Folder, name: str, fresh: set[Entry]) -> None:
    """Take away what lower layers have under a name; fresh: what this layer made."""
    there = folder.entries.get(name)
    if isinstance(there, Folder):
        for below in [*there.entries]:
            _take_away(there, below, fresh)
        if there.entries:
            return
    if there not in fresh:
        folder.entries.pop(name, None)


def _made(
    root: Folder, there: Entry | None, member: tarfile.TarInfo, place: tuple[int, int]
) -> Entry | None:
    """Return the entry that a member makes; None: it makes none, as a device.

    there: what its name has been until now.
    """
    if member.isdir():
        folder = there if isinstance(there, Folder) else Folder()
        folder.mode, folder.mtime = member.mode & 0o1777, _time(member)
        return folder
    if member.issym():
        return Link(member.linkname, _time(member))
    if member.islnk():
        *above, name = _parts(member.linkname) or [""]
        target = _folder(root, above).entries.get(name)
        if not isinstance(target, File | Link):
            raise ImageError(f"its link `{member.name[:100]}` leads to no file")
        return target
    if member.isreg():
        return File(place, member.mode & 0o777, _time(member), member.size)
    return None


def _time(member: tarfile.TarInfo) -> int:
    """Return when a member was changed, s, as ext2 can hold it."""
    return min(max(0, int(member.mtime)), 2**31 - 1)


def _parts(name: str) -> list[str]:
    """Return the parts of a path, from the image's root. Raises ImageError."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in name or any(len(part.encode(*_BYTES)) > 255 for part in parts):
        raise ImageError(f"a layer has a file of the name {name[:100]!r}")
    return parts


_BYTES = ("utf-8", "surrogateescape")


def _folder(root: Folder, parts: list[str]) -> Folder:
    """Return a folder, through symbolic links; what is not there is made. Raises ImageError."""
    here, path, left, links = [root], list[str](), parts[::-1], 0
    while left:
        part = left.pop()
        if part == "..":
            if path:
                here.pop()
                path.pop()
            continue
        found = here[-1].entries.get(part)
        if isinstance(found, Link):
            links += 1
            if links > MOST_LINKS:
                raise ImageError(f"its links at `{'/'.join(path)[:100]}` lead round in a circle")
            if found.target.startswith("/"):
                here, path = [root], []
            left += [p for p in found.target.split("/") if p not in ("", ".")][::-1]
            continue
        if not isinstance(found, Folder):
            found = here[-1].entries[part] = Folder()
        here.append(found)
        path.append(part)
    return here[-1]


def _prepare(root: Folder) -> None:
    """Make what the guest mounts over or writes plain folders and files: none leads elsewhere."""
    for name in EMPTY_FOLDERS:
        root.entries[name] = Folder()
    etc = root.entries.get("etc")
    if not isinstance(etc, Folder):
        etc = root.entries["etc"] = Folder()
    for name in OWN_FILES:
        etc.entries[name] = File((-1, 0), 0o644, 0, 0)
    for name, line in ACCOUNTS.items():
        there = etc.entries.get(name)
        if isinstance(there, File) and there.size <= MOST_PASSWD_BYTES:
            etc.entries[name] = File(there.place, 0o644, there.mtime, there.size, added=line)
        else:
            etc.entries[name] = File((-1, 0), 0o644, 0, 0, added=line)


@dataclass(slots=True)
class _Left:
    """What is there in the end.

    first: folders, symbolic links and files without content of a layer, with what they hold.
    files: those whose content is in a layer, by their place. links: further names of a file.
    """

    first: list[tuple[tarfile.TarInfo, bytes]] = field(default_factory=list)
    files: dict[tuple[int, int], list[File]] = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    count: int = 0
    size: int = 0

    def find(self, root: Folder) -> None:
        """Go through all folders, in order of their names. Raises ImageError."""
        waiting: list[tuple[str, Folder]] = [("", root)]
        while waiting:
            path, folder = waiting.pop()
            if path:
                self._add(_member(path, tarfile.DIRTYPE, folder.mode, folder.mtime))
            below = []
            for name in sorted(folder.entries):
                entry, place = folder.entries[name], f"{path}/{name}".lstrip("/")
                if isinstance(entry, Folder):
                    below.append((place, entry))
                elif isinstance(entry, Link):
                    self._add(
                        _member(place, tarfile.SYMTYPE, 0o777, entry.mtime, linkname=entry.target)
                    )
                elif entry.paths:
                    self.links.append((place, entry.paths[0]))
                else:
                    entry.paths.append(place)
                    self._file(entry, place)
            waiting += below[::-1]

    def _add(self, member: tarfile.TarInfo, content: bytes = b"") -> None:
        member.size = len(content)
        self.first.append((member, content))
        self.count += 1

    def _file(self, file: File, path: str) -> None:
        if file.place[0] < 0:
            self._add(_member(path, tarfile.REGTYPE, file.mode, file.mtime), file.added)
        else:
            self.files.setdefault(file.place, []).append(file)
            self.count += 1
        self.size += file.size + len(file.added)
        if self.size > MOST_BYTES:
            raise ImageError(f"its files have more than {MOST_BYTES >> 30} GiB")


def _member(
    path: str, kind: bytes, mode: int = 0o644, mtime: int = 0, linkname: str = ""
) -> tarfile.TarInfo:
    """Return the head of an entry of a tar, owned by the program's user."""
    member = tarfile.TarInfo(path)
    member.type, member.mode, member.mtime, member.linkname = kind, mode, mtime, linkname
    member.uid = member.gid = IMAGE_USER
    return member


def _copy(
    layer: Layer,
    number: int,
    files: dict[tuple[int, int], list[File]],
    written: tarfile.TarFile,
) -> None:
    """Copy what is left of a layer."""
    for index, member in _members(layer):
        those = files.get((number, index), ())
        content = layer[0].extractfile(member) if those else None
        if content is None:
            continue
        # Only accounts are added to, and have a place in common with another file.
        own = content.read() if any(each.added for each in those) else None
        for each in those:
            head = _member(each.paths[0], tarfile.REGTYPE, each.mode, each.mtime)
            if own is None:
                head.size = each.size
                written.addfile(head, content)
            else:
                joint = b"\n" if each.added and own and not own.endswith(b"\n") else b""
                whole = own + joint + each.added
                head.size = len(whole)
                written.addfile(head, io.BytesIO(whole))

"""Packs as zip files: equal content gives equal bytes; what is read is not trusted."""

from __future__ import annotations

import hashlib
import re
import shutil
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from fairc.runtime.host.archive import new_file

SUMS = "SHA256SUMS"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold
LEVEL = 9
# What no honest pack exceeds: number of files, their total bytes, compression ratio (of one file:
# zlib's limit is 1032; of all, once they are more than a GiB), length of a path.
MAX_FILES, MAX_BYTES, MAX_RATIO, MAX_PATH = 1_000_000, 64 << 30, 1100, 400
MANY_BYTES, MAX_RATIO_OF_MANY = 1 << 30, 200
# Accepted methods. Others allocate as much memory as a pack demands (LZMA), or compress more than
# zlib can.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_SUM_BYTES = 64 + 2 + 1  # of a line, without the name
_BLOCK = 1 << 20
# Of the header before a member: lengths of its name and of its extra field (APPNOTE.TXT 6.3.10,
# section 4.3.7).
_LOCAL = struct.Struct("<26xHH")
# Sizes of what may follow a member (section 4.3.9): nothing, or checksum and sizes of 4 or 8 bytes,
# with a signature or not.
_DESCRIPTORS = {0, 12, 16, 20, 24}


class PackError(Exception):
    """A pack that is damaged or refused; the message says why."""


def write(path: Path, files: Mapping[str, Path | bytes]) -> None:
    """Write files, by their names in the pack, and their hashes as SHA256SUMS, to a new file.

    Names are sorted, times and owners left out; programs (ELF, scripts with `#!`) are executable.
    """
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as zipped:
        sums = []
        for name, content in sorted(files.items()):
            sums.append(f"{_add(zipped, name, content)}  {name}\n")
        _add(zipped, SUMS, "".join(sums).encode())


def _add(zipped: zipfile.ZipFile, name: str, content: Path | bytes) -> str:
    """Add a file; return its SHA-256."""
    total = hashlib.sha256()
    member = zipfile.ZipInfo(name, EPOCH)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.create_system = 3  # Unix, wherever it is written
    blocks = _blocks(content)
    first = next(blocks, b"")
    mode = 0o755 if first.startswith((b"\x7fELF", b"#!")) else 0o644
    member.external_attr = (stat.S_IFREG | mode) << 16
    with zipped.open(member, "w", force_zip64=True) as file:
        while first:
            total.update(first)
            file.write(first)
            first = next(blocks, b"")
    return total.hexdigest()


def _blocks(content: Path | bytes) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with content.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def unpack(path: Path, folder: Path) -> None:
    """Unpack a pack into an empty folder, and verify every file. Raises PackError, OSError.

    Refused: paths that leave the folder, links and special files, repeated names (in any case),
    bytes outside of members, zip bombs, and files that SHA256SUMS does not name or names with
    another hash. Nothing becomes executable.
    """
    try:
        with zipfile.ZipFile(path) as zipped:
            members = _checked(zipped)
            _fits(path, folder, members.values())
            _one_reading(path, zipped)
            for name, member in members.items():
                place = folder / name
                with zipped.open(member) as packed, new_file(place, path) as file:
                    shutil.copyfileobj(packed, file, _BLOCK)
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        zlib.error,
        NotImplementedError,
        EOFError,
    ) as error:
        raise PackError(f"{path} is damaged: {error}") from None
    except (
        ValueError,
        RuntimeError,
        OverflowError,
    ) as error:  # it is encrypted or malformed
        raise PackError(f"{path} cannot be read: {error}") from None
    _verify(path, folder, set(members) - {SUMS})


def _checked(zipped: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files of a pack by name. Raises PackError."""
    found: dict[str, zipfile.ZipInfo] = {}
    folded: set[str] = set()
    total = 0
    for member in zipped.infolist():
        name = member.filename
        parts = name.split("/")
        if (
            not name.isprintable()
            or "\\" in name
            or len(name) > MAX_PATH
            or any(part in ("", ".", "..") for part in parts)
        ):
            raise PackError(f"the pack names a path that is refused: {name[:80]!r}")
        if member.compress_type not in METHODS:
            raise PackError(f"{name} in the pack is packed by a method that is refused")
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise PackError(f"{name} in the pack is not a regular file")
        fold = unicodedata.normalize("NFC", name).casefold()
        if fold in folded:
            raise PackError(f"{name} appears twice in the pack")
        total += member.file_size
        if member.file_size > MAX_RATIO * max(member.compress_size, 1) or total > MAX_BYTES:
            raise PackError(f"{name} in the pack unpacks to more than it may")
        folded.add(fold)
        found[name] = member
        if len(found) > MAX_FILES:
            raise PackError(f"the pack holds more than {MAX_FILES} files")
    if SUMS not in found:
        raise PackError(f"this is not a pack: it has no {SUMS}")
    if found[SUMS].file_size > len(found) * (_SUM_BYTES + 4 * MAX_PATH):
        raise PackError(f"{SUMS} in the pack unpacks to more than it may")
    return found


def _one_reading(path: Path, zipped: zipfile.ZipFile) -> None:
    """Raise PackError where other programs may find other files in a pack: bytes before, between or
    after its members.
    """
    ends = [*sorted(zipped.infolist(), key=lambda member: member.header_offset)]
    at = 0
    with path.open("rb") as file:
        for member in ends:
            file.seek(member.header_offset)
            local = file.read(_LOCAL.size)
            if member.header_offset - at not in _DESCRIPTORS or len(local) < _LOCAL.size:
                raise PackError(f"{path} holds bytes that belong to none of its files")
            name_bytes, extra_bytes = _LOCAL.unpack(local)
            at = member.header_offset + _LOCAL.size + name_bytes + extra_bytes
            at += member.compress_size
    if zipped.start_dir - at not in _DESCRIPTORS or zipped.comment:
        raise PackError(f"{path} holds bytes that belong to none of its files")


def _fits(path: Path, folder: Path, members: Collection[zipfile.ZipInfo]) -> None:
    """Raise PackError if the members share bytes, are a bomb together, or do not fit on the
    disk.
    """
    packed = sum(member.compress_size for member in members)
    if packed > path.stat().st_size:
        raise PackError(f"{path} is damaged: its files overlap")
    total = sum(member.file_size for member in members)
    if total > max(MANY_BYTES, MAX_RATIO_OF_MANY * packed):
        raise PackError(f"{path} unpacks to {total >> 20} MiB, which is more than it may")
    if total > (free := shutil.disk_usage(folder).free):
        raise PackError(
            f"{path} unpacks to {total >> 20} MiB, and there is room for {free >> 20} MiB"
        )


def _verify(path: Path, folder: Path, names: set[str]) -> None:
    known: dict[str, str] = {}
    try:
        for line in (folder / SUMS).read_text(encoding="utf-8").splitlines():
            match = _LINE.fullmatch(line)
            if match is None or match[2] in known:
                raise PackError(f"{SUMS} of {path} cannot be read")
            known[match[2]] = match[1]
    except UnicodeDecodeError:
        raise PackError(f"{SUMS} of {path} cannot be read") from None
    if missing := sorted(known.keys() - names):
        raise PackError(f"{path} lacks {missing[0]}, which {SUMS} names")
    if extra := sorted(names - known.keys()):
        raise PackError(f"{path} holds {extra[0]}, which {SUMS} does not name")
    for name, sha256 in known.items():
        with (folder / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                raise PackError(f"{name} in {path} does not match its hash in {SUMS}")

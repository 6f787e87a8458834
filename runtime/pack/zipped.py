"""Packs as zip files: equal content gives equal bytes; what is read is not trusted."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from fairc.compiler.files import sha256_of
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
# Headers, as of APPNOTE.TXT 6.3.10: before a member (section 4.3.7), after one whose sizes were not
# known before (4.3.9), and at the end of a pack, which a large one has in 64 bits before (4.3.14 to
# 4.3.16).
_LOCAL = struct.Struct("<4s5H3L2H")
_DESCRIPTORS = {12: "<3L", 16: "<4s3L", 20: "<L2Q", 24: "<4sL2Q"}
_LARGE_END, _LOCATOR = struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")
# Flags of a member: sizes follow it, UTF-8, and how hard the packer tried. Not: encryption.
_DESCRIBED, _UTF8, _FLAGS = 0x8, 0x800, 0x80E
# Extra fields that give a member no other name or content: its sizes in 64 bits, times, owners.
_SIZES, _EXTRA = 0x1, {0x1, 0x5455, 0x7875}
_UNKNOWN = 0xFFFFFFFF


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
    bytes outside of members, headers that contradict the directory, zip bombs, and files that
    SHA256SUMS does not name or names with another hash. Nothing becomes executable.
    """
    try:
        with zipfile.ZipFile(path) as zipped:
            members = _checked(zipped)
            _fits(path, folder, members.values())
            _one_reading(path, zipped)
            with path.open("rb") as packed:
                for name, member in members.items():
                    with new_file(folder / name, path) as file:
                        _unpack(path, packed, member, file)
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
        if member.flag_bits & ~_FLAGS:
            raise PackError(f"{name} in the pack cannot be read: it is encrypted")
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
    """Raise PackError where other programs may find other files in a pack, or others in them: bytes
    before, between or after its members, and headers that contradict the directory.
    """
    members = sorted(zipped.infolist(), key=lambda member: member.header_offset)
    ends = [*(member.header_offset for member in members[1:]), zipped.start_dir]
    at = 0
    with path.open("rb") as file:
        for member, end in zip(members, ends, strict=True):
            if member.header_offset != at or member.comment:
                raise _strange(path)
            at = end
            _check_header(path, file, member, end)
        file.seek(0, os.SEEK_END)
        directory_bytes = _directory_bytes(path, file, zipped.start_dir, len(members))
        if at != zipped.start_dir or directory_bytes < 0:
            raise _strange(path)


def _strange(path: Path) -> PackError:
    return PackError(f"{path} holds bytes that belong to none of its files")


def _check_header(path: Path, file: BinaryIO, member: zipfile.ZipInfo, end: int) -> None:
    """Raise PackError unless what stands before and after a member says what the directory does.

    end: where the next one begins.
    """
    file.seek(member.header_offset)
    fields = _LOCAL.unpack(_exactly(path, file, _LOCAL.size))
    _, _, flags, method, time, date, crc, packed, size, name_bytes, extra_bytes = fields
    name, extra = (_exactly(path, file, count) for count in (name_bytes, extra_bytes))
    known = member.CRC, member.compress_size, member.file_size
    year, month, day, hour, minute, second = member.date_time
    sizes = _extra(path, member, extra).get(_SIZES)
    if sizes is not None:
        short = (size, packed)
        if len(sizes) != 16 or (_UNKNOWN in short and set(short) != {_UNKNOWN}):
            raise PackError(f"{path} is damaged: {member.filename} has half a size")
        size, packed = struct.unpack("<2Q", sizes)
        if _UNKNOWN not in short and short != (size, packed):  # Python 3.11.2 writes both
            raise PackError(f"{path} is damaged: {member.filename} has two sizes")
    rest = end - file.tell() - member.compress_size
    if flags & _DESCRIBED:
        if rest not in _DESCRIPTORS or (crc, packed, size) not in ((0, 0, 0), known):
            raise _strange(path)
        file.seek(member.compress_size, os.SEEK_CUR)
        *signature, crc, packed, size = struct.unpack(
            _DESCRIPTORS[rest], _exactly(path, file, rest)
        )
        if signature not in ([], [b"PK\7\x08"]):
            raise _strange(path)
    elif rest:
        raise _strange(path)
    _extra(path, member, member.extra)
    encoding = "utf-8" if member.flag_bits & _UTF8 else "cp437"
    if (
        fields[0] != b"PK\3\4"
        or (flags, method) != (member.flag_bits, member.compress_type)
        or (crc, packed, size) != known
        or name != member.orig_filename.encode(encoding)
        or date != (year - 1980) << 9 | month << 5 | day
        or time != hour << 11 | minute << 5 | second // 2
    ):
        raise PackError(
            f"{path} is damaged: the header of {member.filename} contradicts the pack's directory"
        )


def _extra(path: Path, member: zipfile.ZipInfo, extra: bytes) -> dict[int, bytes]:
    """Return the extra fields of a member. Raises PackError for those that may say something
    else.
    """
    found: dict[int, bytes] = {}
    while extra:
        kind, length = struct.unpack_from("<2H", extra) if len(extra) >= 4 else (0, 0)
        if kind not in _EXTRA or kind in found or len(extra) < 4 + length:
            raise PackError(f"{path} is damaged: {member.filename} has fields that are refused")
        found[kind], extra = extra[4 : 4 + length], extra[4 + length :]
    return found


def _directory_bytes(path: Path, file: BinaryIO, start: int, count: int) -> int:
    """Return the size of a pack's directory, after which nothing but its end records comes.

    start: where it begins. count: of its members. Raises PackError.
    """
    whole = file.seek(0, os.SEEK_END)
    file.seek(max(0, whole - _END.size - _LOCATOR.size - _LARGE_END.size))
    tail = file.read()
    end = _END.unpack(tail[-_END.size :])
    size = whole - _END.size - start
    large = tail[: _LARGE_END.size], tail[_LARGE_END.size : -_END.size]
    if large[1][:4] == b"PK\6\7":
        size -= _LARGE_END.size + _LOCATOR.size
        signature, length, _, _, *numbers = _LARGE_END.unpack(large[0])
        locator = _LOCATOR.unpack(large[1])
        if (
            signature != b"PK\6\6"
            or length != _LARGE_END.size - 12
            or numbers != [0, 0, count, count, size, start]
            or locator[1:] != (0, start + size, 1)
        ):
            raise _strange(path)
        most = (0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, _UNKNOWN, _UNKNOWN)
    else:
        most = (0, 0, count, count, size, start)
    numbers = [0, 0, count, count, size, start]
    fits = all(one in (a, b) for one, a, b in zip(end[1:7], numbers, most, strict=True))
    if end[0] != b"PK\5\6" or not fits or end[7]:
        raise _strange(path)
    return size


def _exactly(path: Path, file: BinaryIO, count: int) -> bytes:
    found = file.read(count)
    if len(found) != count:
        raise PackError(f"{path} is damaged: it ends in the middle of a header")
    return found


def _unpack(path: Path, file: BinaryIO, member: zipfile.ZipInfo, out: BinaryIO) -> None:
    """Write the content of a member: exactly what its bytes unpack to, which is as long as the
    directory says. Raises PackError.
    """
    file.seek(member.header_offset)
    *_, name_bytes, extra_bytes = _LOCAL.unpack(_exactly(path, file, _LOCAL.size))
    file.seek(name_bytes + extra_bytes, os.SEEK_CUR)
    unpacker = None if member.compress_type == zipfile.ZIP_STORED else zlib.decompressobj(-15)
    left, size, crc = member.compress_size, 0, 0
    packed = b""
    while left or packed:
        if not packed:
            packed = _exactly(path, file, min(left, _BLOCK))
            left -= len(packed)
        if unpacker is None:
            content, packed = packed, b""
        else:
            content, packed = unpacker.decompress(packed, _BLOCK), unpacker.unconsumed_tail
            if unpacker.unused_data or (unpacker.eof and left):
                raise _strange(path)
        size, crc = size + len(content), zlib.crc32(content, crc)
        if size > member.file_size:
            break
        out.write(content)
    if unpacker is not None and size <= member.file_size:
        content = unpacker.flush()  # at most the rest of one match
        size, crc = size + len(content), zlib.crc32(content, crc)
        out.write(content)
    whole = unpacker is None or unpacker.eof
    if not whole or (size, crc) != (member.file_size, member.CRC):
        raise PackError(f"{path} is damaged: {member.filename} is not what the directory says")


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
        if sha256_of(folder / name) != sha256:
            raise PackError(f"{name} in {path} does not match its hash in {SUMS}")

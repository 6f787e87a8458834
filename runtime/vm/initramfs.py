"""The initramfs: a cpio archive, written here so that its bytes are the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FILE = 0o100000
DIRECTORY = 0o040000
CHARACTER_DEVICE = 0o020000


@dataclass(frozen=True)
class Entry:
    """A member of the archive: `path` without a leading slash, `mode` with its file type bits."""

    path: str
    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def pack(entries: list[Entry]) -> bytes:
    """Return a cpio archive in the `newc` format (Linux, Documentation/driver-api/early-userspace).

    Inode numbers count up, owners and times are zero. The bytes depend on the entries alone.
    """
    out = bytearray()
    for number, entry in enumerate([*entries, Entry("TRAILER!!!", 0)], start=1):
        name = entry.path.encode() + b"\0"
        fields = (
            number,
            entry.mode,
            0,  # owner
            0,  # group
            1,  # links
            0,  # time
            len(entry.content),
            0,  # device of the archive, major and minor
            0,
            *entry.device,
            len(name),
            0,  # checksum: none in this format
        )
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        out += b"\0" * (-len(out) % 4)
        out += entry.content
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def guest_entries(
    init: str, busybox: bytes, modules: list[tuple[str, bytes]], guest_files: dict[str, bytes]
) -> list[Entry]:
    """Return the entries of fairc's initramfs.

    init: the first program, by its name in `guest/`. busybox: the static binary. modules: (name,
    content) in the order of loading. guest_files: what `/fairc` holds, by path from there.
    """
    first = (Path(__file__).parent / "guest" / init).read_bytes()
    inner = {f"fairc/{name.rpartition('/')[0]}" for name in guest_files if "/" in name}
    folders = ("bin", "dev", "fairc", *sorted(inner), "modules", "root")
    entries = [Entry(name, DIRECTORY | 0o755) for name in folders]
    entries.append(Entry("dev/console", CHARACTER_DEVICE | 0o600, device=(5, 1)))
    entries.append(Entry("init", FILE | 0o755, first))
    entries.append(Entry("bin/busybox", FILE | 0o755, busybox))
    entries.append(
        Entry("modules/order", FILE | 0o644, "".join(f"{m}\n" for m, _ in modules).encode())
    )
    entries += [Entry(f"modules/{name}.ko", FILE | 0o644, content) for name, content in modules]
    entries += [
        Entry(f"fairc/{name}", FILE | 0o755, content)
        for name, content in sorted(guest_files.items())
    ]
    return entries

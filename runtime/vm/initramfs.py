"""The initramfs: a cpio archive, written here so that its bytes are the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fairc.compiler.targets import runner

from . import recipe

FILE = 0o100000
DIRECTORY = 0o040000
CHARACTER_DEVICE = 0o020000
PAGE_BYTES = 4096


@dataclass(frozen=True)
class Entry:
    """A member of the archive: `path` without a leading slash, `mode` with its file type bits."""

    path: str
    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def pack(entries: list[Entry]) -> bytes:
    """Return a cpio archive in the `newc` format (Linux, Documentation/driver-api/early-userspace).

    Inode numbers count up, owners and times are zero. The bytes depend on the entries alone. Where
    content has a page or more, it begins with one: User-Mode Linux gives such pages to the file
    (18-initramfs-on-demand.patch).
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
        head_bytes = len(b"070701") + 8 * len(fields) + len(name)
        if len(entry.content) >= PAGE_BYTES:
            out += b"\0" * (-(len(out) + head_bytes + -head_bytes % 4) % PAGE_BYTES)
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        out += b"\0" * (-len(out) % 4)
        out += entry.content
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def guest_entries(
    init: str, busybox: bytes, modules: list[tuple[str, bytes]], files: dict[str, bytes]
) -> list[Entry]:
    """Return the entries of fairc's initramfs.

    init: the first program, by its name in `guest/`. busybox: the static binary. modules: (name,
    content) in the order of loading. files: what `/fairc` holds, by path from there.
    """
    first = (Path(__file__).parent / "guest" / init).read_bytes()
    inner = {f"fairc/{name.rpartition('/')[0]}" for name in files if "/" in name}
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
        Entry(f"fairc/{name}", FILE | 0o755, content) for name, content in sorted(files.items())
    ]
    return entries


def script_entries(script: bytes, busybox: bytes, files: Mapping[str, bytes]) -> list[Entry]:
    """Return the entries of an initramfs whose first program is a script of busybox.

    files: what it holds besides, by path.
    """
    folders = sorted({name.rpartition("/")[0] for name in files})
    return [
        Entry("bin", DIRECTORY | 0o755),
        Entry("dev", DIRECTORY | 0o755),
        Entry("dev/console", CHARACTER_DEVICE | 0o600, device=(5, 1)),
        Entry("init", FILE | 0o755, script),
        Entry("bin/busybox", FILE | 0o755, busybox),
        *(Entry(name, DIRECTORY | 0o755) for name in folders),
        *(Entry(name, FILE | 0o644, content) for name, content in files.items()),
    ]


def guest_files(
    variant: recipe.Variant,
    endpoints: Path,
    machine: str,
    with_runner: bool = True,
    modules: Mapping[str, bytes] | None = None,
    agents: Mapping[str, bytes] = MappingProxyType({}),
) -> dict[str, bytes]:
    """Return the files that the initramfs holds for the agent, by their path from its folder.

    endpoints: the program of the endpoints. machine: the module that becomes the agent's `machine`.
    with_runner: whether `cell/` is among them. modules: instead of this installation's
    (foreign.py). agents: what `runner.agents` returns of the cell.
    """
    files = {
        "agent.py": (recipe.GUEST / "agent.py").read_bytes(),
        "machine.py": (recipe.GUEST / machine).read_bytes(),
        "exchange.py": Path(__file__).with_name("exchange.py").read_bytes(),
        "fairc-endpoints": endpoints.read_bytes(),
    }
    if with_runner:
        # One file more would move the kernel's random numbers, and with them the artefacts of all
        # cells.
        found = runner.core() if modules is None else modules
        files |= {name: found[name] for name in found.keys() - runner.mechanisms().keys()}
        files |= agents
    if variant is recipe.BROWSER:
        files["fairc-browser"] = (recipe.GUEST / "browser.py").read_bytes()
        files["page_record.py"] = (recipe.GUEST / "page_record.py").read_bytes()
    return files

"""The initramfs: an archive that cpio itself can read."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from fairc.runtime.vm import initramfs

BUSYBOX_FREE_CPIO = shutil.which("cpio")


def test_the_layout_of_one_member() -> None:
    archive = initramfs.pack([initramfs.Entry("a", initramfs.FILE | 0o644, b"hello")])

    assert archive[:6] == b"070701"
    assert archive[54:62] == b"00000005"  # the size
    assert archive[110:112] == b"a\0"
    assert archive[112:120] == b"hello\0\0\0"
    assert b"TRAILER!!!" in archive
    assert len(archive) % 4 == 0


def test_equal_entries_give_equal_bytes() -> None:
    first = initramfs.pack(
        initramfs.guest_entries("init-qemu", b"bb", [("m", b"1")], {"b": b"2", "a": b"1"})
    )
    second = initramfs.pack(
        initramfs.guest_entries("init-qemu", b"bb", [("m", b"1")], {"a": b"1", "b": b"2"})
    )

    assert first == second


def test_content_of_a_page_or_more_begins_with_a_page() -> None:
    page = initramfs.PAGE_BYTES
    contents = {name: name.encode() * size for name, size in (("a", page), ("b", 1), ("c", page))}
    entries = [initramfs.Entry(name, initramfs.FILE, each) for name, each in contents.items()]

    archive = initramfs.pack(entries)

    places = {name: archive.index(each) for name, each in contents.items() if len(each) == page}
    assert [place % page for place in places.values()] == [0, 0]
    assert [archive[place - 112 : place - 106] for place in places.values()] == [b"070701"] * 2


@pytest.mark.skipif(BUSYBOX_FREE_CPIO is None, reason="cpio is not installed")
def test_cpio_lists_what_was_packed() -> None:
    archive = initramfs.pack(
        initramfs.guest_entries("init-qemu", b"bb" * 4096, [("m", b"1")], {"a": b"1"})
    )

    listing = subprocess.run(["cpio", "-t"], input=archive, capture_output=True, check=True).stdout

    assert {"init", "bin/busybox", "modules/m.ko", "fairc/a"} <= set(listing.decode().split())

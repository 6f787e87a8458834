"""File systems of container images, for programs of the user's own: made once, kept in the cache.

A machine of the engine `uml` makes each from the image's files, so nothing of a stranger's image
is unpacked on this computer. It is the same bytes everywhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from fairc.compiler.files import opened, sha256_of
from fairc.dsl.core.cache import cache_directory
from fairc.runtime.host import bounds, supervisor
from fairc.runtime.host.archive import UNREADABLE
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.vm.image import Image
from fairc.words import container_images
from fairc.words.container_images import ImageError

from . import image_files, machine
from .kernel import Kernel

SCRIPT = Path(__file__).with_name("unpack.sh")
FOLDER = "roots"
UNPACKED = "the image is unpacked"
LIMITS = bounds.Limits(virtual_s=3600.0, cpu_s=600.0)
BLOCK_BYTES, SPARE_BYTES = 4096, 4 << 20
LEAST_RATIO = 1024
"""Bytes for each inode, as mke2fs takes them."""


def recipe() -> str:
    """Return the hash of how images become file systems: part of what a cell's result follows
    from.
    """
    sources = (SCRIPT, Path(image_files.__file__), Path(container_images.__file__))
    text = b"\0".join(path.read_bytes() for path in sources)
    return hashlib.sha256(text).hexdigest()


def made(
    kernel: Kernel,
    root: Image,
    sha256: str,
    tar: Path,
    name: str,
    progress: Callable[[str], None],
) -> Path:
    """Return the file system of an image, from the cache or made now.

    kernel, root: what the unpacking machine boots. sha256: of the tar. name: what the experiment
    calls it. progress: is called when it is made. Raises EngineUnavailable.
    """
    key = hashlib.sha256(f"{sha256} {recipe()}".encode()).hexdigest()
    place = cache_directory() / FOLDER / f"{key}.ext2"
    known = place.with_suffix(".sha256")
    if _is_whole(place, known):
        return place
    progress(f"unpacking {name}")
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        dir=place.parent, prefix=supervisor.temporary_prefix("root")
    ) as scratch:
        files, disk = Path(scratch) / "files.tar", Path(scratch) / "disk"
        try:
            with opened(tar) as image, files.open("wb") as out:
                if hashlib.file_digest(image, "sha256").hexdigest() != sha256:
                    raise EngineUnavailable(
                        (f"the image `{name}` has changed since it was found",),
                        "leave the plan's files alone while it runs",
                    )
                count, size = image_files.flatten(image, container_images.read(image), out)
        except (ImageError, *UNREADABLE) as error:
            why = error if isinstance(error, ImageError) else "it cannot be read as a tar"
            raise EngineUnavailable(
                (f"the image `{name}` cannot be used: {why}",),
                f"save it again: `docker save IMAGE -o {name}`",
            ) from None
        ratio = _lay_out(disk, count, size)
        ran = machine.run_script(
            kernel,
            root,
            SCRIPT.read_bytes(),
            LIMITS,
            arguments=machine.kernel_arguments(root.variant),
            disk=files,
            files={"image/ratio": f"{ratio}\n".encode()},
            exchange=disk,
        )
        if ran.stopped or UNPACKED not in ran.console:
            raise EngineUnavailable(
                (f"the image `{name}` cannot be unpacked: {ran.reason}",),
                "save an image with fewer or smaller files",
            )
        os.chown(disk, os.geteuid(), os.getegid())
        disk.chmod(0o644)
        known.write_text(sha256_of(disk))
        disk.replace(place)
    return place


def _lay_out(disk: Path, count: int, size: int) -> int:
    """Make the empty disk of a file system; return its bytes for each inode.

    count: how many files there will be. size: their bytes.
    """
    inodes = count + count // 8 + 64
    # Each file may leave most of its last block unused, and has an inode of 256 bytes at most;
    # blocks that name blocks take one in a thousand.
    room = size + size // 256 + count * BLOCK_BYTES + inodes * 256 + SPARE_BYTES
    room = -(-room // BLOCK_BYTES) * BLOCK_BYTES
    with disk.open("wb") as file:
        file.truncate(room)
    return max(LEAST_RATIO, room // inodes)


def _is_whole(place: Path, known: Path) -> bool:
    """Whether a file system is there as it was made."""
    with contextlib.suppress(OSError):
        return sha256_of(place) == known.read_text()
    return False

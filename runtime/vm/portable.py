"""The image as one file, so that other machines have the same one, byte by byte.

Debian's packages vanish from mirrors, and an image that is built a month later is another one: its
cells have another identity.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Collection
from pathlib import Path

from fairc.runtime import archive

from . import image, recipe
from .image import Image

MANIFEST = "manifest.json"
# What is no part of the image: it differs from build to build.
LEFT_OUT = ("build.log",)


class ImageFileError(Exception):
    """A file is not an image that can be used here; the message says why and what to do."""


def save(saved: Image, file: Path) -> str:
    """Write an image to a file, whole or not at all; return the file's SHA-256.

    An equal image gives an equal file. Raises OSError.
    """
    with tempfile.TemporaryDirectory(
        prefix=f".{file.name}.", dir=file.absolute().parent
    ) as scratch:
        packed = Path(scratch, "packed")
        archive.pack(saved.folder, packed, LEFT_OUT)
        with packed.open("rb") as content:
            sha256 = hashlib.file_digest(content, "sha256").hexdigest()
        packed.chmod(0o644)
        packed.replace(file)
    return sha256


def load(file: Path, recipes: Collection[str]) -> tuple[Path, str]:
    """Unpack an image into the cache; return its folder and its digest, which has been checked.

    recipes: the hashes of those that this version of fairc uses. Raises ImageFileError, OSError.
    """
    images = recipe.cache_directory() / "images"
    if not file.is_file():
        raise ImageFileError(f"{file} is not a file")
    images.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="loading-", dir=images) as scratch:
        work = Path(scratch, "image")
        work.mkdir()
        manifest = _unpacked(file, work)
        if manifest["recipe"] not in recipes:
            raise ImageFileError(
                f"{file} is an image of another version of fairc: its recipe is"
                f" {manifest['recipe']}, and this version's {', '.join(recipes)}"
            )
        target = images / manifest["recipe"]
        if target.exists():
            there = _there(target)
            if there != manifest["digest"]:
                raise ImageFileError(
                    f"{target} is another image of the same recipe ({there[:16]}, and not"
                    f" {manifest['digest'][:16]}); `fairc image rm` removes it"
                )
        else:
            work.rename(target)
    return target, manifest["digest"]


def _there(folder: Path) -> str:
    """Return the digest of an image of the cache. Raises ImageFileError."""
    try:
        return image.described((folder / MANIFEST).read_bytes())["digest"]
    except (ValueError, FileNotFoundError, IsADirectoryError):
        raise ImageFileError(f"{folder} is damaged; `fairc image rm` removes it") from None


def _unpacked(file: Path, work: Path) -> dict[str, str]:
    """Unpack a file and return its manifest. Raises ImageFileError where it is not whole."""
    wrong = f"{file} is damaged, or not what `fairc image save` writes"
    try:
        archive.unpack(file, work)
    except (ValueError, FileExistsError, NotADirectoryError, IsADirectoryError):
        raise ImageFileError(wrong) from None
    try:
        expected = image.described((work / MANIFEST).read_bytes())
    except (ValueError, FileNotFoundError, IsADirectoryError):
        raise ImageFileError(wrong) from None
    if image.digest(work) != expected["digest"]:
        raise ImageFileError(f"{file} is damaged: its content has not the hash that it names")
    return expected

"""An image and its kernel as one file, so that other machines have the same ones.

Debian's packages vanish from mirrors, and an image built a month later differs: its
cells have another identity. The kernel of the engine `uml` includes its source and its patches,
as its licence requires.
"""

from __future__ import annotations

import tempfile
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairc.compiler.files import content, sha256_of
from fairc.dsl.core.cache import cache_directory
from fairc.runtime.host import archive, clean, supervisor

from . import image

MANIFEST = "manifest.json"
# What is no part of an image: it differs from build to build.
LEFT_OUT = ("build.log",)


class ImageFileError(Exception):
    """A file is not an image that is usable here; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Part:
    """The content of a file: an image or a kernel.

    kind: the folder of the cache that it belongs to, `images` or `kernels`. folder: where it is
    now.
    digest: over all its files.
    """

    kind: str
    folder: Path
    digest: str


def save(parts: Sequence[Part], file: Path, level: int = archive.LEVEL) -> str:
    """Write an image and its kernel to a file, completely or not at all; return the file's SHA-256.

    level: of the compression. Equal parts give an equal file. Raises OSError.
    """
    place = file.absolute().parent
    clean.remove_temporary(place)  # what was left when saving was killed
    prefix = supervisor.temporary_prefix("saving")
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place) as scratch:
        packed = Path(scratch, "packed")
        archive.pack_several({part.kind: part.folder for part in parts}, packed, LEFT_OUT, level)
        sha256 = sha256_of(packed)
        packed.chmod(0o644)
        packed.replace(file)
    return sha256


def load(
    file: Path, recipes: Mapping[str, Sequence[str]], trusted: Container[str] = ("images",)
) -> list[Part]:
    """Unpack a file into the cache; return its parts, with verified digests.

    recipes: kind -> the hashes of the recipes that this version of fairc uses. trusted: the kinds
    that may be installed: a kernel is a program that runs on this machine itself, an image is a
    guest's data. Raises ImageFileError, OSError.
    """
    if not file.is_file():
        raise ImageFileError(f"{file} is not a file")
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    clean.remove_temporary(cache)  # what was left when loading was killed
    prefix = supervisor.temporary_prefix("loading")
    with tempfile.TemporaryDirectory(prefix=prefix, dir=cache) as scratch:
        work = Path(scratch, "parts")
        work.mkdir()
        try:
            archive.unpack(file, work)
        except ValueError:
            raise ImageFileError(_wrong(file)) from None
        kinds = sorted(path.name for path in work.iterdir())
        if not kinds or not set(kinds) <= set(recipes):
            raise ImageFileError(_wrong(file))
        manifests = {kind: _manifest(file, work / kind) for kind in kinds}
        for kind, manifest in manifests.items():
            if manifest["recipe"] not in recipes[kind]:
                raise ImageFileError(
                    f"{file} is an image of another version of fairc: the recipe of its"
                    f" {kind[:-1]} is"
                    f" {manifest['recipe']}, and this version's {', '.join(recipes[kind])}"
                )
        return [
            _install(cache, kind, work / kind, manifests[kind]) for kind in kinds if kind in trusted
        ]


def _install(cache: Path, kind: str, work: Path, manifest: dict[str, str]) -> Part:
    """Move an unpacked part to where it belongs, unless it is there. Raises ImageFileError."""
    target = cache / kind / manifest["recipe"]
    if target.exists():
        there = _there(target)
        if there != manifest["digest"]:
            raise ImageFileError(
                f"{target} is another {kind[:-1]} of the same recipe ({there[:16]}, not"
                f" {manifest['digest'][:16]}); `fairc image rm` removes it"
            )
    else:
        target.parent.mkdir(exist_ok=True)
        try:
            work.rename(target)
        except OSError:
            if not target.exists():  # somebody else has just done it
                raise
    if kind == "kernels":
        (target / "kernel").chmod(0o755)  # the archive has no modes
    return Part(kind, target, manifest["digest"])


def _wrong(file: Path) -> str:
    return f"{file} is damaged, or not what `fairc image save` writes"


def _there(folder: Path) -> str:
    """Return the digest of a part of the cache. Raises ImageFileError."""
    try:
        return image.described(content(folder / MANIFEST))["digest"]
    except (ValueError, OSError):
        raise ImageFileError(f"{folder} is damaged; `fairc image rm` removes it") from None


def _manifest(file: Path, work: Path) -> dict[str, str]:
    """Return the manifest of an unpacked part. Raises ImageFileError where it is incomplete."""
    try:
        expected = image.described(content(work / MANIFEST))
    except (ValueError, OSError):
        raise ImageFileError(_wrong(file)) from None
    if image.digest(work) != expected["digest"]:
        raise ImageFileError(f"{file} is damaged: its content does not match its hash")
    return expected

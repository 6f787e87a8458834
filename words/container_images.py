"""Container images as `docker save` and OCI layouts have them, in a tar: what is in one.

Read as data: nothing of it is unpacked here. Source: OCI Image Format Specification 1.1
(image-layout.md, manifest.md, config.md); Docker Image Specification 1.3 (`manifest.json`).
"""

from __future__ import annotations

import json
import posixpath
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, TypeVar

from fairc.dsl.core import tars

T = TypeVar("T")

MOST_JSON_BYTES = 4 << 20
MOST_FILES = 10_000
"""Files in an image's tar: layers, documents, and whatever else is there."""
MOST_LAYERS = 127
"""As many as Docker allows."""
MOST_VARIABLES, MOST_VARIABLE_CHARACTERS = 100, 1000
ARCHITECTURE = "amd64"

_INDEXES = frozenset(
    {
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    }
)
_UNREADABLE = (tarfile.TarError, EOFError, OSError, ValueError, KeyError, RecursionError)


class ImageError(Exception):
    """A tar is no image that can be used; its argument says why."""


@dataclass(frozen=True, slots=True)
class ImageContent:
    """The documents of an image. layers: names of files in the tar, the lowest first.

    environment: its variables, in their order. folder: in which its entry point begins.
    """

    layers: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    folder: str


def read(file: IO[bytes]) -> ImageContent:
    """Return what is in an image; file: a tar that can be read from any place. Raises
    ImageError.
    """
    file.seek(0)
    try:
        with tarfile.open(fileobj=tars.ShortReads(file), mode="r:", encoding="utf-8") as archive:
            names = members(archive)
            layers, config = _documents(_Tar(archive, names))
    except ImageError:
        raise
    except _UNREADABLE as error:
        what = " ".join(str(error).split())[:200] or type(error).__name__
        raise ImageError(f"it cannot be read as a tar: {what}") from None
    found = _of(config.get("architecture"), str), _of(config.get("os", "linux"), str)
    if found != (ARCHITECTURE, "linux"):
        raise ImageError(f"it is for {found[1]} on {found[0]}, and the hosts are Linux on amd64")
    if not 1 <= len(layers) <= MOST_LAYERS:
        raise ImageError(f"it has {len(layers)} layers, and 1 to {MOST_LAYERS} can be read")
    if missing := [name for name in layers if posixpath.normpath(name) not in names]:
        raise ImageError(f"it lacks its layer `{missing[0][:100]}`: save it again, whole")
    return ImageContent(tuple(layers), tuple(_environment(config)), _folder(config))


def members(archive: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    """Return what an image's tar holds, by name. Raises ImageError, and as tarfile does."""
    found: dict[str, tarfile.TarInfo] = {}
    for member in tars.members(archive):
        found[posixpath.normpath(member.name)] = member
        if len(found) > MOST_FILES:
            raise ImageError(f"it holds more than {MOST_FILES:,} files beside those of its layers")
    return found


@dataclass(frozen=True, slots=True)
class _Tar:
    """A tar and its members by name."""

    archive: tarfile.TarFile
    members: dict[str, tarfile.TarInfo]

    def document(self, name: str) -> Any:
        """Return a file of JSON. Raises ImageError."""
        member = self.members.get(posixpath.normpath(name))
        file = self.archive.extractfile(member) if member is not None else None
        if file is None:
            raise ImageError(f"it lacks `{name[:100]}`: save it again, whole")
        content = file.read(MOST_JSON_BYTES + 1)
        if len(content) > MOST_JSON_BYTES:
            raise ImageError(f"its `{name[:100]}` has more than {MOST_JSON_BYTES >> 20} MiB")
        return json.loads(content)


def _documents(tar: _Tar) -> tuple[list[str], dict[str, Any]]:
    """Return the names of an image's layers, and its configuration. Raises ImageError."""
    if "manifest.json" in tar.members:
        images = _of(tar.document("manifest.json"), list)
        if len(images) != 1:
            raise ImageError(f"it holds {len(images)} images: save one alone")
        image = _of(images[0], dict)
        layers = [_of(name, str) for name in _of(image.get("Layers"), list)]
        return layers, _of(tar.document(_of(image.get("Config"), str)), dict)
    if "index.json" not in tar.members:
        raise ImageError(
            "it has neither `manifest.json` nor `index.json`, as `docker save` and OCI layouts do"
        )
    manifest = _manifest(tar, _of(tar.document("index.json"), dict), depth=0)
    layers = [_blob(layer) for layer in _of(manifest.get("layers"), list)]
    return layers, _of(tar.document(_blob(manifest.get("config"))), dict)


def _manifest(tar: _Tar, index: dict[str, Any], depth: int) -> dict[str, Any]:
    """Return the one manifest for this architecture in an index, or below it."""
    fitting = [each for each in _of(index.get("manifests"), list) if _fits(_of(each, dict))]
    if len(fitting) != 1 or depth > 3:
        raise ImageError(f"it holds {len(fitting)} images for amd64: save one alone")
    document = _of(tar.document(_blob(fitting[0])), dict)
    if fitting[0].get("mediaType") in _INDEXES or "manifests" in document:
        return _manifest(tar, document, depth + 1)
    return document


def _fits(descriptor: dict[str, Any]) -> bool:
    """Whether a manifest may be for this architecture."""
    platform = _of(descriptor.get("platform", {}), dict)
    return bool(platform.get("architecture", ARCHITECTURE) == ARCHITECTURE)


def _blob(descriptor: Any) -> str:
    """Return the name of what a descriptor names."""
    algorithm, _, digest = _of(_of(descriptor, dict).get("digest"), str).partition(":")
    return f"blobs/{algorithm}/{digest}"


def _environment(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield an image's variables, by name and value. Raises ImageError."""
    inner = config.get("config") or {}
    words = _of(_of(inner, dict).get("Env") or [], list)
    if len(words) > MOST_VARIABLES:
        raise ImageError(f"it sets more than {MOST_VARIABLES} variables of the environment")
    for word in words:
        name, _, value = _of(word, str).partition("=")
        if not name.isidentifier() or not name.isascii():
            raise ImageError(f"it sets a variable with the name {name[:100]!r}")
        if not value.isprintable() or len(value) > MOST_VARIABLE_CHARACTERS:
            raise ImageError(f"its variable {name} cannot be read")
        yield name, value


def _folder(config: dict[str, Any]) -> str:
    """Return where an image's entry point begins. Raises ImageError."""
    folder = _of(_of(config.get("config") or {}, dict).get("WorkingDir") or "/", str)
    if not folder.isprintable() or len(folder) > MOST_VARIABLE_CHARACTERS:
        raise ImageError("its working folder cannot be read")
    return posixpath.join("/", folder)


def _of(value: Any, kind: type[T]) -> T:
    """Return a value of JSON that has to be of a kind. Raises ImageError."""
    if not isinstance(value, kind):
        raise ImageError("its documents are not those of an image")
    return value

"""The image that containers run in: the virtual machine's root file system, and the endpoints."""

from __future__ import annotations

import hashlib
import io
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from docker.errors import BuildError, ImageNotFound

from fairc.compiler.binary import NAME, find_endpoints
from fairc.compiler.targets import runner
from fairc.compiler.targets.containers import image_name
from fairc.runtime.host.faults import EngineUnavailable, NotBuilt
from fairc.runtime.host.supervisor import temporary_prefix
from fairc.runtime.vm import image as machine
from fairc.runtime.vm import recipe

from .client import Client, translated

BASE = "localhost/fairc-base"
RECIPE = "org.fairc.recipe"
BUILD_COMMAND = "fairc image build --engine docker"
COPY_CELL = f"COPY {runner.PACKAGE} /usr/lib/python3/dist-packages/{runner.PACKAGE}\n"
# What only a virtual machine needs, and what the engine provides itself.
LEFT_OUT = ("./boot/", "./usr/lib/modules/", "./lib/modules/", "./dev/", "./proc/", "./sys/")


@dataclass(frozen=True, slots=True)
class Image:
    """A built image.

    digest: SHA-256 over its layers except the last, which is `cell/`; size: bytes.
    """

    name: str
    digest: str
    size: int


def recipe_hash() -> str:
    """Return the hash of what the base image is built from: that of the virtual machine without a
    browser.
    """
    return recipe.PLAIN.hash()


def base_name() -> str:
    """Return the name of the base image of the current recipe."""
    return f"{BASE}:{recipe_hash()}"


def find(client: Client, name: str) -> Image | None:
    """Return an image of the engine; None if it is missing or of an earlier recipe.

    Raises EngineUnavailable.
    """
    with translated():
        try:
            found = client.images.get(name).attrs
        except ImageNotFound:
            return None
    recipe = (found["Config"].get("Labels") or {}).get(RECIPE)
    if recipe not in (None, recipe_hash()):
        return None  # of an earlier recipe
    layers = " ".join(found["RootFS"]["Layers"][:-1])
    return Image(name, hashlib.sha256(layers.encode()).hexdigest(), found["Size"])


def require(client: Client) -> Image:
    """Return the image with the current endpoints, built from the base image if need be.

    Raises EngineUnavailable with the command that builds the base image, EndpointsMissing.
    """
    endpoints = find_endpoints()
    name = image_name(endpoints)
    found = find(client, name)
    if found is not None:
        return found
    if find(client, base_name()) is None:
        raise NotBuilt(
            "the image for containers has not been built",
            BUILD_COMMAND,
            "400 MB",
            partial(build, client),
        )
    recipe_label = f"LABEL {RECIPE}={recipe_hash()}"
    steps = f"FROM {base_name()}\nCOPY {NAME} /usr/local/bin/\n{COPY_CELL}{recipe_label}\n"
    with translated():
        try:
            client.images.build(
                fileobj=_context(
                    {"Dockerfile": steps.encode(), NAME: endpoints.read_bytes(), **runner.files()}
                ),
                custom_context=True,
                tag=name,
                rm=True,
                forcerm=True,
                network_mode="none",
            )
        except BuildError as error:
            why = f"the image cannot be built: {error}"
            raise EngineUnavailable((why,), BUILD_COMMAND) from error
    found = find(client, name)
    assert found is not None, "it has just been built"
    return found


def build(client: Client, progress: Callable[[str], None] = lambda _: None) -> Image:
    """Build the base image unless it exists, then the one with the endpoints; return the latter.

    Raises EngineUnavailable when a tool is missing or the build fails, EndpointsMissing.
    """
    if find(client, base_name()) is None:
        with tempfile.TemporaryDirectory(prefix=temporary_prefix("container")) as temporary:
            tarball = Path(temporary) / "root.tar"
            machine.make_root(recipe.PLAIN, tarball, progress)
            progress("importing them into the Docker engine")
            smaller = Path(temporary) / "base.tar"
            _without_kernel(tarball, smaller)
            with translated():
                # The SDK's images.load() wants an image with layers, not a root file system.
                client.api.import_image_from_file(str(smaller), repository=BASE, tag=recipe_hash())
    return require(client)


def remove(client: Client) -> Iterator[str]:
    """Remove every image that fairc has built; yield their names. Raises EngineUnavailable."""
    repository = image_name(find_endpoints()).partition(":")[0]
    for name in (repository, BASE):
        with translated():
            found = client.images.list(name)
        for image in found:
            for tag in image.tags:
                with translated():
                    client.images.remove(tag, force=True)
                yield tag


def _context(files: dict[str, bytes]) -> IO[bytes]:
    """Return an archive for a build: the same bytes for the same files."""
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    context.seek(0)
    return context


def _without_kernel(tarball: Path, target: Path) -> None:
    """Copy an archive without what containers do not need."""
    with tarfile.open(tarball) as given, tarfile.open(target, mode="w") as kept:
        for member in given:
            if not member.name.startswith(LEFT_OUT):
                kept.addfile(member, given.extractfile(member) if member.isfile() else None)

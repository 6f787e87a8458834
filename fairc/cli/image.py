"""`fairc image`: what the virtual machine and containers boot or run in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from fairc.compiler.engine_choice import VIRTUAL_TIME
from fairc.compiler.targets.binary import find_endpoints
from fairc.runtime.engines import ENGINES
from fairc.runtime.formatting import size
from fairc.runtime.uml import confinement, kernel, sources
from fairc.runtime.uml.source import recipe_hash
from fairc.runtime.vm import image as images
from fairc.runtime.vm import portable, recipe, shipped, snapshot
from fairc.runtime.vm.portable import Part
from fairc.runtime.vm.recipe import Variant

from . import console
from .failures import Status, UsageError
from .options import quiet, type_path

if TYPE_CHECKING:
    from fairc.runtime.containers.client import Client

engine_option = click.option(
    "--engine",
    type=click.Choice([kind.name for kind in ENGINES if kind.image]),
    default=VIRTUAL_TIME[0],
    show_default=True,
    help="Whose image.",
)


@click.group()
def image() -> None:
    """Build, describe, save, load or remove the image of an engine, or get its sources."""


@contextmanager
def _docker() -> Iterator[tuple[Client, ModuleType]]:
    """Connect to Docker, and return what handles its image: nothing else here needs `docker`."""
    from fairc.runtime.containers import client
    from fairc.runtime.containers import image as container_images

    with closing(client.connect()) as connected:
        yield connected, container_images


@image.command()
@engine_option
@click.option("--browser", is_flag=True, help="The image with Chromium, of uml and vm, too.")
@click.option(
    "--kernel-source",
    type=type_path,
    metavar="FILE",
    help="A linux-source tarball for the kernel of the engine uml, if Debian no longer has it.",
)
@quiet()
def build(engine: str, browser: bool, kernel_source: Path | None) -> None:
    """Build the image of an engine, and for uml its kernel, unless they exist."""
    usual = usual_image(engine)
    if usual is None:
        with _docker() as (docker, container_images):
            container_image = container_images.build(docker, console.say)
        console.result(f"{container_image.name}: {size(container_image.size)}")
        return
    if usual.bare:
        built_kernel = kernel.build(console.say, kernel_source)
        console.result(f"{built_kernel.folder}: kernel {built_kernel.version} of the engine uml")
    for variant in (usual, *((recipe.BROWSER,) if browser else ())):
        built = images.build(variant, console.say)
        console.result(
            f"{built.folder}: image {variant.name}, kernel {built.kernel},"
            f" {size(built.size_bytes())}"
        )


def usual_image(engine: str) -> Variant | None:
    """Return what an engine's machine boots for cells without a browser; None: it has none."""
    image = ENGINES[engine].image
    return next((variant for variant in recipe.VARIANTS if variant.name == image), None)


@image.command()
@engine_option
def info(engine: str) -> int:
    """Show where the images are and what is in them; exit status 3 when there is none."""
    if usual_image(engine) is None:
        with _docker() as (docker, container_images):
            container_image = container_images.require(docker)
        console.result(f"{'name':<8}{container_image.name}")
        console.result(f"{'sha256':<8}{container_image.digest}")
        console.result(f"{'size':<8}{size(container_image.size)}")
        return Status.WELL
    shipped.install(recipe_hash(), console.say)
    found = [image for variant in recipe.VARIANTS if (image := images.find(variant))]
    if not found:
        console.complain("error: no image of the engines in virtual time has been built")
        console.complain(f"help: {images.BUILD_COMMAND}")
        return Status.UNAVAILABLE
    for image in found:
        for label, value in (
            ("image", image.variant.name),
            ("folder", image.folder),
            ("kernel", image.kernel),
            ("recipe", image.recipe),
            ("sha256", image.digest),
            ("size", size(image.size_bytes())),
        ):
            console.result(f"{label:<8}{value}")
    if built := kernel.find():
        for label, value in (
            ("kernel", f"{built.version}, of the engine uml"),
            ("folder", built.folder),
            ("recipe", built.recipe),
            ("sha256", built.sha256),
        ):
            console.result(f"{label:<8}{value}")
    return Status.WELL


def saved_parts(variant: Variant) -> list[Part]:
    """Return what `image save` writes: the image and, if it is built, the fast engine's kernel."""
    found = images.require(variant)
    parts = [portable.Part("images", found.folder, found.digest)]
    if built := kernel.find():
        parts.append(portable.Part("kernels", built.folder, built.digest))
    return parts


@image.command()
@click.argument("file", type=type_path)
@engine_option
@click.option("--browser", is_flag=True, help="The image with Chromium instead.")
@quiet()
def save(file: Path, engine: str, browser: bool) -> None:
    """Write an image and the fast engine's kernel (with its source) to FILE, a new file, for other
    machines.
    """
    usual = usual_image(engine)
    if usual is None:
        raise UsageError("Docker saves its own images", "docker image save")
    if os.path.lexists(file):
        raise UsageError(f"{file} exists", "move or remove it, or name another file")
    parts = saved_parts(recipe.BROWSER if browser else usual)
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{file.parent} is not a folder")
    console.say("packing the image")
    sha256 = portable.save(parts, file)
    for part in parts:
        console.result(f"{part.kind[:-1]:<8}{part.digest}")
    console.result(f"size    {size(file.stat().st_size)}")
    console.result(f"sha256  {sha256}")


@image.command()
@click.argument("file", type=type_path)
@click.option(
    "--snapshot",
    "boot",
    is_flag=True,
    help="Also boot it once, so that cells find the machine ready; needs QEMU and the endpoints.",
)
@click.option(
    "--trust",
    is_flag=True,
    help="Also load its kernel, a program that will run on this machine: you know who made FILE.",
)
@quiet()
def load(file: Path, boot: bool, trust: bool) -> None:
    """Install the image and the kernel of FILE for the engines, after checking their hashes."""
    if not trust:
        confinement.require(f"the programs in {file}")
    recipes = {
        "images": [variant.hash() for variant in recipe.VARIANTS],
        "kernels": [recipe_hash()],
    }
    parts = portable.load(file, recipes, recipes if trust else ("images",))
    for part in parts:
        console.result(f"{part.folder}: {part.kind[:-1]} {part.digest}")
    for part in parts if boot else ():
        if part.kind != "images":
            continue
        (variant,) = (v for v in recipe.VARIANTS if v.hash() == part.folder.name)
        if variant.bare:
            continue
        taken = snapshot.obtain(images.require(variant), find_endpoints(), console.say)
        console.result(f"snapshot {taken.identity}")


@image.command()
@click.argument("folder", type=type_path)
@quiet()
def source(folder: Path) -> None:
    """Write the sources of the machine of uml to FOLDER: its kernel's, and those of the Debian
    packages in its image.

    Where they cannot be had, it says which file of the release has them.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", "name a folder for the sources alone")
    built, root = kernel.require(), images.require()
    folder.mkdir(parents=True, exist_ok=True)
    sources.write(folder, built, root, console.say)
    console.result(
        f"{folder}: the sources of Linux {built.version} and {len(sources.packages(root))} packages"
    )


@image.command()
@engine_option
def rm(engine: str) -> None:
    """Remove every image, the kernel, and the virtual machine's snapshots."""
    if usual_image(engine) is None:
        with _docker() as (docker, container_images):
            for name in container_images.remove(docker):
                console.result(f"removed {name}")
        return
    for path in images.remove():
        console.result(f"removed {path}")

"""`fairc image`: what the virtual machine and containers boot or run in."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from . import console
from .failures import Status, Wrong
from .options import quiet, type_path
from .plan import size

ENGINES = click.Choice(["vm", "docker"])
engine_option = click.option(
    "--engine", type=ENGINES, default="vm", show_default=True, help="Whose image."
)


@click.group()
def image() -> None:
    """Build, describe, save, load or remove the image of an engine."""


@image.command()
@engine_option
@click.option("--browser", is_flag=True, help="the image with Chromium, too")
@quiet()
def build(engine: str, browser: bool) -> None:
    """Build the image, unless it is there."""
    if engine == "docker":
        from fairc.runtime.containers import client
        from fairc.runtime.containers import image as container_images

        with closing(client.connect()) as docker:
            made = container_images.build(docker, console.say)
        console.result(f"{made.name}: {size(made.size)}")
        return
    from fairc.runtime.vm import image as images
    from fairc.runtime.vm import recipe

    for variant in recipe.VARIANTS if browser else (recipe.PLAIN,):
        built = images.build(variant, console.say)
        console.result(
            f"{built.folder}{recipe.suffix(variant)}: kernel {built.kernel}, {size(built.size_bytes())}"
        )


@image.command()
@engine_option
def info(engine: str) -> int:
    """Show where the images are and what is in them; exit status 3 when there is none."""
    if engine == "docker":
        from fairc.runtime.containers import client
        from fairc.runtime.containers import image as container_images

        with closing(client.connect()) as docker:
            made = container_images.require(docker)
        console.result(f"{'name':<8}{made.name}")
        console.result(f"{'sha256':<8}{made.digest}")
        console.result(f"{'size':<8}{size(made.size)}")
        return Status.WELL
    from fairc.runtime.vm import image as images
    from fairc.runtime.vm import recipe

    found = [image for variant in recipe.VARIANTS if (image := images.find(variant))]
    if not found:
        console.complain("error: the virtual machine's image has not been built")
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
    return Status.WELL


@image.command()
@click.argument("file", type=type_path)
@click.option("--browser", is_flag=True, help="The image with Chromium instead.")
@quiet()
def save(file: Path, browser: bool) -> None:
    """Write the virtual machine's image to FILE, for machines that are to have the same one."""
    from fairc.runtime.vm import image as images
    from fairc.runtime.vm import portable, recipe

    found = images.require(recipe.BROWSER if browser else recipe.PLAIN)
    if not file.absolute().parent.is_dir():
        raise Wrong(f"{file.parent} is not a folder")
    console.say("packing the image")
    sha256 = portable.save(found, file)
    console.result(f"{file}: image {found.digest}, {size(file.stat().st_size)}")
    console.result(f"sha256  {sha256}")


@image.command()
@click.argument("file", type=type_path)
@click.option(
    "--snapshot",
    "boot",
    is_flag=True,
    help="Also boot it once, so that cells find the machine ready; needs QEMU and the endpoints.",
)
@quiet()
def load(file: Path, boot: bool) -> None:
    """Put the image in FILE where the virtual machine looks for it, after checking its hash."""
    from fairc.compiler.targets.binary import find_endpoints
    from fairc.runtime.vm import image as images
    from fairc.runtime.vm import portable, recipe, snapshot

    folder, digest = portable.load(file, [variant.hash() for variant in recipe.VARIANTS])
    console.result(f"{folder}: image {digest}")
    if boot:
        (variant,) = (v for v in recipe.VARIANTS if v.hash() == folder.name)
        taken = snapshot.obtain(images.require(variant), find_endpoints(), console.say)
        console.result(f"snapshot {taken.identity}")


@image.command()
@engine_option
def rm(engine: str) -> None:
    """Remove every image (and the virtual machine's snapshots)."""
    if engine == "docker":
        from fairc.runtime.containers import client
        from fairc.runtime.containers import image as container_images

        with closing(client.connect()) as docker:
            for name in container_images.remove(docker):
                console.result(f"removed {name}")
        return
    from fairc.runtime.vm import image as images

    for path in images.remove():
        console.result(f"removed {path}")

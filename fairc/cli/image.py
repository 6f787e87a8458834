"""`fairc image`: the virtual machine's image."""

from __future__ import annotations

import click

from . import console
from .failures import Status
from .options import quiet
from .plan import size


@click.group()
def image() -> None:
    """Build, describe or remove the virtual machine's image."""


@image.command()
@click.option("--browser", is_flag=True, help="the image with Chromium, too")
@quiet()
def build(browser: bool) -> None:
    """Build the image, unless it is there."""
    from fairc.runtime.vm import image as images
    from fairc.runtime.vm import recipe

    for variant in recipe.VARIANTS if browser else (recipe.PLAIN,):
        built = images.build(variant, console.say)
        console.result(
            f"{built.folder}{recipe.suffix(variant)}: kernel {built.kernel}, {size(built.size_bytes())}"
        )


@image.command()
def info() -> int:
    """Show where the images are and what is in them; exit status 3 when there is none."""
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
def rm() -> None:
    """Remove every image and snapshot from the cache."""
    from fairc.runtime.vm import image as images

    for path in images.remove():
        console.result(f"removed {path}")

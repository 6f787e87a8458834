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
@quiet()
def build() -> None:
    """Build the image, unless it is there."""
    from fairc.runtime.vm import image as images

    built = images.build(console.say)
    console.result(f"{built.folder}: kernel {built.kernel}, {size(built.size_bytes())}")


@image.command()
def info() -> int:
    """Show where the image is and what is in it; exit status 3 when there is none."""
    from fairc.runtime.vm import image as images

    found = images.find()
    if found is None:
        console.complain("error: the virtual machine's image has not been built")
        console.complain(f"help: {images.BUILD_COMMAND}")
        return Status.UNAVAILABLE
    for label, value in (
        ("folder", found.folder),
        ("kernel", found.kernel),
        ("recipe", found.recipe),
        ("sha256", found.digest),
        ("size", size(found.size_bytes())),
    ):
        console.result(f"{label:<8}{value}")
    return Status.WELL


@image.command()
def rm() -> None:
    """Remove every image and snapshot from the cache."""
    from fairc.runtime.vm import image as images

    for path in images.remove():
        console.result(f"removed {path}")

"""The command line of `fairc image`."""

from __future__ import annotations

import click

from fairc.cli.options import Commands, quiet, type_path

engine_option = click.option(
    "--engine",
    metavar="NAME",
    default="uml",
    show_default=True,
    help="Whose image: uml, vm or docker.",
)


@click.group(cls=Commands)
def image() -> None:
    """Build, describe, save, load or remove an engine's image, or get its sources; or make an image
    of Debian packages for your own programs.
    """


@image.command()
@engine_option
@click.option("--browser", is_flag=True, help="Also build the image with Chromium, for uml and vm.")
@click.option(
    "--kernel",
    "tree",
    type=type_path,
    metavar="FOLDER|TARBALL",
    help="A kernel's source, from Linux 6.16 on. Without --name: a linux-source tarball for the"
    " standard kernel, if Debian no longer has it.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Build your own kernel, for hosts { kernel = NAME }; without --kernel from the standard"
    " kernel's source.",
)
@click.option(
    "--patch",
    "patches",
    type=type_path,
    multiple=True,
    metavar="FILE",
    help="A patch of your kernel (patch -p1); repeatable, in order.",
)
@click.option(
    "--config", type=type_path, metavar="FILE", help="Options of your kernel: CONFIG_X=y lines."
)
@quiet()
def build() -> None:
    """Build the image of an engine, and for uml its kernel, unless they exist; or with --name your
    own kernel for uml.
    """


@image.command()
@engine_option
def info() -> None:
    """Show the folders and contents of the images; exit status 3 when there is none."""


@image.command()
@click.argument("file", type=type_path)
@engine_option
@click.option("--browser", is_flag=True, help="The image with Chromium instead.")
@quiet()
def save() -> None:
    """Write an image and the kernel of uml (with its source) to FILE, a new file, for other
    machines.
    """


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
def load() -> None:
    """Install the image and the kernel of FILE for the engines, after checking their hashes."""


@image.command()
@click.argument("names", metavar="PACKAGE...", nargs=-1, required=True)
@click.option(
    "--output", "-o", type=type_path, required=True, metavar="FILE", help="The tar, a new file."
)
@quiet()
def packages() -> None:
    """Write a container image with packages of Debian 13 to a new file, for `server_image` and
    `client_image` of programs; NAME=VERSION asks for a version.
    """


@image.command()
@click.argument("folder", type=type_path)
@click.option(
    "--mirror",
    "mirrors",
    multiple=True,
    metavar="URL",
    help="A mirror of Debian, for packages that the usual one no longer has; repeatable.",
)
@quiet()
def source() -> None:
    """Write the sources of the machine of uml to FOLDER: its kernel's, and those of the Debian
    packages in its image.

    The command names sources that it cannot get. Repeat it to resume.
    """


@image.command()
@engine_option
def rm() -> None:
    """Remove the images, kernels, modules and snapshots that uml and vm share; for docker, its
    container images.
    """

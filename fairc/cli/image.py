"""`fairc image`: build, describe, save, load or remove an engine's image, or get its sources; or
make an image of Debian packages for your own programs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from fairc.compiler.binary import find_endpoints
from fairc.compiler.engine_choice import VIRTUAL_TIME
from fairc.runtime.engines import ENGINES
from fairc.runtime.formatting import size
from fairc.runtime.uml import confinement, custom_kernel, kernel, package_images, source_offer
from fairc.runtime.uml.source import Own, config_fault, recipe_hash, source_fault
from fairc.runtime.vm import image as images
from fairc.runtime.vm import portable, recipe, shipped, snapshot
from fairc.runtime.vm.portable import Part
from fairc.runtime.vm.recipe import Variant
from fairc.words.ccas.custom_kernels import NAME, STANDARD
from fairc.words.ccas.custom_kernels import built as custom_kernels

from . import console
from .failures import Status, UsageError

if TYPE_CHECKING:
    from fairc.runtime.containers.client import Client


@contextmanager
def _docker() -> Iterator[tuple[Client, ModuleType]]:
    """Connect to Docker, and return what handles its image: nothing else here needs `docker`."""
    from fairc.runtime.containers import client
    from fairc.runtime.containers import image as container_images

    with closing(client.connect()) as connected:
        yield connected, container_images


def image_build(
    engine: str,
    browser: bool,
    tree: Path | None,
    name: str | None,
    patches: tuple[Path, ...],
    config: Path | None,
) -> None:
    """Build the image of an engine, and for uml its kernel, unless they exist; or with --name a
    kernel of your own for uml.
    """
    _check_kernel(engine, tree, name, patches, config)
    if name is not None:
        root = images.build(recipe.UML, console.say)
        found = custom_kernel.build(Own(name, tree, patches, config), root, console.say)
        console.result(f"{found.folder}: kernel {name}, Linux {found.version}, of the engine uml")
        return
    usual = usual_image(engine)
    if usual is None:
        with _docker() as (docker, container_images):
            container_image = container_images.build(docker, console.say)
        console.result(f"{container_image.name}: {size(container_image.size)}")
        return
    for variant in (usual, *((recipe.BROWSER,) if browser else ())):
        built = images.build(variant, console.say)
        console.result(
            f"{built.folder}: image {variant.name}, kernel {built.kernel},"
            f" {size(built.size_bytes())}"
        )
    if usual.bare:
        # Last, as it alone keeps all cores busy; `make` compiles and downloads beside the others.
        built_kernel = kernel.build(console.say, tree)
        console.result(f"{built_kernel.folder}: kernel {built_kernel.version} of the engine uml")


def _check_kernel(
    engine: str,
    tree: Path | None,
    name: str | None,
    patches: tuple[Path, ...],
    config: Path | None,
) -> None:
    """Raise UsageError for options of a kernel that say nothing together, or name no such file."""
    given = tree is not None or name is not None or patches or config is not None
    if given and engine != VIRTUAL_TIME[0]:
        raise UsageError(
            f"the engine {engine} boots no kernel but its own",
            "leave --engine out: kernels of your own are for uml",
        )
    if name is None and (patches or config):
        raise UsageError(
            "the standard kernel has patches and a configuration of its own",
            "give yours a name: --name NAME",
        )
    if name is not None and (name == STANDARD or not NAME.fullmatch(name)):
        raise UsageError(
            f"{name!r} cannot name a kernel",
            "a name is a word in lower case of up to 31 letters, digits and _: --name l4s",
        )
    if name is None and tree is not None and not tree.is_file():
        raise UsageError(f"{tree} is not a file", "a kernel of your own has a name: --name NAME")
    for path in (*patches, *((config,) if config else ())):
        if not path.is_file():
            raise UsageError(f"{path} is not a file")
    if name is not None and tree is not None and (why := source_fault(tree)):
        raise UsageError(why, "name the folder or the tarball of a kernel's source")
    for path in patches:
        if not re.search(rb"^\+\+\+ ", path.read_bytes(), re.MULTILINE):
            raise UsageError(f"{path} is not a patch", "`diff -Nru a b` and `git diff` write one")
    if config is not None and (why := config_fault(config)):
        raise UsageError(why, "a line is `CONFIG_TCP_CONG_BBR=y`, or `# CONFIG_X is not set`")


def usual_image(engine: str) -> Variant | None:
    """Return what an engine's machine boots for cells without a browser; None: it has none.

    Raises UsageError for what is no engine with an image.
    """
    images_of = {kind.name: kind.image for kind in ENGINES if kind.image}
    if engine not in images_of:
        raise UsageError(f"no engine {engine} has an image", f"one of {', '.join(images_of)}")
    image = images_of[engine]
    return next((variant for variant in recipe.VARIANTS if variant.name == image), None)


def image_info(engine: str) -> int:
    """Show where the images are and what is in them; exit status 3 when there is none."""
    if usual_image(engine) is None:
        with _docker() as (docker, container_images):
            container_image = container_images.require(docker)
        name, digest = container_image.name, container_image.digest
        _in_columns([("name", name), ("sha256", digest), ("size", size(container_image.size))])
        return Status.WELL
    shipped.install(recipe_hash(), console.say)
    found = [image for variant in recipe.VARIANTS if (image := images.find(variant))]
    if not found:
        console.complain("error: no image of the engines in virtual time has been built")
        console.complain(f"help: {images.BUILD_COMMAND}")
        return Status.UNAVAILABLE
    rows: list[tuple[str, object]] = []
    for image in found:
        rows += [
            ("image", image.variant.name),
            ("folder", image.folder),
            ("kernel", image.kernel),
            ("recipe", image.recipe),
            ("sha256", image.digest),
            ("size", size(image.size_bytes())),
        ]
    if built := kernel.find():
        rows += [
            ("kernel", f"{built.version}, of the engine uml"),
            ("folder", built.folder),
            ("recipe", built.recipe),
            ("sha256", built.sha256),
        ]
    for own in custom_kernels():
        rows += [
            ("kernel", f"{own.name}, Linux {own.version}, of the engine uml"),
            ("sha256", own.sha256),
            ("ccas", ", ".join(sorted(own.parameters))),
        ]
    _in_columns(rows)
    return Status.WELL


def _in_columns(rows: Iterable[tuple[str, object]]) -> None:
    for label, value in rows:
        console.result(f"{label:<8}{value}")


def saved_parts(variant: Variant) -> list[Part]:
    """Return what `image save` writes: the image and, if it is built, the fast engine's kernel."""
    found = images.require(variant)
    parts = [portable.Part("images", found.folder, found.digest)]
    if built := kernel.find():
        parts.append(portable.Part("kernels", built.folder, built.digest))
    return parts


def image_save(file: Path, engine: str, browser: bool) -> None:
    """Write an image and the fast engine's kernel (with its source) to FILE, a new file, for other
    machines.
    """
    usual = usual_image(engine)
    if usual is None:
        raise UsageError("Docker saves its own images", "docker image save")
    _check_new(file)
    parts = saved_parts(recipe.BROWSER if browser else usual)
    console.say("packing the image")
    sha256 = portable.save(parts, file)
    _in_columns((part.kind[:-1], part.digest) for part in parts)
    _in_columns([("size", size(file.stat().st_size)), ("sha256", sha256)])


def image_load(file: Path, boot: bool, trust: bool) -> None:
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


def image_packages(names: tuple[str, ...], output: Path) -> None:
    """Write a container image with packages of Debian 13 to a new file."""
    for name in names:
        if not package_images.PACKAGE.fullmatch(name):
            raise UsageError(f"{name!r} is no name of a Debian package", "as nginx-light or curl")
    if len(names) > package_images.MOST_PACKAGES:
        raise UsageError(f"at most {package_images.MOST_PACKAGES} packages")
    _check_new(output)
    versions = package_images.build(names, output, console.say)
    for name, version in versions.items():
        console.result(f"{name:<16}{version}")
    console.result(f"{output}: {size(output.stat().st_size)}")


def _check_new(file: Path) -> None:
    """Raise UsageError unless a file can be made anew."""
    if os.path.lexists(file):
        raise UsageError(f"{file} exists", "move or remove it, or name another file")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{file.parent} is not a folder")


def image_source(folder: Path, mirrors: tuple[str, ...]) -> None:
    """Write the sources of the machine of uml to FOLDER: its kernel's, and those of the Debian
    packages in its image.
    """
    if folder.exists() and {path.name for path in folder.iterdir()} - set(source_offer.CONTENTS):
        raise UsageError(f"{folder} has other files", "name a folder for the sources alone")
    for mirror in mirrors:
        if not re.fullmatch(r"https?://[!-~]+", mirror):
            raise UsageError(f"{mirror!r} is not a mirror's address", f"as {recipe.MIRROR}")
    built, root = kernel.require(), images.require()
    folder.mkdir(parents=True, exist_ok=True)
    source_offer.write(folder, built, root, console.say, mirrors)
    console.result(
        f"{folder}: the sources of Linux {built.version}"
        f" and {len(source_offer.packages(root))} packages"
    )


def image_rm(engine: str) -> None:
    """Remove the images, kernels, modules and snapshots of uml and vm, which share them; of docker
    its container images.
    """
    if usual_image(engine) is None:
        with _docker() as (docker, container_images):
            for name in container_images.remove(docker):
                console.result(f"removed {name}")
        return
    for path in images.remove():
        console.result(f"removed {path}")

"""`fairc compile`: write the plan and the emitted programs; byte-identical each time."""

from __future__ import annotations

from pathlib import Path

import click

from fairc.compiler import emit
from fairc.compiler.targets import TARGETS, find

from . import console
from .failures import UsageError
from .options import Command, engine, quiet, settings, type_path
from .sources import compiled, show_choice, show_warnings


@click.command("compile", cls=Command)
@click.argument("file", type=type_path)
@click.option(
    "-o", "--output", metavar="DIR", required=True, type=type_path, help="Folder to write."
)
@click.option(
    "--target",
    "targets",
    metavar="TARGET",
    multiple=True,
    default=("mininet",),
    show_default=True,
    help="What to emit in addition to the plan; `fairc show targets` lists them. May be repeated.",
)
@click.option(
    "--single-file",
    is_flag=True,
    help="Make each Mininet program a single, self-contained file, for sharing.",
)
@engine()
@settings()
@quiet()
def compile(
    file: Path,
    output: Path,
    targets: tuple[str, ...],
    single_file: bool,
    engine: str | None,
    settings: dict[str, str],
) -> None:
    """Write the plan and the emitted programs; byte-identical each time."""
    if single_file and not any(target.begin_alone for target in find(targets)):
        alone = " or ".join(target.name for target in TARGETS if target.begin_alone)
        raise UsageError(f"--single-file is for programs of {alone}", f"add --target {alone}")
    compilations = compiled(file, settings, engine)
    folders = [
        output / c.experiment.name if len(compilations) > 1 else output for c in compilations
    ]
    for compilation, folder in zip(compilations, folders, strict=True):
        try:
            emit(compilation, folder, targets, single_file)
        except (FileExistsError, NotADirectoryError) as error:
            raise UsageError(str(error), "name another folder with -o") from None
    show_warnings(*compilations)
    for compilation, folder in zip(compilations, folders, strict=True):
        show_choice(compilation.plan)
        cells = compilation.plan.cells
        console.outcome(f"{folder}: {cells} {'cell' if cells == 1 else 'cells'}")

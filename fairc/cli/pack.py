"""`fairc pack`: write RUN as one zip file: spec, plan, lock, results, tables, figures, report,
programs.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from fairc.compiler.record import of_file
from fairc.runtime.host.clean import remove_temporary
from fairc.runtime.host.supervisor import temporary_prefix
from fairc.runtime.pack import zipped
from fairc.runtime.pack.contents import contents, raw_bytes, require
from fairc.runtime.pack.rebuilding import as_packed
from fairc.runtime.ranges.cells import finished, missing
from fairc.runtime.store.folder import Store
from fairc.runtime.vm import portable

from . import console
from .failures import UsageError
from .image import saved_parts, usual_image
from .options import Command, quiet, type_path
from .results import plan_of

KEPT = 100
"""Of how many packs of a run it is known that fairc made them."""


@click.command(cls=Command)
@click.argument("run", metavar="RUN", type=type_path)
@click.option(
    "-o", "--output", type=type_path, help="The file to write.  [default: EXPERIMENT.zip]"
)
@click.option("--with-image", is_flag=True, help="Include the guest's image and kernel.")
@click.option(
    "--with-raw", is_flag=True, help="Include the raw artefacts of every cell: captures, logs."
)
@quiet()
def pack(run: Path, output: Path | None, with_image: bool, with_raw: bool) -> None:
    """Write RUN as one zip file: spec, plan, lock, results, tables, figures, report, programs.

    Tables, figures and report are written anew from the cells. Packing twice gives the same bytes;
    only an earlier pack of RUN is replaced. `fairc verify`, `run` and `report` accept the file in
    place of RUN.
    """
    plan = plan_of(run)
    path = output or Path(f"{plan.experiment}.zip")
    if path.suffix != ".zip":
        raise UsageError(f"a pack is a zip file, but `{path}` has no `.zip`", f"`-o {path}.zip`")
    beside = path.absolute().parent
    if not beside.is_dir():
        raise UsageError(f"{beside} is not a folder")
    for folder in (None, beside):
        remove_temporary(folder)  # left over from killed runs
    prefix = temporary_prefix("pack")
    with (
        Store(run) as store,
        tempfile.TemporaryDirectory(prefix=prefix) as scratch,
        tempfile.TemporaryDirectory(prefix=prefix, dir=beside) as unfinished,
    ):
        record = store.record()
        if os.path.lexists(path) and not (path.is_file() and of_file(path).sha256 in record.packs):
            raise UsageError(
                f"{path} exists, and is not a pack that fairc made of {run}",
                "move or remove it, or name another file with -o",
            )
        raw = raw_bytes(store)
        if with_raw:
            console.say(f"raw artefacts: {raw / 1e6:.1f} MB")
        else:
            console.say(f"without raw artefacts ({raw / 1e6:.1f} MB: --with-raw)")
        require(store, with_raw)
        if absent := missing(store, {cell.id for cell, _ in finished(store)}):
            console.say(
                f"warning: {len(absent)} of the plan's {plan.cells} cells have no result, and"
                f" `fairc verify` will say so:"
                f" fairc run {run} -o {run}"
            )
        built = as_packed(run, Path(scratch, "run"), with_raw)
        image = saved_image(plan.engine, Path(scratch)) if with_image else None
        pack = Path(unfinished, "pack.zip")
        zipped.write(pack, contents(built, Path(scratch), with_raw, image))
        made = of_file(pack).sha256
        record.packs = (*(sha256 for sha256 in record.packs if sha256 != made), made)[-KEPT:]
        record.save()
        pack.replace(path)
    console.outcome(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")


def saved_image(engine: str, folder: Path) -> Path:
    """Save the image that a virtual-time engine runs. Raises UsageError."""
    variant = usual_image(engine)
    if variant is None:
        raise UsageError(f"the engine {engine} has no image: --with-image does not apply")
    path = folder / "image.tar.zst"
    portable.save(saved_parts(variant), path)
    return path

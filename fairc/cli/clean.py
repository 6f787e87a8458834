"""`fairc clean`: remove what crashed runs left, and only that."""

from __future__ import annotations

from pathlib import Path

import click

from fairc.runtime.host import clean as cleaning
from fairc.runtime.store.folder import Store

from . import console
from .options import quiet, type_path
from .plan import size


@click.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1, type=type_path)
@click.option(
    "--raw", is_flag=True, help="Also remove the raw artefacts of the RUNs (or of results/*)."
)
@quiet()
def clean(runs: tuple[Path, ...], raw: bool) -> None:
    """Remove what crashed runs left: processes, namespaces, containers, files. Nothing else.

    fairc marks what it starts; what belongs to a running fairc is kept.
    """
    removed = [
        *cleaning.end_orphans(),
        *cleaning.remove_containers(),
        *cleaning.remove_temporary(),
    ]
    folders = list(runs) or cleaning.run_directories(Path("results"))
    for folder in folders:
        removed += cleaning.remove_partial(folder)
    for what in removed:
        console.outcome(f"removed {what}")
    if raw:
        for folder in folders:
            with Store(folder) as store:
                freed = store.remove_raw()
            console.outcome(f"removed the raw artefacts of {folder}: {size(freed)}")
    if not removed and not raw:
        console.outcome("nothing to remove")

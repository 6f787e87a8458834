"""`fairc clean`: remove leftovers of crashed runs: processes, namespaces, containers, files."""

from __future__ import annotations

from pathlib import Path

from fairc.runtime.formatting import size
from fairc.runtime.host import clean as cleaning
from fairc.runtime.store.folder import CELLS, PLAN, Store, StoreError, runs_in
from fairc.runtime.store.occupant import PARTIAL

from . import console


def clean(runs: tuple[Path, ...], raw: bool) -> None:
    """Remove leftovers of crashed runs: processes, namespaces, containers, files."""
    removed = [
        *cleaning.end_orphans(),
        *remove_containers(),
        *cleaning.remove_temporary(),
    ]
    named = [folder for run in runs for folder in runs_in(run).values()]
    folders = named or run_directories(Path("results"))
    for folder in folders:
        removed += remove_partial(folder)
    for what in removed:
        console.outcome(f"removed {what}")
    if raw:
        for folder in folders:
            with Store(folder) as store:
                freed = store.remove_raw()
            console.outcome(f"removed the raw artefacts of {folder}: {size(freed)}")
    if not removed and not raw:
        console.outcome("nothing to remove")


def remove_containers() -> list[str]:
    """Remove containers and networks of fairc processes that no longer run; return a description of
    each.

    None without a Docker engine for this user, or without the library that talks to it.
    """
    try:
        from fairc.runtime.containers.leftovers import sweep_if_there
    except ModuleNotFoundError:
        return []
    return list(sweep_if_there())


def run_directories(parent: Path) -> list[Path]:
    """Return the run directories in a folder, and those of the experiments of one file, sorted;
    none if there is no such folder.

    Links are left out: in a stranger's folder they may lead to the user's own runs.
    """
    if not parent.is_dir():
        return []
    folders = (path for path in parent.iterdir() if path.is_dir() and not path.is_symlink())
    there = (run for path in folders for run in runs_in(path).values() if not run.is_symlink())
    return sorted(run for run in there if (run / PLAN).is_file() and (run / CELLS).is_file())


def remove_partial(folder: Path) -> list[str]:
    """Remove the half-written cells of a run directory; return a description of each.

    Raises StoreError if a run is writing there, or if it is not a run directory.
    """
    if not (folder / PLAN).is_file():
        raise StoreError(f"{folder} is not a run directory: it has no {PLAN}")
    partial = folder / PARTIAL
    left = sorted(p.name for p in partial.iterdir()) if partial.is_dir() else []
    if not left:
        return []
    with Store(folder):
        return [f"unfinished {name} of {folder}" for name in left]

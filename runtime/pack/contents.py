"""What goes into a pack: a run directory, the emitted programs, and what explains both."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from fairc.compiler.emission import SPEC
from fairc.compiler.record import FILES, Recorded
from fairc.compiler.targets import mininet
from fairc.runtime.claims import decide
from fairc.runtime.repetitions.reading import measured
from fairc.runtime.store.cell_folder import RAW, RESULT, SERIES, ours
from fairc.runtime.store.folder import REPORT, Store
from fairc.runtime.store.occupant import NAMES

from . import claims, crate, readme
from .zipped import PackError

PROGRAMS = "programs"
IMAGE = "image.tar.zst"
OF_CELL = (RESULT, SERIES, FILES)


def contents(store: Store, scratch: Path, raw: bool, image: Path | None) -> dict[str, Path | bytes]:
    """Return the files of a pack by name.

    store: a run directory with a report. scratch: an empty folder for the files generated here. raw: include the
    raw artefacts of every cell. image: a file of `fairc image save`, or None. Raises PackError, StoreError,
    EndpointsMissing.
    """
    run = store.path
    files = store.record().files
    files = {name: file for name, file in files.items() if name.split("/")[0] in NAMES}
    if not any(name.startswith(f"{SPEC}/") for name in files):
        raise PackError(f"{run} has no record of its spec: run the file again")
    if unfinished := [name for name, file in files.items() if file is None]:
        raise PackError(f"{run / unfinished[0]} is unfinished: `fairc report {run}`")
    if not (run / REPORT).is_file() or REPORT not in files:
        raise PackError(f"{run} has no report: `fairc report {run}`")
    names = (*OF_CELL, RAW) if raw else OF_CELL
    folders = [folder for _, folder in store.finished()]
    if not folders:
        raise PackError(f"{run} holds no result")
    found: dict[str, Path | bytes] = _inside(
        run,
        chain(
            (run / name for name in files),
            (folder / name for folder in folders for name in names),
            (p for folder in folders for p in folder.glob("*.har") if p.name in ours(folder)),
        ),
    )
    found[FILES] = Recorded(files=files).text().encode()
    found |= programs(store, scratch)
    if image is not None:
        found[IMAGE] = image
    if store.plan.claims:
        found[claims.NAME] = claims.as_json(
            decide(measured(run / "tables", store.plan), store.lock)
        )
    found["LICENSE"] = _licence()
    found["CITATION.cff"] = readme.citation(store.plan)
    found["README.md"] = readme.readme(store, raw=raw, image=image is not None)
    found[crate.NAME] = crate.metadata(store, sorted(found))
    return found


def programs(store: Store, scratch: Path) -> dict[str, Path | bytes]:
    """Return the Mininet programs of the plan's cells, and the files they need."""
    folder = scratch / PROGRAMS
    folder.mkdir()
    write = mininet.begin(folder)
    for cell in store.cells():
        write(cell)
    return _inside(scratch, folder.rglob("*"))


def raw_bytes(store: Store) -> int:
    """Return the size of the raw artefacts of all cells, bytes."""
    places = (folder / RAW for _, folder in store.finished())
    return sum(place.stat().st_size for place in places if place.is_file())


def _inside(root: Path, paths: Iterable[Path]) -> dict[str, Path | bytes]:
    """Return the paths that are regular files, by name. Raises PackError for links and what is outside the root.

    A run directory may be a stranger's: a link in it must not put a file of this machine into a pack.
    """
    real = root.resolve()
    found: dict[str, Path | bytes] = {}
    for path in paths:
        if path.is_symlink() or not path.resolve().is_relative_to(real):
            raise PackError(f"{path} is a link, or below one, and is not packed: remove it")
        if path.is_file():
            found[path.relative_to(root).as_posix()] = path
    return found


def _licence() -> bytes:
    return (
        b"The experiment in `spec/` is its author's. The programs in `programs/` are fairc's, under the"
        b" Apache License 2.0.\n"
    )

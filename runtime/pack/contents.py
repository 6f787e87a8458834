"""What goes into a pack: a run directory, the emitted programs, and what explains both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fairc.compiler.emission import SPEC
from fairc.compiler.targets import mininet
from fairc.runtime.store.folder import CELLS, EMITTED, LOCK, PLAN, RAW, RESULT, SERIES, Store

from . import crate, readme
from .zipped import PackError

PROGRAMS = "programs"
IMAGE = "image.tar.zst"
OF_RUN = (PLAN, CELLS, EMITTED, LOCK, "files.json", "report.html", "report.md")
BELOW = ("tables/*.parquet", "figures/*.svg", "figures/*.pdf", f"{SPEC}/**/*")
OF_CELL = (RESULT, SERIES, "files.json")


def contents(store: Store, scratch: Path, raw: bool, image: Path | None) -> dict[str, Path | bytes]:
    """Return the files of a pack by name.

    store: a run directory with a report. scratch: an empty folder for what is made for it. raw: with the raw
    artefacts of every cell. image: a file of `fairc image save`, or None. Raises PackError, StoreError,
    EndpointsMissing.
    """
    run = store.path
    if not (run / SPEC).is_dir():
        raise PackError(
            f"{run} does not hold its spec: an earlier version made it; run the file again"
        )
    if not (run / "report.html").is_file():
        raise PackError(f"{run} has no report: `fairc report {run}`")
    found: dict[str, Path | bytes] = {}
    for name in OF_RUN:
        if (run / name).is_file():
            found[name] = run / name
    for pattern in BELOW:
        found |= {path.relative_to(run).as_posix(): path for path in _regular(run.glob(pattern))}
    names = (*OF_CELL, RAW) if raw else OF_CELL
    cells = 0
    for _, folder in store.finished():
        cells += 1
        for name in names:
            if (folder / name).is_file():
                found[f"cells/{folder.name}/{name}"] = folder / name
        found |= _pages(folder)
    if not cells:
        raise PackError(f"{run} holds no result")
    found |= programs(store, scratch)
    if image is not None:
        found[IMAGE] = image
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
    return {path.relative_to(scratch).as_posix(): path for path in _regular(folder.rglob("*"))}


def raw_bytes(store: Store) -> int:
    """Return how large the raw artefacts of all cells are."""
    places = (folder / RAW for _, folder in store.finished())
    return sum(place.stat().st_size for place in places if place.is_file())


def _pages(folder: Path) -> dict[str, Path | bytes]:
    """Return the HTTP archives of a cell."""
    return {f"cells/{folder.name}/{path.name}": path for path in _regular(folder.glob("*.har"))}


def _regular(paths: Iterator[Path]) -> Iterator[Path]:
    return (path for path in paths if path.is_file() and not path.is_symlink())


def _licence() -> bytes:
    return (
        b"The experiment in `spec/` is its author's. The programs in `programs/` are fairc's, under the"
        b" Apache License 2.0.\n"
    )

"""The contents of a pack: a run as `rebuilding` builds it, the emitted programs, and what explains
both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from fairc.compiler.record import FILES, SPEC
from fairc.compiler.targets import Names, mininet
from fairc.runtime.ranges.cells import finished
from fairc.runtime.repetitions.reading import measured
from fairc.runtime.run import phase
from fairc.runtime.run.outcome import decide_claims
from fairc.runtime.store import damage
from fairc.runtime.store.cell_folder import RAW
from fairc.runtime.store.folder import PLAN, REPORT, Store, runs_in

from . import claims, crate, readme
from .rebuilding import of_cell
from .zipped import PackError

PROGRAMS = "programs"
IMAGE = "image.tar.zst"


def contents(folder: Path, scratch: Path, raw: bool, image: Path | None) -> dict[str, Path | bytes]:
    """Return the files of a pack by name.

    folder: a run, or the runs of several experiments, as `rebuilding` has built them. scratch: an
    empty folder for the files generated here.
    raw: include the raw artefacts of every cell. image: a file of `fairc image save`, or None.
    Raises PackError, StoreError, EndpointsMissing.
    """
    stores = {name: Store(run) for name, run in runs_in(folder).items()}
    plans = {name: store.plan for name, store in stores.items()}
    found: dict[str, Path | bytes] = {}
    for name, store in stores.items():
        for each in _runs(store):
            found |= _inside(folder, _of_run(each, raw))
        if plans[name].claims:
            of = measured(store.path / "tables", plans[name])
            found[_below(name, claims.NAME)] = claims.as_json(decide_claims(of, store))
        text = readme.readme(store, raw=raw, image=image is not None, among=bool(name))
        found[_below(name, "README.md")] = text
    if "" not in stores:
        found |= _inside(folder, (folder / FILES, folder / REPORT))
        found["README.md"] = readme.of_all(plans, image=image is not None)
    found |= programs(stores.values(), scratch)
    if image is not None:
        found[IMAGE] = image
    found["LICENSE"] = _licence()
    found["CITATION.cff"] = readme.citation([*plans.values()])
    found[crate.NAME] = crate.metadata(stores, sorted(found))
    return found


def _below(experiment: str, name: str) -> str:
    return f"{experiment}/{name}" if experiment else name


def require(store: Store, raw: bool) -> None:
    """Raise PackError for a run directory that cannot be packed, or that `verify` would refuse;
    StoreError.
    """
    run = store.path
    spec = [name for name in store.record().files if name.startswith(f"{SPEC}/")]
    if not spec:
        raise PackError(f"{run} has no record of its spec: run the file again")
    if absent := next((name for name in spec if not (run / name).is_file()), None):
        raise PackError(
            f"{run} is damaged: {absent}: missing; `fairc verify {run}` says what repairs it"
        )
    for each in _runs(store):
        _inside(run, _of_run(each, raw))
    there = list(finished(store))
    if not there:
        raise PackError(f"{run} holds no result")
    for cell, folder in there:
        for name, why in damage.of_cell(cell, folder, thorough=raw).items():
            raise PackError(
                f"{run} is damaged: cells/{folder.name}/{name}: {why}; `fairc verify {run}`"
                f" says what repairs it"
            )


def _runs(store: Store) -> Iterator[Store]:
    """Yield a run, and its phase check, if there is one."""
    yield store
    if (store.path / phase.FOLDER / PLAN).is_file():
        yield Store(store.path / phase.FOLDER)


def _of_run(store: Store, raw: bool) -> Iterator[Path]:
    """Yield the files of a run that a pack has."""
    yield from (store.path / name for name in (FILES, *store.record().files))
    for _, folder in finished(store):
        yield from (folder / name for name in of_cell(folder, raw))


def programs(stores: Iterable[Store], scratch: Path) -> dict[str, Path | bytes]:
    """Return the Mininet programs of the plans' cells, and the files they need."""
    folder = scratch / PROGRAMS
    folder.mkdir()
    several = list(stores)
    with mininet.begin(folder) as write:
        for store in several:
            names = Names()
            for cell in store.cells():
                among = f"{cell.experiment}_" if len(several) > 1 else ""
                write(cell, f"{among}{names(cell)}")
    return _inside(scratch, folder.rglob("*"))


def raw_bytes(store: Store) -> int:
    """Return the size of the raw artefacts of all cells, bytes."""
    places = (folder / RAW for _, folder in finished(store))
    return sum(place.stat().st_size for place in places if place.is_file())


def _inside(root: Path, paths: Iterable[Path]) -> dict[str, Path | bytes]:
    """Return the paths that are regular files, by name. Raises PackError for links and what is
    outside the root.

    A run directory may be a stranger's: a link in it must not put a file of this machine into a
    pack.
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
        b"The experiment in `spec/` is its author's. The programs in `programs/` are fairc's,"
        b" under the"
        b" Apache License 2.0.\n"
    )

"""Recompute damaged derived files of stored cells from the raw artefacts; nothing is run."""

from __future__ import annotations

import os

from fairc.compiler.record import recorded
from fairc.runtime.engines.elsewhere import Elsewhere
from fairc.runtime.store import archive, damage, hashes
from fairc.runtime.store.cell_folder import RAW
from fairc.runtime.store.folder import Store

from .progress import Silent
from .sweep import Sweep


def rederive(store: Store) -> int:
    """Reanalyse cells with a damaged derived file and intact raw artefacts.

    store: locked, with a lock. Returns their number. Raises StoreError.
    """
    found: dict[str, str] = {}
    for cell, places in store.places():
        for identity, folder in places.items():
            damaged = damage.of_cell(cell, folder)
            if (
                damaged
                and RAW not in damaged
                and (folder / RAW).is_file()
                and _raw_whole(store, folder.name)
            ):
                found[cell.id] = identity
    if found:
        engine = store.lock["engine"]
        past = Elsewhere(engine["name"], engine.get("identity", ""), found, store.emitted)
        jobs = len(os.sched_getaffinity(0))
        Sweep(store, past, Silent(), jobs, lambda cell: cell.id in found).run()
    return len(found)


def _raw_whole(store: Store, key: str) -> bool:
    """Whether a cell's raw artefacts are undamaged: by the hash of the archive, or by that of its content."""
    folder, ran = store.folder(key), damage.ran(store.folder(key))
    known = recorded(folder)
    if known is not None:
        return ran is not None and RAW not in hashes.differing(folder, known)
    scratch = store.scratch(f"{key}.stored")
    try:
        store.unpack(key, scratch)
    except (OSError, ValueError):
        return False
    return ran is not None and archive.digest(scratch) == ran.result_sha256

"""Derive results of stored cells again from their raw artefacts, to mend or to check them; nothing
is run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from fairc.compiler.engines import profile
from fairc.compiler.estimate import wall_s
from fairc.compiler.plan import Cell
from fairc.compiler.record import recorded
from fairc.runtime.engines.elsewhere import RemoteEngine
from fairc.runtime.host import archive
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.store import damage, hashes
from fairc.runtime.store.cell_folder import RAW, RESULT
from fairc.runtime.store.folder import Store

from . import lock
from .analysis_pool import Analysts
from .analyst import Job
from .progress import Progress
from .sweep import Sweep
from .verification import differences


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
        past = RemoteEngine(engine["name"], engine.get("identity", ""), found, store.emitted)
        jobs = len(os.sched_getaffinity(0))
        Sweep(store, past, Progress(), jobs, lambda cell: cell.id in found).run()
    return len(found)


def _raw_whole(store: Store, key: str) -> bool:
    """Whether a cell's raw artefacts are undamaged: by the hash of the archive, or by that of its
    content.
    """
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


def derived_again(
    store: Store, cells: Sequence[tuple[Cell, Path]], scratch: Path, jobs: int
) -> dict[str, str]:
    """Derive results from raw artefacts and compare them with what is stored: key -> how they
    differ, if they do.

    cells: with their folders, whose results and raw artefacts are there. scratch: a folder that may
    be filled; a cell's part is removed when it has been compared. Raises StoreError, MachineFault.
    """
    requests = store.plan.requests
    analysis = lock.analysis_identity(requests)
    number = max(1, min(jobs, len(cells)))
    costs = profile(store.engine or "").costs
    longest_s = max((wall_s(costs, cell) for cell, _ in cells), default=0.0)
    with closing(Analysts(number, len(cells), longest_s, requests)) as analysts:

        def check(task: tuple[Cell, Path]) -> tuple[str, str]:
            cell, folder = task
            return folder.name, _derived(cell, folder, scratch / folder.name, analysis, analysts)

        with ThreadPoolExecutor(number) as threads:
            try:
                return {key: why for key, why in threads.map(check, cells) if why}
            except BaseException:
                analysts.stop()
                raise
            finally:
                threads.shutdown(cancel_futures=True)


def _derived(cell: Cell, folder: Path, scratch: Path, analysis: str, analysts: Analysts) -> str:
    """Return how the stored result of a cell differs from what its raw artefacts give; empty if it
    does not.
    """
    stored = CellResult.model_validate_json((folder / RESULT).read_bytes())
    if not stored.result_sha256:
        return ""  # its engine failed, and there is nothing to derive
    work, made = scratch / "raw", scratch / folder.name
    for path in (work, made):
        path.mkdir(parents=True)
    known = CellResult(
        cell=stored.cell,
        key=stored.key,
        status="failed",
        virtual_s=stored.virtual_s,
        wall_s=stored.wall_s,
        engine=stored.engine,
        image=stored.image,
        emitted=stored.emitted,
        result_sha256=stored.result_sha256,
        analysis=analysis,
    )
    job = Job(cell=cell, result=known, artefacts=work, stored=folder / RAW, folder=made)
    result = analysts.derive(job)
    if result is None:
        return f"{RAW} is not what {RESULT} names"
    (made / RESULT).write_text(result.model_dump_json(indent=1) + "\n", encoding="utf-8")
    other = ", ".join(differences(folder, made))
    shutil.rmtree(scratch)
    return other and f"{other}: not what {RAW} gives"

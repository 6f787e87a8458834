"""`fairc report`: build the report of RUN from its stored results; run nothing."""

from __future__ import annotations

from pathlib import Path

from fairc.runtime.report import build
from fairc.runtime.store.folder import Store, runs_in

from . import console
from .conclusion import slot_for_report
from .results import plan_of, refresh
from .unpacking import run_of


def report(run: Path, forms: tuple[str, ...], warmup: bool) -> None:
    """Build the report of RUN from its stored results; run nothing."""
    run = run_of(run)
    runs = runs_in(run)
    for folder in runs.values():
        plan_of(folder)  # otherwise a mistyped name would become a directory
        with Store(folder) as store, slot_for_report():
            refresh(store)
            warm = {"warmup": True} if warmup else {}
            for path in build.build(folder, forms, **warm):
                console.outcome(str(path))
    if "" not in runs and "html" in forms:
        with slot_for_report():
            console.outcome(str(build.build_all(run, [*runs])))

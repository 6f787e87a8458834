"""`fairc report`: build the report of RUN from what is stored; nothing is run."""

from __future__ import annotations

from pathlib import Path

from fairc.runtime.store.folder import Store, runs_in

from . import console
from .conclusion import kept_report, page_of_all
from .results import plan_of, refresh
from .unpacking import run_of


def report(run: Path, forms: tuple[str, ...], warmup: bool) -> None:
    """Build the report of RUN from what is stored; nothing is run."""
    run = run_of(run)
    runs = runs_in(run)
    for folder in runs.values():
        plan_of(folder)  # otherwise a mistyped name would become a directory
        with Store(folder) as store:
            # As a run with the same results: a report with all formats of a run is up to date.
            kept = kept_report(folder)[:1] if forms == ("html",) and not warmup else []
            for path in kept or _built(store, forms, warmup=warmup):
                console.outcome(str(path))
    if "" not in runs and "html" in forms:
        console.outcome(str(page_of_all(run, [*runs])))


def _built(store: Store, forms: tuple[str, ...], *, warmup: bool) -> list[Path]:
    """Renew the tables and build the report; return its files."""
    from fairc.runtime.report import build  # draws: a report that is up to date does not need it

    refresh(store)
    warm = {"warmup": True} if warmup else {}
    return build.build(store.path, forms, **warm)

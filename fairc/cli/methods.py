"""`fairc methods`: print the paragraph on RUN for a paper's methods section, and BibTeX."""

from __future__ import annotations

from pathlib import Path

from fairc.runtime.report.methods import methods as written
from fairc.runtime.report.run import Run
from fairc.runtime.store.folder import runs_in

from . import console
from .results import fresh_tables
from .unpacking import run_of


def methods(run: Path) -> None:
    """Print the paragraph on RUN for a paper's methods section, and BibTeX."""
    run = run_of(run)
    for folder in runs_in(run).values():
        fresh_tables(folder)
        console.result(written(Run(folder)))

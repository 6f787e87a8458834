"""What tests of `fairc cell` and `--collect` read of runs, and how they start processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb

CELLS = 6


BUT_TIME = "* EXCLUDE wall_s"


def results() -> set[str]:
    return {path.parent.name for path in Path("plan/results").glob("*/result.json")}


def table(run: str, name: str, columns: str = "*") -> list[Any]:
    """Return rows of a table of a run."""
    with duckdb.connect() as connection:
        query = f"SELECT {columns} FROM '{run}/tables/{name}.parquet'"
        return connection.execute(query).fetchall()


def started(*arguments: str, fake: str = "") -> subprocess.Popen[str]:
    """Start `fairc ARGUMENTS` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "fairc", *arguments],
        env={**os.environ, "FAIRC_FAKE": fake},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lock_but_time(run: str) -> str:
    """Return a run's lock without its time, and the times at which metrics were named."""
    text = Path(run, "lock.json").read_text()
    changed, count = re.subn(r'"at": "[^"]+"', "", text)
    assert count == 3
    return changed

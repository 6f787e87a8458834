"""A change of any code that turns raw artefacts into results makes stored results stale."""

from __future__ import annotations

import sys

from waiting import completed

from fairc.runtime.run.lock import ANALYSIS

IMPORTED = """
import sys
import fairc.runtime.analysis
print(*(name for name in sys.modules if name.startswith("fairc.runtime.")))
"""


def test_all_code_that_analyses_is_in_the_hash() -> None:
    done = completed([sys.executable, "-c", IMPORTED], check=True)
    used = {name.removeprefix("fairc.runtime.").replace(".", "/") for name in done.stdout.split()}
    packages = {name for name in used if any(other.startswith(f"{name}/") for other in used)}
    hashed = [name.removesuffix(".py") for name in ANALYSIS]
    assert all(
        any(name == place or name.startswith(f"{place}/") for place in hashed)
        for name in used - packages
    )

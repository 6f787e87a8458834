"""The programs of a compiled plan, for an engine that runs them."""

from __future__ import annotations

import shlex
from pathlib import Path

from fairc.compiler.targets import mininet
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.store.folder import read_cells

SHOWN = 3


def unchanged(plan: Path) -> dict[str, tuple[str, bytes]]:
    """Return name and content of the programs in a plan's folder, by the ids of their cells.

    Results are stored as those of the plan, so its programs must be what the plan says. Raises
    EngineUnavailable where one is not.
    """
    found, changed = mininet.programs(plan, read_cells(plan))
    if changed:
        names = [path.relative_to(plan).as_posix() for path in changed]
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        differ = "differs from what" if len(names) == 1 else "differ from what"
        lack = (
            f"{', '.join(names[:SHOWN])}{more} in {plan} {differ} this version of fairc writes"
            " for the plan: results would not be those of the plan"
        )
        raise EngineUnavailable(
            (lack,),
            "run a program that you have changed by hand:"
            f" sudo python3 {shlex.quote(str(changed[0]))}; or compile the file again",
        )
    return found

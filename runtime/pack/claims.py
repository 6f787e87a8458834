"""Claims in a pack: their verdicts as data, and whether they are reproduced.

The verdicts that a pack states are not trusted: they are decided again from its cells' results,
with the claims of the spec as it compiles here; and, as far as cells were run again, from the
results obtained here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairc.compiler.plan import Plan
from fairc.runtime.claims import Decision
from fairc.runtime.claims.forms import as_data
from fairc.runtime.claims.wording import summed_up
from fairc.runtime.ranges.cells import finished
from fairc.runtime.repetitions.reading import measured
from fairc.runtime.run.outcome import decide_claims
from fairc.runtime.store import tables
from fairc.runtime.store.folder import Store

from .checks import Checks, Verdict

NAME = "claims.json"


def as_json(decision: Decision) -> bytes:
    """Return the verdicts of a run for its pack."""
    document = {
        "pairs": decision.pairs,
        "level": decision.level,
        "claims": [as_data(decided) for decided in decision.claims],
    }
    return f"{json.dumps(document, indent=1, ensure_ascii=False)}\n".encode()


def claims_again(folder: Path, packed: Store, again: Path, scratch: Path, checks: Checks) -> None:
    """Decide the claims of an unpacked pack again.

    packed: as rebuilt, with its tables. again: the run directory of cells that were run again; it
    may not exist.
    scratch: an empty folder.
    """
    plan = packed.plan
    if not plan.claims:
        return
    before = decide_claims(measured(packed.path / "tables", plan), packed)
    found = [(d.claim.text, d.verdict) for d in before.claims]
    message = f"{summed_up(before)}, decided from the pack's results"
    if _recorded(folder) != found:
        checks.add("claims", "differs", f"`claims.json` says otherwise than the results: {message}")
        return
    if not again.is_dir():
        checks.add("claims", "holds", f"{message}; no cell was run again")
        return
    here = _decided(plan, Store(again), scratch)
    pairs = [
        (one, other)
        for claim, anew in zip(before.claims, here.claims, strict=True)
        for one, other in zip(claim.units, anew.units, strict=True)
        if one.estimate.n and other.estimate.n >= one.estimate.n
    ]
    same = sum(one.verdict == other.verdict for one, other in pairs)
    turned = sum({one.verdict, other.verdict} == {"holds", "fails"} for one, other in pairs)
    if not pairs:
        remark = "no claim has all of its repetitions among the cells that were run again (--all)"
        checks.add("claims", "holds", f"{message}; {remark}")
        return
    remark = f"{same} of {len(pairs)} pairs of claim and configuration come out the same again"
    verdict: Verdict = "differs" if turned else "holds" if same == len(pairs) else "cannot tell"
    checks.add("claims", verdict, f"{message}; {remark}")


def _decided(plan: Plan, store: Store, folder: Path) -> Decision:
    """Decide from the results of a store's cells; its own tables are ignored."""
    folder.mkdir(parents=True)
    tables.write_of(finished(store), folder, plan)
    return decide_claims(measured(folder, plan), store)


def _recorded(folder: Path) -> list[tuple[Any, Any]]:
    """Return the claims and verdicts recorded in a pack; empty if none can be read."""
    try:
        document = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return [(row["claim"], row["verdict"]) for row in document["claims"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []

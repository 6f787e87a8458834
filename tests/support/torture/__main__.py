"""The command line of `make torture`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import campaign, engines, page
from .fault import Fault
from .faults import FAULTS
from .record import Record

RECORD = campaign.ROOT / "tests" / "torture" / "record.jsonl"
PAGE = campaign.ROOT / "docs/trust/reliability.md"


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser("make torture", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0, help="the time for it (30)")
    parser.add_argument("--seed", type=int, default=15, help="of all random choices (15)")
    parser.add_argument("--only", default="", help="kinds whose name begins so, or so: `a,b`")
    parser.add_argument("--number", type=int, help="one try of `--only`, which is not recorded")
    parser.add_argument("--tries", type=int, help="so many of each kind, in place of a time")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--record", type=Path, default=RECORD, help="what is added to")
    parser.add_argument("--page", type=Path, default=PAGE, help="what is written")
    parser.add_argument("--no-again", action="store_true", help="do not try old problems again")
    return parser.parse_args()


def main() -> int:
    """Run a campaign; exit status 1 when it found a problem, 130 after Ctrl-C."""
    given = options()
    chosen = [x for x in FAULTS.values() if x.name.startswith(tuple(given.only.split(",")))]
    if not chosen:
        print(f"no fault is called {given.only}; known: {', '.join(FAULTS)}")
        return 2
    with engines.docker(chosen):
        return one(given, chosen[0]) if given.number is not None else several(given, chosen)


def one(given: argparse.Namespace, fault: Fault) -> int:
    """Try once; exit status 1 for a problem."""
    with campaign.workers(1) as pool:  # what descends from this process is not only of the try
        _, outcome = pool.apply(campaign.job, ((fault.name, given.seed, given.number),))
    print(f"{fault.name} {given.number} of seed {given.seed}: {outcome.ending}")
    print(outcome.problem or "no problem")
    return 1 if outcome.problem else 0


def several(given: argparse.Namespace, chosen: Sequence[Fault]) -> int:
    """Try as long as there is time, and record it."""
    campaign.remove_leftovers()
    record = Record(given.record)
    record.compact()
    run = campaign.Campaign(chosen, record, given.seed, given.jobs)
    for name, why in run.left_out.items():
        print(f"{name:<20} left out: {why}")
    started, interrupted = time.monotonic(), False
    with campaign.workers(given.jobs) as pool:
        try:
            if not given.no_again:
                run.again(pool, 60 * given.minutes / 10)
            if given.tries is not None:
                for fault in run.faults:
                    run.slice(fault, pool, 0.0, given.tries)
            else:
                run.run(60 * given.minutes - (time.monotonic() - started), pool)
        except KeyboardInterrupt:
            interrupted = True
            print(
                "\rinterrupted: what has been tried is recorded, the next campaign goes on",
                flush=True,
            )
    given.page.write_text(page.render(record, FAULTS.values()), encoding="utf-8")
    print(f"{run.tries:,} tries, {run.problems} with a problem; {given.page}")
    return 130 if interrupted else 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main())

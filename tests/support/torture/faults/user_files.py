"""A user's files at random names in and around the folders that fairc writes: no command changes
one, killed or not.
"""

from __future__ import annotations

import random
import shutil
import signal
import time
from pathlib import Path

from torture.fault import Try, fault, require
from torture.sandbox import Sandbox, no_report, preload

from .documents import finished

SPEC = "tiny.fexp"
RUN, PLAN, PACK = "run", "plan", "p.zip"
# Names that a run, a plan or what writes them uses, or might.
NAMES = (
    *("plan.json", "cells.jsonl", "lock.json", "emitted.json", "files.json", "report.html"),
    *("report.md", ".lock", ".partial", ".partial/mine", ".partial/plan.part.txt"),
    *(".files.json.part",),
    *("cells", "cells/mine", "cells/mine/raw.tar.zst", "cells/mine/result.json", "cells/mine.py"),
    *("tables", "tables/mine.parquet", "tables/cells.parquet", "tables/.partial/rows", "spec"),
    *("spec/mine.fexp", f"spec/{SPEC}", "spec/deep/notes.txt", "figures", "figures/mine.svg"),
    *("figures/rates.svg", "figures/all.pdf", "figures/.rates.svg.part", "phase-check"),
    *("phase-check/plan.json", "phase-check/mine", "results/mine/result.json", "results/.writing"),
    *("programs/mine.py", "README.md", "claims.json", "notes.txt", ".report.html.part", "logs/1"),
    *(
        "fairc-pack-1-2-3-x.txt",
        "cells/fairc-endpoints.old",
        "kubernetes/mine.yaml",
        "\u00fc n.txt",
    ),
)
IN_CELL = ("mine.txt", "mine.har", "console.txt", "deep/raw.tar.zst", ".result.json.part")
BESIDE = (
    *("run.old/x", ".run.x/new", "p.zip", ".p.zip.part", "p.zip.part", "results/tiny/notes.txt"),
    *("results/tiny/report.html", ".plan.abc/old", "tiny.zip", "run-check/x", "fairc-pack-x"),
)
COMMANDS = (
    ("run", SPEC, "-o", RUN),
    ("run", SPEC, "-o", RUN, "--fresh"),
    ("run", SPEC, "-o", RUN, "--set", "repeat=3"),
    ("run", SPEC),
    ("run", PLAN, "-o", RUN),
    ("run", PLAN, "-o", PLAN),
    ("run", PLAN, "--collect", "-o", RUN),
    ("run", SPEC, "-o", RUN, "--phase-check"),
    ("run", f"{RUN}/spec/{SPEC}", "-o", RUN),
    ("report", RUN, "--format", "html", "--format", "md", "--format", "svg"),
    ("report", PACK),
    ("compile", SPEC, "-o", PLAN),
    ("compile", SPEC, "-o", PLAN, "--target", "json", "--set", "repeat=3"),
    ("compile", SPEC, "-o", RUN),
    ("cell", PLAN, "--index", "0-1", "--fresh"),
    ("pack", RUN, "-o", PACK),
    ("pack", RUN),
    ("table", RUN, "goodput"),
    ("verify", RUN),
    ("compare", RUN, RUN),
    ("clean", "--raw", RUN),
    ("clean",),
)


def keep(rng: random.Random, work: Path) -> dict[str, str]:
    """Put files of the user where nothing is; return what they are."""
    places = [
        work / rng.choice((RUN, PLAN)) / name for name in rng.sample(NAMES, rng.randint(1, 4))
    ]
    places += [work / name for name in rng.sample(BESIDE, rng.randint(0, 2))]
    if cells := sorted((work / RUN).glob("cells/*/result.json")):
        places.append(rng.choice(cells).parent / rng.choice(IN_CELL))
    kept = {}
    for path in places:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(f"mine {rng.random()}".encode())
        except OSError:  # something of ours is there, or in the way
            continue
        kept[str(path.relative_to(work))] = path.read_text()
    return kept


@fault("user.files", weight=2, short=8, wanted=5_000)
def folders(one: Try) -> str:
    """Put files of a user at random names (fairc's own among them) into and next to a run and a
    plan, new or finished; then one to three of `run` (also of a plan, a pack's spec, with --fresh,
    --phase-check or --collect), `report`, `compile`, `cell`, `pack`, `table`, `verify`, `compare`,
    `clean`, a quarter of them killed: no file of the user is changed or gone; refused where one is
    in the way.
    """
    preload()
    rng, sandbox = one.rng, Sandbox(one.folder)
    work = sandbox.work
    shutil.copy(finished() / "sandbox/work" / SPEC, work)
    for name in (RUN, PLAN):
        if rng.random() < 0.6:
            shutil.copytree(finished() / name, work / name)
    old = "there" if (work / RUN).exists() else "new"
    kept = keep(rng, work)
    statuses = []
    one.what = f"{sorted(kept)}"
    for command in rng.choices(COMMANDS, k=rng.randint(1, 3)):
        running = sandbox.fork(*command, patch=no_report if rng.random() < 0.7 else None)
        killed = rng.random() < 0.25
        if killed:
            time.sleep(rng.uniform(0.0, 1.0))
            running.send(rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))
        ended = running.wait()
        statuses.append(None if killed else ended.status)
        one.what += f"; {' '.join(command)}{' killed' if killed else ''}: {ended.status}"
        if not killed:
            ended.require(0, 1, 2, 3)
        for name, text in kept.items():
            there = (work / name).is_file() and (work / name).read_bytes() == text.encode()
            require(there, f"{name} changed or has gone")
    if None not in statuses:
        sandbox.require_nothing_left()
    return f"run {old}: {'refused' if 2 in statuses else 'kept'}"

"""Target `slurm`: a job array whose tasks run the cells (template: `slurm.sh.j2`).

How it is used: docs/run/cluster.md.
"""

from __future__ import annotations

from pathlib import Path

from fairc.compiler.engine_choice import CHOICES
from fairc.compiler.estimate import Estimate
from fairc.compiler.plan import Plan

from .jobs import deal, job_name
from .rendering import template

# Slurm's MaxArraySize is 1001 unless an administrator has raised it, and indices stay below it
# (slurm.conf).
MOST_TASKS = 1000
# A task takes seconds to start, and one that is lost is run again from its first missing cell: so
# short cells share one.
FILLED_S = 300.0
LOGS = "logs"


def finish(directory: Path, plan: Plan, estimate: Estimate) -> None:
    """Write `slurm.sh`, and an empty `logs/`: Slurm does not make a folder for a task's output."""
    jobs = deal(plan, estimate, MOST_TASKS, FILLED_S)
    script = directory / "slurm.sh"
    script.write_text(
        template("slurm.sh.j2").render(
            file=plan.file,
            experiment=plan.experiment,
            engine=plan.engine,
            asked=plan.engine not in CHOICES,
            cells=plan.cells,
            jobs=jobs,
            name=job_name(plan),
            limit=_duration(jobs.limit_s),
            logs=LOGS,
        ),
        encoding="utf-8",
    )
    script.chmod(0o755)
    (directory / LOGS).mkdir()


def _duration(seconds: int) -> str:
    """Write a time limit as sbatch takes it, HOURS:MINUTES:SECONDS."""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"

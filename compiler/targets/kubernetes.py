"""Target `kubernetes`: an Indexed Job whose pods run the cells (template:
`kubernetes-job.yaml.j2`).

How it is used: docs/run/cluster.md. Pods have no privileges: engines in virtual time need none.
"""

from __future__ import annotations

import math
from pathlib import Path

import fairc
from fairc.compiler.estimate import Estimate
from fairc.compiler.plan import Plan
from fairc.dsl.core.problems import fail

from .jobs import DISK_MIB, deal, job_name
from .rendering import template

# Kubernetes takes more completions only with restrictions (API reference, JobSpec.completions).
MOST_COMPLETIONS = 100_000
PRIVILEGED = ("mininet", "docker")
# A user that no image has.
USER = 65532


def finish(directory: Path, plan: Plan, estimate: Estimate) -> None:
    """Write `kubernetes/volume.yaml` (where plan and results lie) and `kubernetes/job.yaml`.

    Raises CompileError for an engine that needs privileges.
    """
    if plan.engine in PRIVILEGED:
        fail(
            "engine-needs-privileges",
            f"pods have no privileges, which the engine {plan.engine} needs",
            help="leave out `--engine`: engines in virtual time need none",
        )
    values = {
        "file": plan.file,
        "experiment": plan.experiment,
        "engine": plan.engine,
        "cells": plan.cells,
        "jobs": deal(plan, estimate, MOST_COMPLETIONS),
        "name": job_name(plan),
        "image": f"fairc:{fairc.__version__}",
        "user": USER,
        "disk_mib": DISK_MIB,
        "volume_gib": 1 + math.ceil(2 * estimate.disk_bytes / (1 << 30)),
    }
    folder = directory / "kubernetes"
    folder.mkdir()
    for name in ("volume", "job"):
        (folder / f"{name}.yaml").write_text(
            template(f"kubernetes-{name}.yaml.j2").render(**values), encoding="utf-8"
        )

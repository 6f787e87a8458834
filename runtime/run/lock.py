"""`lock.json`: the versions and hashes of everything that produced a run's numbers."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fairc.mechanisms
import fairc.runtime
from fairc.compiler.binary import EndpointsMissing, find_endpoints
from fairc.compiler.plan import Requests
from fairc.compiler.record import of_file
from fairc.dsl.core import plugins
from fairc.runtime.engines.kept_calibration import kept as kept_calibration
from fairc.runtime.store.folder import CELLS, PLAN, read_cells, read_plan
from fairc.words.metrics import METRICS

if TYPE_CHECKING:
    from fairc.runtime.engines.base import Engine

LIBRARIES = ("click", "duckdb", "jinja2", "lark", "matplotlib", "numpy", "pydantic")
# Whose code turns raw artefacts into a stored result, beside the packages of plug-ins' metrics.
ANALYSIS = (
    "analysis",
    "measurement",
    "metrics",
    "statistics",
    "validity",
)
# What does so in the folder of a mechanism.
OF_MECHANISMS = ("record.py", "check.py", "decisions.py", "metric.py", "table.py")


def describe(folder: Path, engine: Engine) -> dict[str, Any]:
    """Return the lock of a run of the plan in a folder on a prepared engine.

    It does not depend on the time, unlike the part of history.py. Raises StoreError,
    EngineUnavailable.
    """
    # From here on the engine's versions are those of every machine that the plan needs.
    identities = {engine.identity_for(cell) for cell in read_cells(folder)}
    document = {**provenance(engine), "plan": planned(folder)}
    document["engine"]["identities"] = sorted(identities)
    return document


def provenance(engine: Engine) -> dict[str, Any]:
    """Return the parts of the lock that are not the plan's: this program, the engine, this machine.

    `calibration` refers to the engine's (`fairc calibrate`), if there is one.
    """
    libraries = sorted({*LIBRARIES, *plugins.packages()})
    return {
        "fairc": program(),
        "python": platform.python_version(),
        "libraries": {name: version for name in libraries if (version := installed(name))},
        "engine": {
            "name": engine.name,
            "identity": engine.identity,
            "versions": dict(sorted(engine.versions.items())),
        },
        "calibration": kept_calibration(engine),
        "endpoints": {"sha256": endpoints_sha256()},
        "host": host(),
    }


def program() -> dict[str, Any]:
    """Return the version of this program, and the commit that it comes from."""
    return {"version": fairc.__version__, **checkout(Path(fairc.__file__).resolve().parents[1])}


def planned(folder: Path) -> dict[str, Any]:
    """Return the lock's part of the plan in a folder. Raises StoreError."""
    plan = read_plan(folder)
    return {
        "experiment": plan.experiment,
        "file": plan.file,
        "source_sha256": plan.source_sha256,
        "sha256": digest([folder / PLAN, folder / CELLS]),
        "inputs": {file.path: file.sha256 for file in plan.inputs},
    }


def analysis_identity(requests: Requests) -> str:
    """Hash the requested metrics and the code that computes them: a result with another hash is
    stale.
    """
    total = hashlib.sha256()
    for asked in (*requests.measure, *requests.implied, *requests.formulas):
        total.update(asked.model_dump_json().encode() + b"\n")
    here = Path(fairc.runtime.__file__).parent
    used = sorted(METRICS[r.name].module for r in requests.metrics if r.name in METRICS)
    modules = [name for name in used if name and not name.startswith("fairc.")]
    folder = Path(fairc.mechanisms.__file__ or "").parent
    own = [path for name in OF_MECHANISMS for path in sorted(folder.glob(f"*/*/{name}"))]
    for place in (*(here / name for name in ANALYSIS), *own, *map(_package, modules)):
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            name = path.relative_to(place.parent).as_posix()
            total.update(name.encode() + b"\n" + path.read_bytes())
    return total.hexdigest()[:16]


def _package(module: str) -> Path:
    """Return where the package is that a module of a plug-in belongs to."""
    found = find_spec(module.partition(".")[0])
    assert found is not None and found.origin is not None
    return Path(*(found.submodule_search_locations or [found.origin])[:1])


def endpoints_sha256() -> str | None:
    """Return the hash of the endpoints' program, or None when there is none on this machine."""
    try:
        return digest([find_endpoints()])
    except EndpointsMissing:
        return None


def digest(files: Iterable[Path]) -> str:
    """Return the SHA-256 over the hashes of files, in order."""
    total = hashlib.sha256()
    for path in files:
        total.update(bytes.fromhex(of_file(path).sha256))
    return total.hexdigest()


@cache
def installed(name: str) -> str | None:
    """Return the version of a Python library, or None when it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@cache
def checkout(root: Path) -> dict[str, Any]:
    """Return the git commit that the code comes from, and whether files differ from it."""
    if not (root / ".git").exists():
        return {"commit": None, "modified": None}
    commit, changes = _git(root, "rev-parse", "HEAD"), _git(root, "status", "--porcelain")
    return {"commit": commit, "modified": None if changes is None else bool(changes)}


def _git(root: Path, *arguments: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
    try:
        done = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def host() -> dict[str, Any]:
    """Describe this machine: processor, cores that may be used, memory in bytes, kernel, system."""
    return {
        "cpu": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "system": _system(),
    }


def _field(path: str, name: str) -> str | None:
    for line in Path(path).read_text(errors="replace").splitlines():
        word, _, value = line.partition(":")
        if word.strip() == name:
            return value.strip()
    return None


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"

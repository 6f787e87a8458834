"""`ro-crate-metadata.json`: a pack described for machines.

RO-Crate 1.2 (https://w3id.org/ro/crate/1.2) and its Process Run Crate profile 0.5
(https://w3id.org/ro/wfrun/process/0.5): the run is a CreateAction of fairc, from the files of the
spec to tables, figures and report.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fairc.compiler.emission import SPEC
from fairc.runtime.store.folder import Store

NAME = "ro-crate-metadata.json"
CRATE = "https://w3id.org/ro/crate/1.2"
PROCESS = "https://w3id.org/ro/wfrun/process/0.5"
RUN, PROGRAM = "#run", "https://pypi.org/project/fairc/"
FORMATS = {
    ".html": "text/html",
    ".md": "text/markdown",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".parquet": "application/vnd.apache.parquet",
    ".svg": "image/svg+xml",
    ".pdf": "application/pdf",
}
_RESULTS = ("tables/", "figures/", "report.")


def metadata(store: Store, names: Sequence[str]) -> bytes:
    """Return the document.

    names: of the pack's files, sorted, without this one. Raises StoreError.
    """
    plan, document = store.plan, store.lock
    at = _time(document)
    listed = [name for name in names if not name.startswith(("cells/", "programs/"))]
    graph: list[dict[str, Any]] = [
        {
            "@id": NAME,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": CRATE},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": plan.title or plan.experiment,
            "description": (
                f"The experiment {plan.experiment}: {plan.configurations} configurations,"
                f" {plan.cells} cells; its spec, plan, results, tables, figures and report."
            ),
            "datePublished": at,
            "license": {"@id": "LICENSE"},
            "conformsTo": [{"@id": PROCESS}],
            "hasPart": [{"@id": name} for name in (*listed, "cells/", "programs/")],
            "mentions": [{"@id": RUN}],
        },
        {
            "@id": PROCESS,
            "@type": ["CreativeWork", "Profile"],
            "name": "Process Run Crate",
            "version": "0.5",
        },
        {
            "@id": PROGRAM,
            "@type": "SoftwareApplication",
            "name": "fairc",
            "softwareVersion": str(document.get("fairc", {}).get("version", "")),
            "url": PROGRAM,
        },
        {
            "@id": RUN,
            "@type": "CreateAction",
            "name": f"fairc run {plan.file}",
            "description": f"Every cell of the plan on the engine {plan.engine}",
            "instrument": {"@id": PROGRAM},
            "agent": {"@id": "#author"},
            "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
            "endTime": at,
            "object": [{"@id": name} for name in listed if name.startswith(f"{SPEC}/")],
            "result": [{"@id": name} for name in listed if name.startswith(_RESULTS)],
        },
        {"@id": "#author", "@type": "Person", "name": "The author of the experiment"},
        {
            "@id": "cells/",
            "@type": "Dataset",
            "name": "Results",
            "description": "One folder per cell",
        },
        {
            "@id": "programs/",
            "@type": "Dataset",
            "name": "Programs",
            "description": "One Mininet program per cell",
        },
        *map(_file, listed),
    ]
    text = json.dumps(
        {"@context": f"{CRATE}/context", "@graph": graph}, indent=1, ensure_ascii=False
    )
    return f"{text}\n".encode()


def _file(name: str) -> dict[str, Any]:
    suffix = name[name.rfind(".") :] if "." in name else ""
    found: dict[str, Any] = {"@id": name, "@type": "File", "name": name.rpartition("/")[2]}
    if suffix in FORMATS:
        found["encodingFormat"] = FORMATS[suffix]
    elif suffix == ".fexp" or name in ("LICENSE", "CITATION.cff"):
        found["encodingFormat"] = "text/plain"
    if name == "LICENSE":
        found["description"] = "Under which terms the parts of this pack are"
    return found


def _time(document: dict[str, Any]) -> str:
    """Return when the lock first named a metric, so that all packs of a run have the same time."""
    declared = document.get("declared") or [{}]
    return str(declared[0].get("at", "2020-01-01T00:00:00Z"))

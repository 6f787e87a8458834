"""`ro-crate-metadata.json`: a pack described for machines.

RO-Crate 1.2 (https://w3id.org/ro/crate/1.2) and its Process Run Crate profile 0.5
(https://w3id.org/ro/wfrun/process/0.5): the run is a CreateAction of fairc, from the files of the
spec to tables, figures and report.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fairc import ADDRESS
from fairc.compiler.plan import Plan
from fairc.compiler.record import SPEC
from fairc.runtime.store.folder import Store

NAME = "ro-crate-metadata.json"
CRATE = "https://w3id.org/ro/crate/1.2"
PROCESS = "https://w3id.org/ro/wfrun/process/0.5"
RUN = "#run"
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
_ALWAYS: list[dict[str, Any]] = [
    {
        "@id": NAME,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": CRATE},
    },
    {
        "@id": PROCESS,
        "@type": ["CreativeWork", "Profile"],
        "name": "Process Run Crate",
        "version": "0.5",
    },
    {"@id": "#author", "@type": "Person", "name": "The author of the experiment"},
    {
        "@id": "programs/",
        "@type": "Dataset",
        "name": "Programs",
        "description": "One Mininet program per cell",
    },
]
"""What every pack has."""


def metadata(stores: Mapping[str, Store], names: Sequence[str]) -> bytes:
    """Return the document.

    stores: the runs by the folders of the pack that they are in; "" for the pack itself. names: of
    the pack's files, sorted, without this one. Raises StoreError.
    """
    plans = {name: store.plan for name, store in stores.items()}
    locks = {name: store.lock for name, store in stores.items()}
    plan, document = next(iter(plans.values())), next(iter(locks.values()))
    program = ADDRESS or "#fairc"
    times = {name: _time(lock) for name, lock in locks.items()}
    cells = [f"{before}cells/" for before in map(_prefix, stores)]
    listed = [name for name in names if not name.startswith((*cells, "programs/"))]
    title = (plan.title or plan.experiment) if "" in plans else plan.file
    crate, profile, author, programs = _ALWAYS
    graph: list[dict[str, Any]] = [
        crate,
        {
            "@id": "./",
            "@type": "Dataset",
            "name": title,
            "description": " ".join(
                f"The experiment {plan.experiment}: {plan.configurations} configurations,"
                f" {plan.cells} cells; its spec, plan, results, tables, figures and report."
                for plan in plans.values()
            ),
            "datePublished": max(times.values()),
            "license": {"@id": "LICENSE"},
            "conformsTo": [{"@id": PROCESS}],
            "hasPart": [{"@id": name} for name in (*listed, *cells, "programs/")],
            "mentions": [{"@id": _run(name)} for name in plans],
        },
        profile,
        {
            "@id": program,
            "@type": "SoftwareApplication",
            "name": "fairc",
            "softwareVersion": str(document.get("fairc", {}).get("version", "")),
            **({} if ADDRESS is None else {"url": ADDRESS}),
        },
        *(_action(name, plan, times[name], program, listed) for name, plan in plans.items()),
        author,
        *(
            {
                "@id": name,
                "@type": "Dataset",
                "name": "Results",
                "description": "One folder per cell",
            }
            for name in cells
        ),
        programs,
        *map(_file, listed),
    ]
    text = json.dumps(
        {"@context": f"{CRATE}/context", "@graph": graph}, indent=1, ensure_ascii=False
    )
    return f"{text}\n".encode()


def _action(name: str, plan: Plan, at: str, program: str, listed: Sequence[str]) -> dict[str, Any]:
    """Return the run of an experiment. name: as in `stores`; at: its time; listed: the files."""
    before = _prefix(name)
    spec, results = f"{before}{SPEC}/", tuple(f"{before}{result}" for result in _RESULTS)
    return {
        "@id": _run(name),
        "@type": "CreateAction",
        "name": f"fairc run {plan.target if name else plan.file}",
        "description": f"Every cell of the plan on the engine {plan.engine}",
        "instrument": {"@id": program},
        "agent": {"@id": "#author"},
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
        "endTime": at,
        "object": [{"@id": file} for file in listed if file.startswith(spec)],
        "result": [{"@id": file} for file in listed if file.startswith(results)],
    }


def _run(name: str) -> str:
    return f"{RUN}-{name}" if name else RUN


def _prefix(name: str) -> str:
    return f"{name}/" if name else ""


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

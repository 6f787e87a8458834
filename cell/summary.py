"""The summary of a document that an emitted Mininet program has, and the document that follows.

It is shorter: what server and client of a flow have in common is there once, and what is usual not
at all. The compiler writes it with `summarize`; the conductor gets what `restore` makes of it.
"""

from __future__ import annotations

import re

from .roles import monitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from .document import Document, Network, Program, Seed

    Summary = dict[str, Any]

USUAL: dict[str, Any] = {
    "captures": [],
    "changes": [],
    "duration_ns": None,
    "stop": "all",
    "processing_ns": 0,
    "modules": [],
    "window_bytes": 0,
    "objects": {},
    "inserted": [],
    "proxies": [],
    "devices": [],
    "tunnels": [],
    "patience_ns": 0,
    "monitor": monitor(),
}
"""What a summary leaves out where it is so."""
ALWAYS = ("deadline_ns", "drain_ns", "lead_ns", "slack_ns", "pings")

_SEED = re.compile(r"(?:tc )?qdisc add dev (\S+) root handle 1: netem .*\bseed (\d+)$")


def summarize(document: Document) -> Summary:
    """Return the summary of a document, without its network."""
    whole: Summary = {**document}
    made: Summary = {"id": document["id"]}
    made["flows"] = [
        _flow(server, client)
        for server, client in zip(document["servers"], document["clients"], strict=True)
    ]
    for name, usual in USUAL.items():
        if whole[name] != usual:
            made[name] = whole[name]
        if name in made and name == "captures":
            made["captures"], made["capture"] = _captures(document["captures"])
    return made | {name: whole[name] for name in ALWAYS}


def restore(summary: Summary, network: Network, tc: Mapping[str, Iterable[str]]) -> Document:
    """Return the document of a summary. tc: the commands of tc of each node."""
    made: Any = {**USUAL, **summary, "network": network, "epoch_ns": None}
    made["servers"] = [_program(flow, "server") for flow in made["flows"]]
    made["clients"] = [_program(flow, "client") for flow in made.pop("flows")]
    every = made.pop("capture", {})
    made["captures"] = [_capture(each, every) for each in made["captures"]]
    made["seeds"] = list(_seeds(tc))
    whole: Document = made
    return whole


def _flow(server: Program, client: Program) -> Summary:
    sides = {"server": server, "client": client}
    asked = [program["description"] for program in sides.values()]
    both = {key: value for key, value in asked[0].items() if _has(asked[1], key, value)}
    name = server["name"].removesuffix(".server")
    made: Summary = {"name": name, **({"both": both} if both else {})}
    for side, program in sides.items():
        own = {key: value for key, value in program["description"].items() if key not in both}
        made[side] = {"node": program["node"], "role": program["role"], **own}
    return made


def _has(fields: Mapping[str, Any], key: str, value: object) -> bool:
    """Whether fields have the same value, of the same type."""
    return key in fields and repr(fields[key]) == repr(value)


def _program(flow: Summary, side: str) -> Program:
    own = {**flow[side]}
    node, role = own.pop("node"), own.pop("role")
    return {
        "name": f"{flow['name']}.{side}",
        "node": node,
        "role": role,
        "description": {**flow.get("both", {}), **own},
    }


def _captures(captures: Iterable[Program]) -> tuple[list[Summary], Summary]:
    """Return what each capture has of its own, and what all have in common."""
    own = ("interface", "direction", "file")
    every: Summary = {}
    several = []
    for program in captures:
        asked = {**program["description"]}
        several.append({"node": program["node"], **{key: asked.pop(key) for key in own}})
        del asked["form"]
        every = asked
    return several, every


def _capture(own: Summary, every: Summary) -> Program:
    name, _, form = own["file"].rpartition(".")
    description = {key: value for key, value in own.items() if key != "node"}
    return {
        "name": name,
        "node": own["node"],
        "role": "capture",
        "description": {**description, "form": form, **every},
    }


def _seeds(tc: Mapping[str, Iterable[str]]) -> Iterator[Seed]:
    """Yield the seeds of the netems at interfaces."""
    for node, lines in tc.items():
        for line in lines:
            if found := _SEED.match(line):
                yield {"node": node, "interface": found[1], "seed": int(found[2])}

"""Counters of `tc -s -j qdisc show`, per interface; other fields are ignored.

Every qdisc prints the same head (kind, handle, parent, dev) and the same basic counters; what
differs between kinds and versions of iproute2 is in options and extra statistics, of which only the
burst of a tbf is needed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .artefacts import ArtefactError, Artefacts

Interface = tuple[str, str]

FILTERS = "clsact"
"""The qdisc that has no queue, but filters of what arrives."""


@dataclass(frozen=True, slots=True)
class Counters:
    """One qdisc: bytes and packets sent, packets dropped, and what waits in it.

    parent: handle of the class that it is attached to, empty for a root. requeues: for netem,
    packets that skipped the delay. drops: without acknowledgements that CAKE's filter removed.
    burst_bytes: for a token bucket, what it holds; 0 for others.
    entry: all that it shows.
    """

    kind: str
    handle: str
    parent: str
    sent_bytes: int
    sent_packets: int
    drops: int
    backlog_bytes: int
    backlog_packets: int
    requeues: int = 0
    burst_bytes: int = 0
    entry: Mapping[str, Any] = field(default_factory=dict, compare=False)


def load(artefacts: Artefacts, name: str) -> dict[Interface, tuple[Counters, ...]]:
    """Return the qdiscs of each (node, interface), the root first. Raises ArtefactError."""
    document = artefacts.json(name)
    if not isinstance(document, dict):
        raise ArtefactError(f"{name} is not an object of nodes")
    found: dict[Interface, list[Counters]] = {}
    for node, entries in document.items():
        for entry in _entries(entries, f"{name}, node {node}"):
            interface = (str(node), str(entry.get("dev", "")))
            found.setdefault(interface, []).append(_counters(entry))
    return {
        interface: tuple(sorted(rows, key=lambda c: bool(c.parent)))
        for interface, rows in found.items()
    }


def _entries(entries: Any, where: str) -> Iterator[Mapping[str, Any]]:
    if not isinstance(entries, list):
        raise ArtefactError(f"{where} has no list of qdiscs")
    for entry in entries:
        if not isinstance(entry, dict) or "kind" not in entry:
            raise ArtefactError(f"{where} has an entry that is not a qdisc")
        yield entry


def _counters(entry: Mapping[str, Any]) -> Counters:
    return Counters(
        kind=str(entry["kind"]),
        handle=str(entry.get("handle", "")),
        parent=str(entry.get("parent", "")),
        sent_bytes=_number(entry, "bytes"),
        sent_packets=_number(entry, "packets"),
        drops=_number(entry, "drops") - _filtered(entry),
        backlog_bytes=_number(entry, "backlog"),
        backlog_packets=_number(entry, "qlen"),
        requeues=_number(entry, "requeues"),
        burst_bytes=_bucket(entry),
        entry=entry,
    )


def _number(entry: Mapping[str, Any], key: str) -> int:
    """Return a counter; tc leaves some out while they are 0."""
    value = entry.get(key, 0)
    if not isinstance(value, int):
        raise ArtefactError(f"qdisc {entry['kind']} has {key} = {value!r}, not a count")
    return value


def _filtered(entry: Mapping[str, Any]) -> int:
    """Return how many acknowledgements CAKE's filter removed, which count as drops, too."""
    tins = entry.get("tins", [])
    return sum(_number({"kind": entry["kind"], **tin}, "ack_drops") for tin in tins)


def _bucket(entry: Mapping[str, Any]) -> int:
    options = entry.get("options")
    if entry["kind"] != "tbf" or not isinstance(options, dict):
        return 0
    return _number({**options, "kind": "tbf"}, "burst")


def drops_since(
    before: tuple[Counters, ...], after: tuple[Counters, ...], filtered: bool = False
) -> int:
    """Return the packets that an interface's queue dropped between two readings; filtered: those
    that filters dropped where they arrived there, instead.

    A drop in a child is counted again by some parents, so the largest count is taken.
    """
    start = {(c.kind, c.handle): c.drops for c in before}
    asked = (c for c in after if (c.kind == FILTERS) == filtered)
    return max((c.drops - start.get((c.kind, c.handle), 0) for c in asked), default=0)


def bucket_bytes(counters: tuple[Counters, ...]) -> int:
    """Return what an interface's token bucket holds; 0 when it has none."""
    return max((c.burst_bytes for c in counters), default=0)


def waiting(counters: tuple[Counters, ...]) -> int:
    """Return the packets that wait in an interface's qdiscs; a parent counts its child's too."""
    return max((c.backlog_packets for c in counters), default=0)

"""Loads of a page over another version of HTTP than the one that its flow has in the end."""

from __future__ import annotations

from collections.abc import Iterable

from fairc.dsl.model.names import label_of
from fairc.runtime.formatting import counted, listed
from fairc.runtime.repetitions.reading import Value

from .run import Run

_NAMES = {"h1": "HTTP/1.1", "h2": "HTTP/2", "h3": "HTTP/3"}
WHY = "a client learns of HTTP/3 from its first load"


def other_protocol(run: Run, value: Value) -> str:
    """Return the version that a load ran over, `HTTP/2, not HTTP/3`; empty if it is the flow's."""
    scene = run.scenes.get(value.outcome.configuration)
    for flow in scene.flows if scene else ():
        versions = flow.workload.http_versions
        if label_of(flow) == value.measure.flow and versions:
            last = versions[-1]
            if value.protocol and value.protocol != last:
                ran, wanted = (_NAMES.get(name, name) for name in (value.protocol, last))
                return f"{ran}, not {wanted}"
    return ""


def sentences(run: Run, values: Iterable[Value]) -> str:
    """Say which loads ran over another version than their flow's, in how many configurations; empty
    if none did.
    """
    found: dict[tuple[str, int], set[str]] = {}
    for value in values:
        if (over := other_protocol(run, value)) and value.measure.load is not None:
            key = over, value.measure.load
            found.setdefault(key, set()).add(value.outcome.configuration)
    parts = [
        f"load {load} over {over} in {counted(len(configurations), 'configuration')}"
        for (over, load), configurations in found.items()
    ]
    text = f"{listed(parts)}: {WHY}" if parts else ""
    return text[:1].upper() + text[1:]

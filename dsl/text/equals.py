"""Typos with `=`: a service behind the loops of a flow, and a condition that compares."""

from __future__ import annotations

import re

from fairc.dsl.core.diagnostics import Diagnostic
from fairc.dsl.core.source import Source, Span

from .borders import Borders

_LOOPED_FLOW = re.compile(r"\s*flow\s+([A-Za-z_]\w*(?:\[[^\]\n]*\])?)\s+((?:for|when)\b[^={}]*)$")
"""A flow with loops or a condition, up to an `=`."""

_SERVICE = re.compile(r"=\s*([A-Za-z_]\w*)")


def equals(source: Source, borders: Borders, start: int, is_condition: bool) -> Diagnostic | None:
    """Return what is wrong with the `=` at an offset; None if it is no such mistake.

    is_condition: whether a comparison may follow.
    """
    if (late := _late_service(source, borders, start)) is not None or not is_condition:
        return late
    return Diagnostic(
        "syntax",
        "a condition compares with `==`",
        Span(source, start, start + 1),
        note="`==` instead of this",
        help="`=` is used in settings only: `rate = 1Mbit/s`",
    )


def _late_service(source: Source, borders: Borders, start: int) -> Diagnostic | None:
    """Return what is wrong if a service begins at an offset, behind loops; else None."""
    begin, _ = borders.statement(start)
    flow = _LOOPED_FLOW.match(source.text, begin, start)
    if flow is None:
        return None
    service = _SERVICE.match(source.text, start)
    name = service[1] if service else "SERVICE"
    return Diagnostic(
        "syntax",
        "the service of a flow stands before its loops and its condition",
        Span(source, start, service.end() if service else start + 1),
        note="this stands too late",
        help=f"write `flow {flow[1]} = {name} {' '.join(flow[2].split())}`",
    )

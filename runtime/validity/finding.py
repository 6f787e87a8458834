"""A finding of a check: its severity, and a sentence on what is not as planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from fairc.cell.links import EMULATED_SLACK_NS
from fairc.runtime.measurement import Measurement

Verdict = Literal["valid", "flagged", "invalid"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found: its severity, and a sentence on what is not as planned."""

    verdict: Literal["flagged", "invalid"]
    reason: str


invalid, flagged = partial(Finding, "invalid"), partial(Finding, "flagged")
"""Findings by their severity, of a sentence."""

_BUSY = "the machine was too busy: run fewer cells at once (`--jobs`), at lower rates, or on `uml`"
_EMULATED = "the emulated processor was too busy: lower the rates, or use `uml`"
_CALLS = "system calls kept the machine busy: lower the rates, or `syscall_cost` of `hosts`"
_FREE = "computing takes no time on this engine, so this is a fault of fairc: please report it"


def busy(measurement: Measurement) -> str:
    """Say why something came late, and what to do: no machine is too busy where computing takes no
    time.
    """
    processing = measurement.processing
    if processing.computing_is_free:
        return _CALLS if measurement.cell.syscall_cost_ns else _FREE
    return _EMULATED if processing.slack_ns == EMULATED_SLACK_NS else _BUSY


def _is_never_busy(measurement: Measurement) -> bool:
    """Whether neither computing nor system calls take time."""
    return measurement.processing.computing_is_free and not measurement.cell.syscall_cost_ns


def or_busy(measurement: Measurement) -> str:
    """Say `, or` what else it may be: nothing where computing takes no time."""
    return "" if _is_never_busy(measurement) else f", or {busy(measurement)}"


def or_virtual(measurement: Measurement, cause: str, advice: str) -> str:
    """Say why and what to do where hosts are of this machine; where computing takes no time, no
    engine is better.
    """
    return busy(measurement) if measurement.processing.computing_is_free else f"{cause}; {advice}"


def unread(measurement: Measurement) -> str:
    """Say why a program missed packets, and what to do."""
    free = _is_never_busy(measurement)
    return "more came at once than its buffer holds: lower the rates" if free else busy(measurement)


def see(file: str) -> str:
    """Say where to look, among the raw artefacts of a cell (docs/reference/artefacts.md)."""
    return f"see {file} in the cell's raw.tar.zst"


Check = Callable[[Measurement], Iterator[Finding]]

"""Cells with values, as an interim analysis gets them."""

from __future__ import annotations

from collections.abc import Mapping

from fairc.runtime.repetitions.reading import CellValues, Measure, Outcome, Value


def cell_values(
    configuration: str, repetition: int, values: Mapping[tuple[str, str], float], **bindings: str
) -> CellValues:
    """A cell by its values: (metric, flow) -> number; one without any does not count."""
    verdict = "valid" if values else "invalid"
    cell = f"{configuration}-{repetition}"
    outcome = Outcome(
        cell, configuration, repetition, "1", "ok", verdict, (), "", tuple(bindings.items())
    )
    found = (
        Value(Measure(metric, flow, "1"), outcome, number)
        for (metric, flow), number in values.items()
    )
    return CellValues(outcome, tuple(found))

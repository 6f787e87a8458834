"""The header: what was swept, and what is measured and shown."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from .base import Model, empty

PLAN_VERSION: Final = 1


class Axis(Model):
    """A swept name and its values in canonical text, in file order.

    numbers, unit: the values in an SI base unit (bytes for sizes) where all are quantities of one
    dimension, else empty.
    """

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...] = ()
    unit: str = ""


class MetricRequest(Model):
    """An entry of `measure`: metric name, flows named by position, keyword options (SI units)."""

    name: str
    sessions: tuple[str, ...] = ()
    options: dict[str, float | str] = {}


class Selection(Model):
    """The cells for which a condition holds, without the condition: whoever reads it needs no syntax.

    text: the condition as written. names: the swept names (and `repetition`) that it depends on;
    rows: their values for which it holds, in canonical text.
    """

    text: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class FigureRequest(Model):
    """An entry of `report`: kind of figure, the metric shown (`fairness.F`), its options.

    options: complete, defaults written out; quantities in SI base units. where: the cells that it
    shows, or None for all.
    """

    kind: str
    metric: str | None = None
    options: dict[str, str | float | tuple[str, ...]] = {}
    where: Selection | None = None


class Input(Model):
    """A file that the spec reads: its path from the spec's folder, its SHA-256."""

    path: str
    sha256: str


class Plan(Model):
    """The header: what was asked for, and how many cells there are.

    varied: in words, what differs between repetitions (measurement.md, rule 11).
    source: the text of the file itself, so that a run directory explains itself.
    processing_ns: the limits of the time that hosts take for a packet, of all configurations, where the file
    says something; left out where it does not, and the engine decides.
    excluded, unsampled: cells that `exclude` drops, and of the others those that `sample` does.
    """

    format: Literal["fairc-plan"] = "fairc-plan"
    version: Literal[1] = PLAN_VERSION
    experiment: str
    title: str
    citation: str
    file: str
    source: str
    source_sha256: str
    axes: tuple[Axis, ...]
    repeat: int
    seed: int
    configurations: int
    excluded: int
    unsampled: int = 0
    cells: int
    measure: tuple[MetricRequest, ...]
    figures: tuple[FigureRequest, ...]
    varied: tuple[str, ...]
    inputs: tuple[Input, ...] = ()
    processing_ns: Annotated[tuple[int, ...], Field(exclude_if=empty)] = ()

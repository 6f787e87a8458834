"""Requests of an experiment: axes, metrics, figures, precision, settings, input files."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from fairc.cell.numbers import Above, Real, Repetition
from fairc.cell.part import absent, empty, off
from fairc.cell.text import Document, MetricName, Nothing, Sha256, Text, Word

from .base import Model
from .claims import ClaimUnit, Combination
from .names import FlowLabel


def _below(path: str) -> str:
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise ValueError("a path from the experiment's folder, without `..`")
    return path


Below = Annotated[Text, AfterValidator(_below)]
"""The path of a file in or below the folder of the experiment."""


class Axis(Model):
    """A swept name and its values in canonical text, in file order.

    numbers, unit: the values in an SI base unit (bytes for sizes) where all are quantities of one
    dimension, else empty.
    """

    name: Word
    values: tuple[Text, ...]
    numbers: tuple[Real, ...] = ()
    unit: Text = ""


class MetricRequest(Model):
    """An entry of `measure`: metric name, flows named by position, keyword options (SI units).

    values: the sub-values named in the file, such as `queue_delay.p95`; the metric's own name
    stands for its first value. Left out where only that is named. All values are computed.
    """

    name: MetricName
    sessions: tuple[FlowLabel, ...] = ()
    options: dict[Word, Real | Text] = {}
    values: Annotated[tuple[MetricName, ...], Field(exclude_if=empty)] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """The names of the requested values."""
        return self.values or (self.name,)


class Goal(Model):
    """The precision that a value must reach before repetitions stop: `metric` as in `measure`
    (`fairness.F`).

    within: the largest half-width of its interval; relative: as a fraction of the value, else in
    its SI unit.
    """

    metric: MetricName
    within: Above
    relative: bool


class Precision(Model):
    """When repetitions stop: after `least` of them or later, at the first interim analysis with
    every goal reached.

    per: the axes whose values distinguish the groups that stop together; empty: all configurations
    stop together.
    claims: whether every claim must be decided as well; then `goals` may be empty. Left out where
    it need not.
    """

    least: Repetition
    goals: tuple[Goal, ...]
    per: tuple[Word, ...] = ()
    claims: Annotated[bool, Field(exclude_if=off)] = False


class Selection(Model):
    """The cells for which a condition holds, listed so that readers need no syntax.

    text: the condition as written. names: the swept names (and `repetition`) that it depends on;
    rows: their values for which it holds, in canonical text.
    """

    text: Text
    names: tuple[Word, ...]
    rows: tuple[tuple[Text, ...], ...]


class Expression(Model):
    """An expression of statistics, as a claim has it: a value for each configuration that they
    share.

    name: of the `let` that holds it; empty: it is written in the figure. text: as written. form,
    unit, shared, units: as of a claim; the units have no bounds.
    """

    name: Word | Nothing = ""
    text: Text
    form: Combination
    unit: Text
    shared: tuple[Word, ...]
    units: Annotated[tuple[ClaimUnit, ...], Field(min_length=1, max_length=1000)]


def _blank(name: object) -> bool:
    return name == ""


class Shown(Model):
    """A metric that a figure shows beside its first one; flow: whose, empty for all."""

    metric: MetricName
    flow: Annotated[FlowLabel | Nothing, Field(exclude_if=_blank)] = ""


class FigureRequest(Model):
    """An entry of `report`: kind of figure, the metric shown (`fairness.F`), its options.

    flow: whose values of the metric, or of which group of users; empty, and left out: all.
    expression: what it shows instead of a metric; second: another metric that it shows; left out
    where there is none.
    options: complete, defaults written out; quantities in SI base units. where: the cells that it
    shows, or None for all.
    """

    kind: Word
    metric: MetricName | None = None
    flow: Annotated[FlowLabel | Nothing, Field(exclude_if=_blank)] = ""
    second: Annotated[Shown | None, Field(exclude_if=absent)] = None
    expression: Annotated[Expression | None, Field(exclude_if=absent)] = None
    options: dict[Word, Text | Real | tuple[Text, ...]] = {}
    where: Selection | None = None


class Setting(Model):
    """What `--set` replaced: a name, its value as given, and what the file says (empty:
    nothing).
    """

    name: Word
    value: Text
    instead: Document = ""


class Input(Model):
    """A file that the spec reads: its path from the spec's folder, its SHA-256."""

    path: Below
    sha256: Sha256

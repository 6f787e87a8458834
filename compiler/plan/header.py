"""The header: what was swept, and what is measured and shown."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from fairc.cell.numbers import Above, Number, Real, Repetition, Seed
from fairc.cell.part import absent, off
from fairc.cell.text import Document, EngineName, FileName, FlowName, MetricName, Sha256, Text, Word

from .base import MAX_PROCESSING_NS, Model, empty
from .claims import Claim
from .requests import contradiction

PLAN_VERSION: Final = 1


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
    sessions: tuple[FlowName, ...] = ()
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


class FigureRequest(Model):
    """An entry of `report`: kind of figure, the metric shown (`fairness.F`), its options.

    options: complete, defaults written out; quantities in SI base units. where: the cells that it
    shows, or None for all.
    """

    kind: Word
    metric: MetricName | None = None
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


OUTDATED = "links without transmission time: run again"
"""Of runs of versions whose links sent a frame in no time: they are too fast for short transfers
and small packets.
"""


class Plan(Model):
    """The header: what was requested, and how many cells there are.

    varied: as text, what differs between repetitions (measurement.md, rule 11).
    source: the text of the file itself, so that a run directory is self-explanatory.
    processing_ns: the limits of the time that hosts take for a packet, over all configurations,
    where the file sets them; left out where it does not, and the engine decides.
    excluded, unsampled: the number of cells that `exclude` drops, and of the remaining ones that
    `sample` drops.
    engine: the engine that runs every cell; a plan of an earlier version names none, and means
    `vm`.
    engine_reasons: as text, what in the file prevents faster engines.
    engine_asked: whether another engine was requested than the one that the file alone would get;
    left out where it was not.
    settings: what the command line replaced in the file, by name; left out where nothing was.
    common: as text, the part of `varied` that all configurations of a repetition draw alike, so
    that they are compared repetition by repetition; left out where there is none: with one
    configuration, or with `draws = own`.
    claims: the hypotheses that the run decides, in file order; left out where there are none.
    deviates: the differences from the publication that `citation` names; left out where the file
    lists none.
    repeat: the number of repetitions; with `precision` the largest one. precision: what can stop
    them earlier; left out where nothing does.
    transmission: that frames take their time on links, unless the file says `transmit = bucket`;
    left out in plans of versions in which they never did.
    """

    format: Literal["fairc-plan"] = "fairc-plan"
    version: Literal[1] = PLAN_VERSION
    experiment: Word
    title: Text
    citation: Text
    file: FileName
    source: Document
    source_sha256: Sha256
    axes: tuple[Axis, ...]
    repeat: Repetition
    seed: Seed
    configurations: Number
    excluded: Number
    unsampled: Number = 0
    cells: Number
    measure: tuple[MetricRequest, ...]
    figures: tuple[FigureRequest, ...]
    varied: tuple[Text, ...]
    inputs: tuple[Input, ...] = ()
    engine: EngineName = "vm"
    engine_reasons: tuple[Text, ...] = ()
    engine_asked: Annotated[bool, Field(exclude_if=off)] = False
    settings: Annotated[tuple[Setting, ...], Field(exclude_if=empty)] = ()
    processing_ns: Annotated[
        tuple[Annotated[int, Field(ge=0, le=MAX_PROCESSING_NS)], ...], Field(exclude_if=empty)
    ] = ()
    common: Annotated[tuple[Text, ...], Field(exclude_if=empty)] = ()
    claims: Annotated[tuple[Claim, ...], Field(exclude_if=empty)] = ()
    deviates: Annotated[tuple[Text, ...], Field(exclude_if=empty)] = ()
    precision: Annotated[Precision | None, Field(exclude_if=absent)] = None
    transmission: Annotated[Literal["frames"] | None, Field(exclude_if=absent)] = None

    @property
    def outdated(self) -> str:
        """Why a run of this plan should be made again; empty: it need not."""
        return "" if self.transmission else OUTDATED

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if why := contradiction(self):
            raise ValueError(why)
        return self

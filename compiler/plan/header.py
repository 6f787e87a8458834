"""The header: what was swept, and what is measured and shown."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from fairc.cell.model import MAX_PROCESSING_NS
from fairc.cell.numbers import Number, Repetition, Seed
from fairc.cell.part import unless
from fairc.cell.text import Document, EngineName, FileName, Sha256, Text, Word
from fairc.dsl.model.base import Model
from fairc.dsl.model.claims import Claim
from fairc.dsl.model.expressions import Amount
from fairc.dsl.model.requests import (
    Axis,
    Comparison,
    FigureRequest,
    Formula,
    Input,
    MetricRequest,
    Precision,
    Requests,
    Setting,
)

from .requests import contradiction

PLAN_VERSION: Final = 1


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
    implied: what is measured besides `measure`, because claims, figures or formulas are about it;
    formulas: the metrics of the file's own; comparisons: values that follow from a cell and from
    its baselines; each left out where there is none.
    cells: all that run; baselines: how many of them are there to be compared with, and belong to no
    configuration; left out where there are none.
    deviates: the differences from the publication that `citation` names; left out where the file
    lists none.
    repeat: the number of repetitions; with `precision` the largest one. precision: what can stop
    them earlier; left out where nothing does.
    experiments: the names of all experiments of the file, in its order; left out where it has one.
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
    baselines: Annotated[Number, Field(**unless(0))] = 0
    measure: tuple[MetricRequest, ...]
    implied: Annotated[tuple[MetricRequest, ...], Field(**unless(()))] = ()
    formulas: Annotated[tuple[Formula, ...], Field(**unless(()))] = ()
    comparisons: Annotated[tuple[Comparison, ...], Field(**unless(()))] = ()
    figures: tuple[FigureRequest, ...]
    varied: tuple[Text, ...]
    inputs: tuple[Input, ...] = ()
    engine: EngineName = "vm"
    engine_reasons: tuple[Text, ...] = ()
    engine_asked: Annotated[bool, Field(**unless(False))] = False
    settings: Annotated[tuple[Setting, ...], Field(**unless(()))] = ()
    processing_ns: Annotated[
        tuple[Annotated[int, Field(ge=0, le=MAX_PROCESSING_NS)], ...], Field(**unless(()))
    ] = ()
    common: Annotated[tuple[Text, ...], Field(**unless(()))] = ()
    claims: Annotated[tuple[Claim, ...], Field(**unless(()))] = ()
    deviates: Annotated[tuple[Text, ...], Field(**unless(()))] = ()
    precision: Annotated[Precision | None, Field(**unless(None))] = None
    experiments: Annotated[tuple[Word, ...], Field(**unless(()))] = ()
    transmission: Annotated[Literal["frames"] | None, Field(**unless(None))] = None

    @property
    def compared(self) -> int:
        """The number of cells that are of configurations, and so are rows of tables."""
        return self.cells - self.baselines

    @property
    def target(self) -> str:
        """The file as a command names it, with the experiment if the file has several."""
        return f"{self.file}:{self.experiment}" if self.experiments else self.file

    @cached_property
    def requests(self) -> Requests:
        """What is computed of each cell."""
        return Requests(
            measure=self.measure,
            implied=self.implied,
            formulas=self.formulas,
            comparisons=self.comparisons,
        )

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """Every number that may depend on the configuration."""
        goals = self.precision.goals if self.precision is not None else ()
        return (*self.requests.amounts, *(g.within for g in goals if isinstance(g.within, Amount)))

    @property
    def outdated(self) -> str:
        """Why a run of this plan should be made again; empty: it need not."""
        return "" if self.transmission else OUTDATED

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if why := contradiction(self):
            raise ValueError(why)
        return self

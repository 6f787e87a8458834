"""The keys of `experiment { ... }`."""

from __future__ import annotations

from typing import Any, Literal

from fairc.dsl.core.entries import Entries, Parameter
from fairc.dsl.core.kinds import (
    A_POSITIVE_TIME,
    A_SWITCH,
    A_TIME,
    A_WHOLE,
    Lists,
    OneOrMore,
    Quantities,
    Texts,
    Words,
)
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import NUMBER
from fairc.words.metrics import METRICS
from fairc.words.presets import TOPOLOGIES
from fairc.words.repetitions import Repetitions
from fairc.words.routes import ROUTINGS

TITLE = Parameter("title", Texts(), "the question, in one line")
SOURCE = Parameter("source", Texts(), "the publication that the experiment comes from")
DEVIATES = Parameter(
    "deviates",
    OneOrMore(Texts(), 'a string in "quotes", or a list of strings'),
    "what differs from that publication, and why; may be given several times",
    repeated=True,
)
TOPOLOGY = Parameter("topology", Entries(TOPOLOGIES), "the network")
ROUTES = Parameter("routes", Entries(ROUTINGS), "which of equal paths flows take", "shortest")
DURATION = Parameter("duration", A_POSITIVE_TIME, "a fixed length of each cell")
WARMUP = Parameter("warmup", A_TIME, "the start of each cell, which metrics ignore", "0s")
_STOP: Words[Literal["first", "all"]] = Words("value of `stop`", ("first", "all"))
_CAPTURES: Words[Literal["full", "none"]] = Words("value of `captures`", ("full", "none"))

STOP = Parameter("stop", _STOP, "whether the cell ends with its `first` flow or after `all`", "all")
DEADLINE = Parameter(
    "deadline",
    A_POSITIVE_TIME,
    "the latest end of a cell",
    otherwise="10 times the time at the fair share, or at the rate that random losses allow",
)
CAPTURES = Parameter(
    "captures",
    _CAPTURES,
    "whether packets are captured",
    "full",
)
REPEAT = Parameter(
    "repeat", Repetitions(), "repetitions; a range of them ends with `precision`", "1"
)
SEED = Parameter("seed", A_WHOLE, "seed of all randomness", "1")
DRAWS = Parameter(
    "draws",
    Words("value of `draws`", ("common", "own")),
    "whether starts, arrivals, sizes and pauses are the same for every value of the sweep; not"
    " with `sample`, but with `of`",
    "common",
)
PAIRED = Parameter("paired", A_SWITCH, "also the same losses for every value of the sweep", "off")
ORDER = Parameter(
    "order",
    Words("value of `order`", ("file", "shuffled")),
    "order in which configurations are run, in each repetition",
    "file",
)
SAMPLE = Parameter(
    "sample",
    Quantities((NUMBER,), low=1, high=1_000_000, whole=True),
    "number of configurations to draw, in total or `per` swept names; `12 of (a, b)`: of"
    " combinations of these, each with all its configurations",
)
MEASURE = Parameter("measure", Lists(Entries(METRICS)), "the metrics")

_FIGURES = "figures are a block: `report { line(goodput, x: time)  cdf(rtt) }`"

EXPERIMENT: Registry[Parameter[Any]] = Registry(
    "experiment key",
    "key",
    [
        TITLE,
        SOURCE,
        DEVIATES,
        TOPOLOGY,
        ROUTES,
        DURATION,
        WARMUP,
        STOP,
        DEADLINE,
        CAPTURES,
        REPEAT,
        SEED,
        DRAWS,
        PAIRED,
        ORDER,
        SAMPLE,
        MEASURE,
    ],
    misplaced={
        "engine": "a file does not say where it runs: `fairc run FILE --engine uml`",
        "extends": "it follows the name: `experiment NAME extends BASE { ... }`",
        "figures": _FIGURES,
        "plots": _FIGURES,
        "report": _FIGURES,
    },
)

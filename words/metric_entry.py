"""Entries of metrics as words: what a flow must do for one, its window of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fairc.cell.text import Place
from fairc.dsl.core.diagnostics import Diagnostic
from fairc.dsl.core.entries import Entry, Parameter
from fairc.dsl.core.kinds import A_POSITIVE_TIME, A_TIME, AnyName
from fairc.dsl.core.values import Quantity
from fairc.dsl.model import Flow, MetricRequest

A_FLOW = AnyName("a flow")
FLOW = Parameter("flow", A_FLOW, "only this flow; each flow if none is named", repeated=True)
FROM = Parameter("from", A_TIME, "when measuring begins, instead of after the warm-up")
TO = Parameter("to", A_POSITIVE_TIME, "when measuring ends, instead of with the cell")
WINDOW = (FROM, TO)
"""The parameters of the metrics that can be measured in a part of a cell's time."""


@dataclass(frozen=True, slots=True)
class Need:
    """The workloads for which a metric has values.

    activity: completes "no flow ...". among: completes "no flow among `a` ...", where it differs.
    met: whether any of some flows does it.
    own_kernel: whether any of them does it on a kernel of the user's own.
    of_all: whether those are all flows of a cell, whichever the metric is requested of.
    otherwise: what the metric does where none does it. instead: the help where flows do something
    else, of which another metric tells the same.
    """

    activity: str
    met: Callable[[Sequence[Flow]], bool]
    own_kernel: Callable[[Sequence[Flow]], bool] = lambda flows: False
    of_all: bool = False
    otherwise: str = "has no values"
    instead: str = ""
    among: str = ""


@dataclass(frozen=True, slots=True)
class FlowPath:
    """A flow of a configuration with the way of its data.

    bottleneck: the slowest interface, None if there is none. passed: all interfaces that its data
    leaves by. in_host: whether the bottleneck's queue is in a host, where no capture sees a packet
    before it. devices: the kinds of those in its way; readers: of those that read its packets.
    """

    flow: Flow
    bottleneck: Place | None
    passed: tuple[Place, ...]
    in_host: bool
    devices: frozenset[str]
    readers: frozenset[str]


Lacks = Callable[[str, Sequence[FlowPath]], str]
"""Returns why no flow of some has a sub-value (empty: the metric's first one), as far as that is
known before anything runs; empty if one may have it."""


@dataclass(frozen=True, slots=True)
class FlowTiming:
    """A flow that a metric is requested of, as far as it is known before anything runs.

    base_rtt_ns: of its path.
    sample_every_ns: interval at which its connections are sampled.
    begins_ns, ends_ns: when its measurement begins and ends at the latest, from the epoch; None:
    nothing limits it.
    """

    flow: Flow
    base_rtt_ns: int
    sample_every_ns: int
    begins_ns: int
    ends_ns: int | None


@dataclass(frozen=True, kw_only=True)
class MetricEntry(Entry):
    """A metric.

    need: what it applies to; None: anything.
    per_load: whether each load of a page has a value, distinguished by `load` and `protocol`.
    over_time: whether `line` can show it with `x: time`; else it is one number per cell or flow.
    course: the sub-value that it then shows, which may be named; empty: the one without a name.
    values_over_time: those of its sub-values that it can show as well.
    has_curves: whether it has curves, which have figures of their own.
    every: its parameter for the time between samples of connections, if it is computed from them.
    of_cell: whether it is of all flows of a cell together.
    units: SI units of sub-values whose unit differs from the first one's.
    module: where it is computed, if not in the module of its name in runtime/metrics.
    signed: the values, by their names in `measure`, that may be negative.
    is_level: whether it is a mean over time, so that it depends on when it was taken while bulk
    flows still move.
    not_levels: the values that are not, by their names in `measure`.
    packets: which captured packets it is computed from: those of each flow at its bottleneck
    (`flow`), those of all flows together (`all`), or none.
    from_packets: the values of another metric that are, by their names in `measure`.
    is_own: whether a file defines it (`metric NAME = ...`); then flows are those that it has values
    of; empty: all, or the cell.
    outside_windows: the sub-values that no window of time can limit.
    better: whether more or less of its first value is better for a flow; None: neither, or the
    value is of a whole cell.
    compared: the sub-values that follow from a cell and from its baselines, with the value that
    both have of flows.
    only_compares: whether these are all of its values, so that no cell has any by itself.
    alone: which flows are alone in the baselines, each by itself; None: those that the metric is
    requested of, each name by itself.
    check: yields what is wrong with a request in a configuration, given the flows that it is of;
    its place is added.
    lacks: why the flows that it is requested of have no value in a configuration, by their paths.
    """

    need: Need | None = None
    per_load: bool = False
    over_time: bool = False
    values_over_time: tuple[str, ...] = ()
    course: str = ""
    has_curves: bool = False
    every: Parameter[Quantity] | None = None
    module: str = ""
    of_cell: bool = False
    units: Mapping[str, str] = field(default_factory=dict)
    signed: frozenset[str] = frozenset()
    runs: bool = True
    is_level: bool = False
    not_levels: frozenset[str] = frozenset()
    packets: Literal["flow", "all", "none"] = "none"
    from_packets: frozenset[str] = frozenset()
    outside_windows: frozenset[str] = frozenset()
    is_own: bool = False
    flows: tuple[str, ...] = ()
    better: Literal["more", "less"] | None = None
    compared: Mapping[str, str] = field(default_factory=dict)
    only_compares: bool = False
    alone: Callable[[Flow], bool] | None = None
    check: Callable[[MetricRequest, Sequence[FlowTiming]], Iterable[Diagnostic]] | None = None
    lacks: Lacks | None = None

    @property
    def courses(self) -> tuple[str, ...]:
        """Its names in a `line` over time, the shortest first; none if it is not shown so."""
        if not self.over_time:
            return ()
        return (self.name, f"{self.name}.{self.course}") if self.course else (self.name,)

    @property
    def of_each(self) -> bool:
        """Whether a flow's value is the same whichever other flows are named."""
        return not self.of_cell and all(p.name == "flow" for p in self.parameters if p.repeated)

    @property
    def is_beside(self) -> bool:
        """Whether the names that it is requested of say which flows are alone in baselines."""
        return self.only_compares and self.alone is None

    @property
    def takes_window(self) -> bool:
        """Whether it can be measured in a part of a cell's time."""
        return FROM in self.parameters

    def unit_of(self, value: str) -> str:
        """Return the SI unit of a sub-value by its name; of the first value for an empty one."""
        return self.units.get(value, self.unit)

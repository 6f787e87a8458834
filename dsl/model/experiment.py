"""A configuration with its scenario, and the experiment that yields them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from fairc.dsl.core.diagnostics import Diagnostics
from fairc.dsl.core.source import Source

from .claims import Claim
from .flows import Flow
from .inputs import Input
from .network import Network
from .requests import Axis, FigureRequest, MetricRequest, Precision, Setting


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that one configuration says, resolved.

    stop: `all`: the cell ends when every flow has ended; `first`: when the first one has.
    captures: whether packets are captured at the bottlenecks.
    offload: False (always, so far): no super-packets. processing_ns: a host delays each packet that it
    sends by a random time in [0, processing_ns]; 0: by nothing; None: as the engine needs it.
    syscall_cost_ns: the virtual time of a system call; None: as the engine needs it.
    """

    network: Network
    flows: tuple[Flow, ...]
    duration_ns: int | None
    warmup_ns: int
    deadline_ns: int | None
    stop: Literal["first", "all"]
    captures: Literal["full", "none"] = "full"
    processing_ns: int | None = None
    syscall_cost_ns: int | None = None

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files that it depends on, each once."""
        links = self.network.links
        traces = (way.trace for link in links for way in (link.forward, link.backward))
        read = (file for flow in self.flows for file in flow.workload.inputs)
        return tuple(dict.fromkeys((*(trace.file for trace in traces if trace), *read)))


@dataclass(frozen=True, slots=True)
class Configuration:
    """One point of the sweep.

    bindings: swept name -> value in canonical text, in file order.
    repetitions: the repetitions (from 1) that `exclude` leaves.
    scenario: resolved network and flows.
    """

    bindings: Mapping[str, str]
    repetitions: tuple[int, ...]
    scenario: Scenario


class Count(NamedTuple):
    """Sizes of a grid. unsampled: cells that are not excluded, but that `sample` does not draw."""

    configurations: int
    cells: int
    excluded: int
    unsampled: int


class Experiment(Protocol):
    """A checked experiment; everything but `diagnostics` is the same for ever."""

    @property
    def name(self) -> str:
        """The name behind `experiment`."""
        ...

    @property
    def title(self) -> str:
        """The file's `title`, or an empty text."""
        ...

    @property
    def citation(self) -> str:
        """The file's `source`, or an empty text."""
        ...

    @property
    def deviates(self) -> tuple[str, ...]:
        """What differs from that publication: every `deviates` of the file."""
        ...

    @property
    def file(self) -> Source:
        """The text that it comes from."""
        ...

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What `--set` replaced, by name."""
        ...

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The swept names in file order."""
        ...

    @property
    def repeat(self) -> int:
        """The number of repetitions of each configuration, or the most of them, >= 1."""
        ...

    @property
    def precision(self) -> Precision | None:
        """What ends the repetitions before there are `repeat` of them; None: nothing does."""
        ...

    @property
    def seed(self) -> int:
        """Where all randomness comes from, >= 0."""
        ...

    @property
    def paired(self) -> bool:
        """Whether the losses, too, are the same for every value of the sweep."""
        ...

    @property
    def common(self) -> bool:
        """Whether starts, arrivals, sizes and pauses are the same for every value of the sweep."""
        ...

    @property
    def measure(self) -> tuple[MetricRequest, ...]:
        """The metrics, in file order."""
        ...

    @property
    def figures(self) -> tuple[FigureRequest, ...]:
        """The figures of `report`, in file order."""
        ...

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What the run is to decide, in file order."""
        ...

    @property
    def diagnostics(self) -> Diagnostics:
        """Warnings found so far; making configurations may add to them."""
        ...

    def points(
        self, repetition: int
    ) -> Iterator[tuple[dict[str, str], Callable[[], Configuration]]]:
        """Yield the bindings of every configuration, and what builds it; order as of `configurations`."""
        ...

    def configurations(self, repetition: int = 1) -> Iterator[Configuration]:
        """Yield every configuration that keeps a repetition and is drawn, as they are to be run.

        repetition: `order = shuffled` has another order for each one; else it is file order.
        Equal configurations are yielded once. Raises CompileError.
        """
        ...

    def some(self, most: int) -> Iterator[Configuration]:
        """Yield at most `most` configurations, evenly spread over all. Raises CompileError."""
        ...

    def files(self) -> Mapping[str, bytes]:
        """Return every file that it comes from, by path from the folder of its own file.

        Files that flows and links name are among them once `configurations` has been through.
        """
        ...

    def mentions(self, word: str) -> bool:
        """Whether a word stands anywhere in the texts that it comes from; True if that is unknown."""
        ...

    def count(self) -> Count:
        """Count configurations and cells without building scenarios."""
        ...

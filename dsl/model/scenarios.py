"""A configuration with its scenario, and how many of them there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from fairc.cell.model import OwnKernel

from .flows import Flow
from .network import Hashed, Network
from .requests import Input


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that one configuration defines, resolved.

    stop: `all`: the cell ends when every flow has ended; `first`: when the first one has.
    captures: whether packets are captured at the bottlenecks.
    processing_ns: a host delays each packet that it sends by a random time in [0, processing_ns];
    0: not at all; None: as the engine needs it.
    syscall_cost_ns: the virtual time of a system call; None: as the engine needs it.
    kernel: of the hosts; None: the engine's.
    saves_metrics: whether hosts keep what TCP has learnt of another host for later connections.
    offload: whether TCP leaves its segmentation to its interface.
    hashed: what decides the ways of flows where several are equal; None: all take one.
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
    kernel: OwnKernel | None = None
    saves_metrics: bool = False
    offload: bool = False
    hashed: Hashed | None = None

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files that it depends on, each once."""
        links = self.network.links
        ways = [way for link in links for way in (link.forward, link.backward)]
        followed = [one.file for way in ways for one in way.recordings.all]
        followed += [way.trace.file for way in ways if way.trace]
        read = [file for flow in self.flows for file in flow.workload.inputs]
        drawn = [one for flow in self.flows for one in (flow.random_start, flow.random_rtt) if one]
        drawn += [one for way in ways for event in way.events for one in event.drawn]
        read += [one.file for one in drawn if one.file is not None]
        return tuple(dict.fromkeys((*followed, *read)))


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

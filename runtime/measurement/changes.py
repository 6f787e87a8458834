"""Times at which changes of links were carried out, and what applied when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import Cell, Change, Impairment, Interface, interfaces_of
from fairc.runtime.arrays import Bools, Floats

from .artefacts import Artefacts, field

Place = tuple[str, str]
NS = 1e-9
NEAR_S = 1e-6
"""What passed so close to a change may have met it or not: a change takes the kernel some
nanoseconds, and what is captured has happened a moment before or happens a moment after.
"""


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """A change that was carried out between two times; at_s: when it was due. s after the epoch."""

    at_s: float
    begin_s: float
    end_s: float

    @property
    def late_s(self) -> float:
        """How late it may have come, s."""
        return self.end_s - self.at_s


@dataclass(frozen=True)
class History:
    """The settings that applied at an interface: at first, and from each completed change on."""

    interface: Interface
    done: tuple[tuple[AppliedChange, Change], ...] = ()

    @cached_property
    def _begins(self) -> Floats:
        return np.array([done.begin_s for done, _ in self.done])

    @cached_property
    def _ends(self) -> Floats:
        return np.array([done.end_s for done, _ in self.done])

    @cached_property
    def rates_bps(self) -> list[int]:
        """Rates in bit/s of an interface with a shaper: at first, then from each change on."""
        assert self.interface.shaper is not None, "others have no rate"
        first = self.interface.shaper.rate_bps
        return [first, *(change.rate_bps or first for _, change in self.done)]

    @cached_property
    def _rates(self) -> Floats:
        """Rates in bit/s: at first, then from each change on."""
        if self.interface.shaper is None:
            return np.full(len(self.done) + 1, np.inf)
        return np.array(self.rates_bps, np.float64)

    def stage(self, t_s: Floats) -> NDArray[np.int64]:
        """Return how many changes had been carried out at each time."""
        return np.searchsorted(self._ends, t_s, side="right")

    def grouped(self, t_s: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the indices of times by stage, those of one stage in the order given, and where
        each stage begins among them; shapes (times,) and (stages + 1,). A recording has thousands
        of stages: nothing that is done for each may look at all times.
        """
        stage = self.stage(t_s)
        order = np.argsort(stage, kind="stable")
        return order, np.searchsorted(stage[order], np.arange(len(self.done) + 2))

    def settled(self, t_s: Floats, late_s: float = 0.0) -> Bools:
        """Return at which times it is known what applied: no change was under way within NEAR_S.

        late_s: what is asked about may have happened up to so much later.
        """
        begun = np.searchsorted(self._begins - NEAR_S, t_s + late_s, "right")
        return np.asarray(begun == np.searchsorted(self._ends + NEAR_S, t_s, "right"), np.bool_)

    def rate_bps(self, t_s: Floats) -> Floats:
        """Return the rate at each time, bit/s."""
        rates: Floats = self._rates[self.stage(t_s)]
        return rates

    @property
    def changes_rate(self) -> bool:
        """Whether a change of the rate has been carried out."""
        return any(change.rate_bps is not None for _, change in self.done)

    @cached_property
    def _carried(self) -> tuple[Floats, Floats]:
        """The rate of each stage, bit/s, and what has been carried when each begins, bit; the first
        one begins with the epoch.

        A stop carries as much as its first part alone: a frame that began in it ends with it.
        """
        rest = np.array([False, *(change.is_rest for _, change in self.done)])
        stage = np.maximum.accumulate(np.where(rest, 0, np.arange(len(rest))))
        rates = self._rates[stage]
        begins = np.concatenate(([0.0], self._ends))
        return rates, np.concatenate(([0.0], np.cumsum(np.diff(begins) * rates[:-1])))

    def carried_bits(self, t_s: Floats) -> Floats:
        """Return how much can have been sent from the epoch to each time at the rates in force,
        bit; negative before it.
        """
        rates, carried = self._carried
        stage = self.stage(t_s)
        begins = np.concatenate(([0.0], self._ends))[stage]
        bits: Floats = carried[stage] + rates[stage] * (t_s - begins)
        return bits

    def capacity_bits(self, edges_s: Floats) -> Floats:
        """Return how much can be sent between edges at the rates in force, bit; shape (slots,).

        Where frames are known, `QueueRecord.capacity_bits` counts each at its own rate.
        """
        return np.diff(self.carried_bits(edges_s))

    def is_down(self, t_s: float) -> bool:
        """Return whether it lost every packet at a time."""
        stage = int(self.stage(np.array([t_s]))[0])
        now = self.done[stage - 1][1].impairment if stage else self.interface.impairment
        return now is not None and now.loss >= 1

    def impairments(self) -> Iterator[tuple[int, Impairment | None]]:
        """Yield each stage's number and the impairment of the hop in it."""
        yield 0, self.interface.impairment
        for number, (_, change) in enumerate(self.done, 1):
            yield number, change.impairment


def load(artefacts: Artefacts, cell: Cell) -> dict[Place, History]:
    """Return the history of every interface. Raises ArtefactError."""
    interfaces = interfaces_of(cell)
    done: dict[Place, list[AppliedChange]] = {place: [] for place in interfaces}
    if any(interface.changes for interface in interfaces.values()):
        file = "changes.ndjson"
        for line in artefacts.lines(file):
            place = (str(line.get("node")), str(line.get("interface")))
            times = (field(line, key, file) * NS for key in ("at_ns", "begin_ns", "t_ns"))
            done.setdefault(place, []).append(AppliedChange(*times))
    return {place: _history(interfaces[place], done[place]) for place in interfaces}


def reroutings(artefacts: Artefacts, cell: Cell) -> dict[str, tuple[AppliedChange, ...]]:
    """Return when the routes of each node changed, in order of time. Raises ArtefactError."""
    done: dict[str, list[AppliedChange]] = {
        node.name: [] for node in cell.nodes if node.route_changes
    }
    if done:
        file = "changes.ndjson"
        for line in artefacts.lines(file):
            if line.get("interface") == "":
                times = (field(line, key, file) * NS for key in ("at_ns", "begin_ns", "t_ns"))
                done.setdefault(str(line.get("node")), []).append(AppliedChange(*times))
    return {node: tuple(applied) for node, applied in done.items()}


def _history(interface: Interface, done: list[AppliedChange]) -> History:
    """Combine what was done with what was planned: changes are carried out in order."""
    changes = interface.changes
    return History(
        interface,
        tuple((one, changes[number % len(changes)]) for number, one in enumerate(done) if changes),
    )


def due(histories: Mapping[Place, History], until_s: float) -> Iterator[tuple[Place, float]]:
    """Yield the changes, by place and time, that were due before a time and not carried out."""
    for place, history in sorted(histories.items()):
        changes, repeat_ns = history.interface.changes, history.interface.repeat_ns
        number = len(history.done)
        if not changes or (repeat_ns is None and number >= len(changes)):
            continue
        rounds, which = divmod(number, len(changes))
        at_s = (changes[which].at_ns + rounds * (repeat_ns or 0)) * NS
        if at_s < until_s:
            yield place, at_s

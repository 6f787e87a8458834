"""The background of figures over time: the warm-up, outages, and changes as declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count

from fairc.compiler.plan import Cell, Impairment, Interface, interfaces_of
from fairc.dsl.model.names import label_of
from fairc.runtime.engines.entering import AFTER_NS, awaited

from .run import Configuration, Run

NS = 1e9
MOST_STEPS = 20
"""More changes of one thing are a recording, which is a course of its own and not marked."""


@dataclass(frozen=True, slots=True)
class Backdrop:
    """Times of a cell, s after the epoch.

    warmup_s: what metrics leave out, from 0. outages: when a link is down: begin and end. steps:
    when a link, its impairment or a route changes.
    """

    warmup_s: float = 0.0
    outages: tuple[tuple[float, float], ...] = ()
    steps: tuple[float, ...] = ()


NOTHING = Backdrop()


def backdrop(run: Run, configuration: Configuration) -> Backdrop:
    """Return the backdrop of a configuration, until the end of its longest cell."""
    scene = run.scenes[configuration.id]
    rows = run.rows("SELECT max(virtual_s) FROM cells WHERE configuration = ?", [configuration.id])
    until_s = rows[0][0] or 0.0
    outages: set[tuple[float, float]] = set()
    steps: set[float] = set()
    for interface in interfaces_of(scene).values():
        found = list(_outages(interface, until_s))
        outages.update(found)
        ends = {t for outage in found for t in outage}
        for of in _steps(interface, until_s):
            steps.update(t for t in of if len(of) <= MOST_STEPS and t not in ends)
    steps |= {t for t in (*_reroutings(scene), *_entries(run, configuration)) if t < until_s}
    return Backdrop(scene.warmup_ns / NS, tuple(sorted(outages)), tuple(sorted(steps)))


def explained(backdrops: Iterable[Backdrop]) -> str:
    """Say what is marked, for the end of a caption; empty: nothing."""
    every = list(backdrops)
    text = " Shaded: the warm-up." if any(b.warmup_s for b in every) else ""
    if any(b.outages for b in every):
        text += " Grey bars: a link is down."
    if any(b.steps for b in every):
        text += " Dotted: the network changes as declared."
    return text


def _changes(interface: Interface, until_s: float) -> Iterator[tuple[float, int | Impairment]]:
    """Yield when what holds from then on, also of later periods."""
    for turn in count():
        start_ns = turn * (interface.repeat_ns or 0)
        for change in interface.changes:
            if change.entering is not None:
                continue  # `_entries` has it: it comes as the flow of each cell does
            if (t := (start_ns + change.at_ns) / NS) < until_s and not change.is_rest:
                yield t, change.in_force
        if not interface.repeat_ns or start_ns / NS >= until_s:
            return


def _outages(interface: Interface, until_s: float) -> Iterator[tuple[float, float]]:
    """Yield from when until when all is lost."""
    begin = None
    for t, what in _changes(interface, until_s):
        if isinstance(what, Impairment):
            if what.loss == 1 and begin is None:
                begin = t
            elif what.loss < 1 and begin is not None:
                yield begin, t
                begin = None
    if begin is not None:
        yield begin, until_s


def _steps(interface: Interface, until_s: float) -> Iterator[list[float]]:
    """Yield the times of changes of the rate, and of the impairment apart from its outages."""
    rate = interface.shaper.rate_bps if interface.shaper else 0
    before = interface.impairment
    rates, impairments = list[float](), list[float]()
    for t, what in _changes(interface, until_s):
        if not isinstance(what, Impairment):
            if what != rate:
                rates.append(t)
            rate = what
        elif what.loss < 1:
            if before is None or replace(what, seed=before.seed) != before:
                impairments.append(t)
            before = what
    yield from (rates, impairments)


def _entries(run: Run, configuration: Configuration) -> set[float]:
    """Return when links changed upon states of flows, by these flows' logs, where they are few."""
    scene = run.scenes[configuration.id]
    names = {flow.name: label_of(flow) for flow in scene.flows}
    times: set[float] = set()
    for entering, from_ns in awaited(scene):
        found = run.rows(
            "SELECT min(t_s) FROM models JOIN cells USING (cell)"
            " WHERE configuration = ? AND flow = ? AND state = ? AND t_s >= ? GROUP BY cell",
            [configuration.id, names.get(entering.flow), entering.state, from_ns / NS],
        )
        times.update(entry_s + AFTER_NS / NS for (entry_s,) in found)
    return times if len(times) <= MOST_STEPS else set()


def _reroutings(scene: Cell) -> set[float]:
    """Return when routes change, where they are few."""
    times = {change.at_ns / NS for node in scene.nodes for change in node.route_changes}
    return times if len(times) <= MOST_STEPS else set()

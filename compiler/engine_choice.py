"""The choice of an engine: what each lacks, and the fastest one that can run every cell.

The plan alone decides, not the machine on which it is compiled, nor `--where`, nor which cells
are missing. So an experiment has one engine wherever it is run, and its header records it. An
engine itself reports what a machine lacks for it when it prepares to run there.

A word of the language that an engine cannot run is a `Feature` that it lacks (`engines`), and what
requires it yields a `Requirement`: nothing else compares names of engines. (No word of the language
says yet that the hosts' processors matter.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from fairc.cell.devices import Device
from fairc.cell.links import Impairment
from fairc.cell.medium import Medium, Repair
from fairc.cell.workloads import BROWSER as BROWSER_PROGRAM
from fairc.dsl import model
from fairc.dsl.core.diagnostics import CompileError, Diagnostic
from fairc.dsl.core.features import Feature
from fairc.dsl.core.problems import fail
from fairc.mechanisms.links.registry import LINKS
from fairc.mechanisms.queues.registry import QUEUES

from .engines import (
    BPF,
    BROWSER,
    ENTERING,
    IMAGE,
    MODULE,
    MPTCP,
    OWN_CODE,
    OWN_KERNEL,
    PARAMETERS,
    SPINNING,
    SYSCALL_COST,
    WIFI_JITTER,
    profile,
)
from .plan import Cell, Flow, Interface

VIRTUAL_TIME = ("uml", "vm")
"""The engines that are chosen automatically, the fastest first."""

CHOICES = (*VIRTUAL_TIME, "docker")
"""No real-time engine is chosen by default, except for images, which no other engine can run.

Every other engine must be requested by name, whatever a plan from somebody else says: `mininet`
runs as root on this machine's kernel, and what a plug-in does is unknown here.
"""

KERNEL = ("tcp", "web")
"""Transports whose CCA is the kernel's."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A feature that a flow, a pair of proxies or the hosts require.

    who: its name in messages. line: of the file, or 0. image: the container image, if that is it.
    """

    who: str
    line: int
    feature: Feature
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why an engine cannot run something: it lacks a feature that is required."""

    engine: str
    requirement: Requirement

    def __str__(self) -> str:
        """Return it as a sentence without the full stop."""
        needs = self.requirement
        does = needs.feature.does.format(image=needs.image)
        where = f" (line {needs.line})" if needs.line else ""
        return f"{needs.who} {does}{where}, which {self.engine} cannot {needs.feature.cannot}"


CONCERN = {"fast-link": ("vm",), "early-marks": ("vm", "mininet", "docker")}
"""Codes of warnings that concern some engines alone: whose processor is emulated; whose kernel
leaves the time of departure on a packet that is forwarded.
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine of an experiment, and why each engine preferred to it cannot run it."""

    engine: str
    reasons: tuple[Reason, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The reasons as sentences; one that applies to several engines is given once."""
        engines: dict[Requirement, list[str]] = {}
        for reason in self.reasons:
            engines.setdefault(reason.requirement, []).append(reason.engine)
        return tuple(str(Reason(" and ".join(e), needs)) for needs, e in engines.items())


def of_cell(cell: Cell) -> Iterator[Requirement]:
    """Yield what the flows, proxies and hosts of a cell require."""
    for flow in cell.flows:
        yield from _of_flow(flow, _line(flow))
    if cell.syscall_cost_ns is not None:
        yield Requirement("the hosts", 0, SYSCALL_COST)
    if cell.kernel is not None:
        yield Requirement("the hosts", 0, OWN_KERNEL)
    for device in cell.devices:
        if any(device.ccas.values()):
            yield Requirement(f"{device.kind} `{device.name}`", _line(device), PARAMETERS)
    for node in cell.nodes:
        for interface in node.interfaces:
            if interface.queue is not None and interface.queue.own_module is not None:
                yield Requirement(f"the queue of `{node.name}`", _line(interface), MODULE)
            if any(change.entering for change in interface.changes):
                yield Requirement(f"a link of `{node.name}`", _line(interface), ENTERING)
            medium = None if interface.shaper is None else interface.shaper.medium
            states = (interface.impairment, *(each.impairment for each in interface.changes))
            if any(map(_is_wifi, states)):
                yield Requirement(f"a link of `{node.name}`", _line(interface), WIFI_JITTER)
            repair = None if interface.impairment is None else interface.impairment.repair
            yield from _of_link(node.name, medium, repair, _line(interface))


def of_scenario(scenario: model.Scenario) -> Iterator[Requirement]:
    """Yield the same before anything has been lowered; proxies count even where they split
    nothing.
    """
    for flow in scenario.flows:
        yield from _of_flow(flow, flow.span.line)
    if scenario.syscall_cost_ns is not None:
        yield Requirement("the hosts", 0, SYSCALL_COST)
    if scenario.kernel is not None:
        yield Requirement("the hosts", 0, OWN_KERNEL)
    for pair in scenario.network.proxies:
        if pair.cca_parameters:
            yield Requirement(f"{pair.kind} `{pair.name}`", pair.span.line, PARAMETERS)
    for link in scenario.network.links:
        for node, way in ((link.a, link.forward), (link.b, link.backward)):
            line = 0 if way.span.source.name.startswith("<") else way.span.line  # `<preset geo>`
            if QUEUES[way.queue.kind].is_module:
                yield Requirement(f"the queue of `{node}`", line, MODULE)
            if any(event.entering for event in way.events):
                yield Requirement(f"a link of `{node}`", line, ENTERING)
            events = (event.jitter for event in way.events)
            if _is_wifi(way.impairment) or any(each and each[1] == "wifi" for each in events):
                yield Requirement(f"a link of `{node}`", line, WIFI_JITTER)
            yield from _of_link(node, way.planned_medium, way.impairment.repair, line)


def _of_flow(flow: Flow | model.Flow, line: int) -> Iterator[Requirement]:
    who = f"flow `{flow.declared or flow.name}`"
    workload = flow.workload if isinstance(flow, Flow) else flow.workload.part
    if flow.cca_object is not None:
        yield Requirement(who, line, BPF)
    if flow.cca_module is not None:
        yield Requirement(who, line, MODULE)
    if flow.image is not None and workload.own_code is None:
        yield Requirement(who, line, IMAGE, flow.image)
    if BROWSER_PROGRAM in workload.programs:
        yield Requirement(who, line, BROWSER)
    if flow.transport in KERNEL and flow.cca_parameters:
        yield Requirement(who, line, PARAMETERS)
    if workload.own_code is not None:
        yield Requirement(who, line, OWN_CODE)
    if workload.spins(flow.transport):
        yield Requirement(who, line, SPINNING)
    if flow.subflows if isinstance(flow, Flow) else flow.multipath is not None:
        yield Requirement(who, line, MPTCP)


def _is_wifi(state: Impairment | None) -> bool:
    return state is not None and state.jitter_distribution == "wifi"


def _of_link(
    node: str, medium: Medium | None, repair: Repair | None, line: int
) -> Iterator[Requirement]:
    for each in LINKS:
        for feature in each.required(medium, repair):
            yield Requirement(f"a link of `{node}`", line, feature)


def cannot(engine: str, required: Iterable[Requirement]) -> list[Reason]:
    """Return why an engine cannot do what is required, each reason once."""
    lacks = profile(engine).lacks
    return [Reason(engine, each) for each in dict.fromkeys(required) if each.feature in lacks]


def may_matter(engine: str | None, mentions: Callable[[str], bool]) -> bool:
    """Whether the choice can depend on what flows require, as far as their texts show.

    engine: the requested one, or None. mentions: whether a word occurs in any of the texts. If the
    choice cannot depend on it, a grid of millions of configurations need not be examined.
    """
    if engine is None:
        looked_at = [CHOICES[0]]
    else:
        looked_at = [*CHOICES[: CHOICES.index(engine) if engine in CHOICES else 0], engine]
    lacking = (feature for name in looked_at for feature in profile(name).lacks)
    return any(not feature.word or mentions(feature.word) for feature in lacking)


def choose(required: Iterable[Requirement]) -> Choice:
    """Return the first engine of `CHOICES` that can do everything.

    Raises CompileError if none can.
    """
    everything = tuple(required)
    reasons: list[Reason] = []
    for engine in CHOICES:
        against = cannot(engine, everything)
        if not against:
            return Choice(engine, tuple(reasons))
        reasons.extend(against)
    raise CompileError(
        [
            Diagnostic(
                code="no-engine",
                message="no engine can run every cell of this experiment",
                notes=tuple(map(str, reasons)),
                help=f"it runs {_changed(reasons)}; or split it into several experiments",
            )
        ]
    )


def _changed(reasons: Iterable[Reason]) -> str:
    """Say how an experiment would have to change for each engine that cannot run it, but for those
    for which it would have to change as for an earlier one, or more than for another one.
    """
    found: dict[str, dict[str, None]] = {}
    for each in reasons:
        found.setdefault(each.engine, {})[each.requirement.feature.instead] = None
    first = {frozenset(ways): engine for engine, ways in reversed(found.items())}
    return ", or ".join(
        f"on {engine} {' and '.join(ways)}"
        for engine, ways in found.items()
        if first[frozenset(ways)] == engine and not any(other < ways.keys() for other in first)
    )


def chosen_anyway(engine: str, required: Iterable[Requirement]) -> bool:
    """Whether an engine is the one chosen by default."""
    try:
        return choose(required).engine == engine
    except CompileError:
        return False


def given(engine: str, required: Iterable[Requirement]) -> Choice:
    """Return the requested engine, and why each engine preferred to it cannot run this.

    Raises CompileError if it cannot run everything.
    """
    everything = tuple(required)
    if against := cannot(engine, everything):
        raise CompileError([refusal(engine, against)])
    if engine not in CHOICES:
        return Choice(engine)
    before = [cannot(other, everything) for other in CHOICES[: CHOICES.index(engine)]]
    # If one of them could, the user chose the engine, and nothing in the file is the reason for it.
    return Choice(engine, tuple(r for found in before for r in found) if all(before) else ())


def refusal(engine: str, reasons: Iterable[Reason]) -> Diagnostic:
    """Describe why a requested engine cannot run an experiment."""
    found = tuple(reasons)
    needed = [reason.requirement for reason in found]
    images = sorted({f"`{needs.image}`" for needs in needed if needs.image})
    if images:
        return Diagnostic(
            code="engine-cannot",
            message=f"the engine {engine} cannot run images: {', '.join(images)}",
            notes=tuple(map(str, found)),
            help="`--engine docker --allow-image` runs them in containers",
        )
    return Diagnostic(
        code="engine-cannot",
        message=f"the engine {engine} cannot run every cell of this experiment",
        notes=tuple(map(str, found)),
        help="without `--engine`, the fastest engine that can is chosen",
    )


def refuse_target(target: str, engine: str, cell: Cell) -> None:
    """Raise CompileError for a cell that a target's programs cannot run: they can do what `engine`
    can. Images are the target's own to refuse.
    """
    against = [
        reason
        for reason in cannot(engine, of_cell(cell))
        if reason.requirement.feature is not IMAGE
    ]
    if against:
        fail(
            "engine-cannot",
            f"programs of the target {target} cannot run every cell of this experiment",
            notes=tuple(map(str, against)),
            help="`fairc run` runs them on an engine that can; `--target json` writes the plan"
            " alone",
        )


def _line(part: Flow | Device | Interface) -> int:
    """Return the line of a part's `source` (`file:line`), or 0; 0 also for a preset's."""
    line = part.source.rpartition(":")[2]
    return int(line) if line.isdecimal() and not part.source.startswith("<") else 0

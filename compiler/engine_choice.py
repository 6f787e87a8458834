"""Which engine runs an experiment: what each cannot run, and the fastest that can run every cell.

The plan alone decides, not the machine on which it is compiled, nor `--where`, nor which cells
are missing. So an experiment has one engine wherever it is run, and its header records it. An
engine itself reports what a machine lacks for it when it prepares to run there.

A word of the language that an engine cannot run is a field of `Requirements` and a `Limit` of
that engine: nothing else compares names of engines. (No word of the language says yet that the
hosts' processors matter.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from fairc.cell.workloads import BROWSER as BROWSER_PROGRAM
from fairc.cell.workloads import IPERF3 as IPERF3_PROGRAM
from fairc.dsl import model
from fairc.dsl.core.diagnostics import CompileError, Diagnostic
from fairc.words.queues import QUEUES

from .plan import Cell, Flow, Interface, Pep

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
class Requirements:
    """What a flow, a pair of proxies or a link requires that not every engine has.

    who: its name in messages. line: of the file, or 0. bpf: whether its CCA is a BPF program.
    image: the container image that it runs. browser: whether it loads pages in a browser.
    parameters: whether its CCA has parameters that are those of a whole kernel. iperf3: whether it
    runs that program. syscall_cost: whether system calls take a virtual time of their own.
    queue: the discipline of a link's queue, where not every engine's kernel has it.
    """

    who: str
    line: int
    bpf: bool = False
    image: str | None = None
    browser: bool = False
    parameters: bool = False
    iperf3: bool = False
    syscall_cost: bool = False
    queue: str = ""

    @property
    def special(self) -> bool:
        """Whether it requires anything of the engine."""
        return (
            self.bpf
            or self.image is not None
            or self.browser
            or self.parameters
            or self.iperf3
            or self.syscall_cost
            or bool(self.queue)
        )


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an engine cannot run something: what requires it, what it does, what the engine lacks.

    image: the container image, if that is why.
    """

    engine: str
    who: str
    does: str
    line: int
    cannot: str
    image: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """Return it as a sentence without the full stop."""
        where = f" (line {self.line})" if self.line else ""
        return f"{self.who} {self.does}{where}, which {self.engine} cannot {self.cannot}"


@dataclass(frozen=True, slots=True)
class Limit:
    """Something that an engine cannot do: what it is, when it is required, how to report it.

    word: of the language, without which nothing asks for it; empty where no single word does.
    """

    what: str
    word: str
    asked: Callable[[Requirements], bool]
    does: str
    cannot: str

    def against(self, engine: str, asks: Requirements) -> Reason | None:
        """Return why the engine cannot do what is required, or None."""
        if not self.asked(asks):
            return None
        does = self.does.format(image=asks.image)
        return Reason(engine, asks.who, does, asks.line, self.cannot, asks.image)


IPERF3 = Limit(
    "iperf3",
    "iperf3",
    lambda asks: asks.iperf3,
    "runs iperf3",
    "run (its threads wait for a clock that stands still while they compute)",
)
BPF = Limit(
    "CCAs in BPF",
    "bpf",
    lambda asks: asks.bpf,
    "uses a BPF congestion controller",
    "load",
)
IMAGE = Limit(
    "third-party images",
    "image",
    lambda asks: asks.image is not None,
    "runs the image `{image}`",
    "run",
)
BROWSER = Limit(
    "loads in a browser",
    "chromium",
    lambda asks: asks.browser,
    "loads pages in a browser",
    "start",
)
PARAMETERS = Limit(
    "parameters of the kernel's CCAs",
    "",
    lambda asks: asks.parameters,
    "sets parameters of its CCA for the whole kernel",
    "do",
)
SYSCALL_COST = Limit(
    "`syscall_cost`",
    "syscall_cost",
    lambda asks: asks.syscall_cost,
    "set `syscall_cost`",
    "do (computing takes its own time there)",
)


def _has_queue(name: str, asks: Requirements) -> bool:
    return asks.queue == name


QUEUES_BEYOND_DEBIAN = tuple(
    Limit(
        queue.name,
        queue.name,
        partial(_has_queue, queue.name),
        f"has the queue `{queue.name}`",
        "offer (Debian's kernel is built without it)",
    )
    for queue in QUEUES
    if not queue.in_debian
)

LIMITS: dict[str, tuple[Limit, ...]] = {
    "uml": (BPF, IMAGE, IPERF3),
    "vm": (IMAGE, SYSCALL_COST, *QUEUES_BEYOND_DEBIAN),
    "mininet": (IMAGE, SYSCALL_COST),
    "docker": (BPF, BROWSER, PARAMETERS, SYSCALL_COST),
}
"""What engines cannot do. One that is not named here can do everything."""

CONCERN = {"fast-link": "vm"}
"""Codes of warnings that concern one engine alone: only there is the processor emulated."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine of an experiment, and why each engine preferred to it cannot run it."""

    engine: str
    reasons: tuple[Reason, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The reasons as sentences; one that applies to several engines is given once."""
        engines: dict[Reason, list[str]] = {}
        for reason in self.reasons:
            engines.setdefault(replace(reason, engine=""), []).append(reason.engine)
        return tuple(str(replace(r, engine=" and ".join(e))) for r, e in engines.items())


def of_cell(cell: Cell) -> Iterator[Requirements]:
    """Yield what the flows, proxies and links of a cell require."""
    for flow in cell.flows:
        yield _of_flow(flow, _line(flow), flow.cca_object is not None)
    if cell.syscall_cost_ns is not None:
        yield Requirements("the hosts", 0, syscall_cost=True)
    for pep in cell.peps:
        yield _of_pep(pep, _line(pep))
    for node in cell.nodes:
        for interface in node.interfaces:
            if interface.queue is not None:
                yield from _of_queue(node.name, interface.queue.kind, _line(interface))


def of_scenario(scenario: model.Scenario) -> Iterator[Requirements]:
    """Yield the same before anything has been lowered; proxies count even where they split
    nothing.
    """
    for flow in scenario.flows:
        yield _of_flow(flow, flow.span.line, flow.own_cca is not None)
    if scenario.syscall_cost_ns is not None:
        yield Requirements("the hosts", 0, syscall_cost=True)
    for pep in scenario.network.peps:
        yield _of_pep(pep, pep.span.line)
    for link in scenario.network.links:
        for node, way in ((link.a, link.forward), (link.b, link.backward)):
            yield from _of_queue(node, way.queue.kind, way.span.line)


def _of_flow(flow: Flow | model.Flow, line: int, bpf: bool) -> Requirements:
    programs = flow.workload.programs
    return Requirements(
        f"flow `{flow.declared or flow.name}`",
        line,
        bpf,
        flow.image,
        BROWSER_PROGRAM in programs,
        bool(flow.transport in KERNEL and flow.cca_parameters),
        IPERF3_PROGRAM in programs,
    )


def _of_pep(pep: Pep | model.Pep, line: int) -> Requirements:
    return Requirements(f"pep `{pep.name}`", line, parameters=bool(pep.cca_parameters))


def _of_queue(node: str, kind: str, line: int) -> Iterator[Requirements]:
    if kind in QUEUES and not QUEUES[kind].in_debian:
        yield Requirements(f"a link of `{node}`", line, queue=kind)


def cannot(engine: str, asked: Iterable[Requirements]) -> Iterator[Reason]:
    """Yield why an engine cannot do what is required, each reason once."""
    seen: set[Reason] = set()
    for asks in asked:
        for limit in LIMITS.get(engine, ()):
            reason = limit.against(engine, asks)
            if reason is not None and reason not in seen:
                seen.add(reason)
                yield reason


def may_matter(engine: str | None, mentions: Callable[[str], bool]) -> bool:
    """Whether the choice can depend on what flows require, as far as their texts show.

    engine: the requested one, or None. mentions: whether a word occurs in any of the texts. If the
    choice cannot depend on it, a grid of millions of configurations need not be examined.
    """
    if engine is None:
        looked_at = [CHOICES[0]]
    else:
        looked_at = [*CHOICES[: CHOICES.index(engine) if engine in CHOICES else 0], engine]
    limits = (limit for name in looked_at for limit in LIMITS.get(name, ()))
    return any(not limit.word or mentions(limit.word) for limit in limits)


def choose(asked: Iterable[Requirements]) -> Choice:
    """Return the first engine of `CHOICES` that can do everything.

    Raises CompileError if none can.
    """
    everything = tuple(asked)
    reasons: list[Reason] = []
    for engine in CHOICES:
        against = tuple(cannot(engine, everything))
        if not against:
            return Choice(engine, tuple(reasons))
        reasons.extend(against)
    raise CompileError(
        [
            Diagnostic(
                code="no-engine",
                message="no engine can run every cell of this experiment",
                notes=tuple(map(str, reasons)),
                help="split it into several experiments",
            )
        ]
    )


def chosen_anyway(engine: str, asked: Iterable[Requirements]) -> bool:
    """Whether an engine is the one chosen by default."""
    try:
        return choose(asked).engine == engine
    except CompileError:
        return False


def given(engine: str, asked: Iterable[Requirements]) -> Choice:
    """Return the requested engine, and why each engine preferred to it cannot run this.

    Raises CompileError if it cannot run everything.
    """
    everything = tuple(asked)
    if against := tuple(cannot(engine, everything)):
        raise CompileError([refusal(engine, against)])
    if engine not in CHOICES:
        return Choice(engine)
    before = [tuple(cannot(other, everything)) for other in CHOICES[: CHOICES.index(engine)]]
    # If one of them could, the user chose the engine, and nothing in the file is the reason for it.
    return Choice(engine, tuple(r for found in before for r in found) if all(before) else ())


def refusal(engine: str, reasons: Iterable[Reason]) -> Diagnostic:
    """Describe why a requested engine cannot run an experiment."""
    found = tuple(reasons)
    images = sorted({f"`{reason.image}`" for reason in found if reason.image})
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


def _line(part: Flow | Pep | Interface) -> int:
    """Return the line of a part's `source` (`file:line`), or 0."""
    line = part.source.rpartition(":")[2]
    return int(line) if line.isdecimal() else 0

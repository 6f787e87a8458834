"""Experiments built by hand: what the compiler takes, without the language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import pytest

from fairc.compiler import Cell, compile
from fairc.compiler.cells.lowering import Lowering
from fairc.compiler.passes.report import Report
from fairc.compiler.plan import Axis, FigureRequest, Impairment, Precision
from fairc.dsl.core.diagnostics import Diagnostic, Diagnostics
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.units import BDP, DATA, PACKETS, TIME
from fairc.dsl.core.values import Quantity, Size
from fairc.dsl.experiment import Experiment
from fairc.dsl.model import (
    Configuration,
    Count,
    Direction,
    Flow,
    Link,
    MetricRequest,
    Network,
    Node,
    Queue,
    Scenario,
    Transmit,
    Workload,
)
from fairc.dsl.model.requests import Requests
from fairc.mechanisms.workloads.file.cell import FileWorkload

TEXT = "".join(f"line {number}\n" for number in range(1, 100))
SOURCE = Source("made-by-hand.fexp", TEXT)


def span(line: int, width: int = 4) -> Span:
    """A span on a line of the made-up file."""
    start = TEXT.index(f"line {line}\n")
    return Span(SOURCE, start, start + width)


def size(amount: float | Fraction, unit: Any = "pkt", line: int = 9) -> Size:
    dimension = {"B": DATA, "pkt": PACKETS, "bdp": BDP, "s": TIME}[unit]
    number = Fraction(amount) * (8 if dimension == DATA else 1)
    return Quantity(number, dimension, span(line, 6))


def way(
    rate_bps: int | None = None,
    delay_ms: float = 0,
    loss: float = 0.0,
    queue: Size | None = None,
    line: int = 8,
    transmit: Transmit = "frames",
) -> Direction:
    """One direction of a link; the default queue carries the span of its direction."""
    place = span(line)
    given = Queue("fifo", queue, queue.span) if queue else Queue("fifo", size(1000), place)
    delay_ns = int(delay_ms * 1e6)
    impairment = Impairment(delay_ns=delay_ns, loss=loss)
    return Direction(rate_bps, impairment, given, place, transmit=transmit)


def link(a: str, b: str, forward: Direction, backward: Direction | None = None) -> Link:
    return Link(a, b, forward, backward or replace(forward), span(8))


def network(hosts: Sequence[str], routers: Sequence[str], links: Sequence[Link]) -> Network:
    nodes = [Node(name, "host", span(6)) for name in hosts]
    nodes += [Node(name, "router", span(7)) for name in routers]
    return Network(tuple(nodes), tuple(links), span(5))


def flow(
    name: str,
    server: str = "s1",
    client: str = "c1",
    *,
    cca: str = "cubic",
    workload: Workload | None = None,
    connections: int = 1,
    start_ns: int | None = None,
    stop_ns: int | None = None,
    line: int = 10,
) -> Flow:
    return Flow(
        name=name,
        server=server,
        client=client,
        connections=connections,
        cca=cca,
        workload=workload or Workload(FileWorkload(bytes=10_000_000)),
        start_ns=start_ns,
        stop_ns=stop_ns,
        span=span(line),
    )


def scenario(net: Network, flows: Sequence[Flow], **settings: Any) -> Scenario:
    defaults: dict[str, Any] = {
        "duration_ns": None,
        "warmup_ns": 0,
        "deadline_ns": None,
        "stop": "all",
    }
    return Scenario(net, tuple(flows), **(defaults | settings))


def dumbbell(
    rate_bps: int | None = 1_000_000,
    rtt_ms: float = 50,
    loss: float = 0.0,
    queue: Size | None = None,
    flows: int = 2,
    transmit: Transmit = "frames",
) -> Network:
    """Servers s1.. and clients c1.. on both sides of one slow link, its delay half each way."""
    access = way(max(100_000_000, 10 * (rate_bps or 0)), transmit=transmit)
    hosts = [f"{side}{n}" for n in range(1, flows + 1) for side in "sc"]
    links = [link(f"s{n}", "r1", access) for n in range(1, flows + 1)]
    links += [link(f"c{n}", "r2", access) for n in range(1, flows + 1)]
    slow = way(rate_bps, rtt_ms / 2, loss, queue or size(2, "bdp"), transmit=transmit)
    links.append(link("r1", "r2", slow, way(rate_bps, rtt_ms / 2, transmit=transmit)))
    return network(hosts, ["r1", "r2"], links)


def quickstart(**options: Any) -> Scenario:
    """The network and the flows of examples/quickstart.fexp."""
    flows = [flow("cubic"), flow("bbr", "s2", "c2", cca="bbr", line=11)]
    return scenario(dumbbell(**options), flows)


@dataclass(frozen=True)
class MadeExperiment(Experiment):
    """An experiment whose configurations are given."""

    name: str = "made"
    title: str = "Made by hand"
    citation: str = ""
    file: Source = SOURCE
    axes: tuple[Axis, ...] = ()
    repeat: int = 1
    precision: Precision | None = None
    seed: int = 1
    paired: bool = False
    common: bool = True
    is_shuffled: bool = False
    requests: Requests = field(
        default_factory=lambda: Requests(measure=(MetricRequest(name="goodput"),))
    )
    measured_at: Mapping[str, Span] = field(default_factory=lambda: {"goodput": span(5)})
    figures: tuple[FigureRequest, ...] = ()
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    grid: Any = None
    builder: Any = None
    texts: frozenset[str] = frozenset()
    made: Sequence[Configuration] = ()

    def points(
        self, repetition: int
    ) -> Iterator[tuple[dict[str, str], Callable[[], Configuration]]]:
        for made in self.made:
            yield dict(made.bindings), repeat(made).__next__

    def some(self, most: int) -> Iterator[Configuration]:
        yield from self.made[:: -(-len(self.made) // most)]

    def mentions(self, word: str) -> bool:
        return True

    def count(self) -> Count:
        return Count(len(self.made), sum(len(c.repetitions) for c in self.made), 0, 0)


def experiment(*scenarios: Scenario, repeat: int = 1, **options: Any) -> MadeExperiment:
    """An experiment with one configuration per scenario, told apart by the axis `n`."""
    repetitions = tuple(range(1, repeat + 1))
    bindings = [{"n": str(n)} if len(scenarios) > 1 else {} for n in range(len(scenarios))]
    made = [Configuration(b, repetitions, s) for b, s in zip(bindings, scenarios, strict=True)]
    axes = (Axis(name="n", values=tuple(b["n"] for b in bindings)),) if len(scenarios) > 1 else ()
    return MadeExperiment(made=made, axes=axes, repeat=repeat, **options)


def cell(made: Scenario, **options: Any) -> Cell:
    """The only cell of an experiment with one configuration; no errors."""
    cells = list(compile(experiment(made, **options)).cells())
    assert len(cells) == 1
    return cells[0]


def found(made: Scenario) -> dict[str, Diagnostic]:
    """What the passes report about a scenario, the first of each code."""
    reported: list[Diagnostic] = []
    Lowering(experiment(made), Report(reported.append))(Configuration({}, (1,), made), 1)
    return {diagnostic.code: diagnostic for diagnostic in reversed(reported)}


BUILDERS: tuple[Callable[..., Any], ...] = (
    span,
    size,
    way,
    link,
    network,
    flow,
    scenario,
    dumbbell,
    quickstart,
    experiment,
    cell,
    found,
)


@pytest.fixture
def make() -> SimpleNamespace:
    """What builds experiments by hand."""
    return SimpleNamespace(**{builder.__name__: builder for builder in BUILDERS})

"""A description of the run in sentences, and the validity of its cells: from the plan and the
verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fairc.compiler.plan import Cell, Flow, Impairment, Interface, Queue, interfaces_of
from fairc.dsl.model.names import label_of, statement_of
from fairc.mechanisms.workloads.registry import WORKLOADS
from fairc.runtime.engines import ENGINES
from fairc.runtime.formatting import between, count, counted, listed, one_line, quantity
from fairc.runtime.repetitions.remarks import remarks

from .links import named
from .run import Run
from .sheet import Sheet, section_table

VERDICTS = {
    "valid": "the set-up was as specified",
    "flagged": "a remark on the set-up; still counts",
    "invalid": "the set-up was not as specified; shown, but left out of summaries",
    "failed": "did not finish; no numbers",
}

SHOWN_REASONS = 3
SHOWN_ALTERNATIVES = 3


def headline(run: Run) -> str:
    """Describe the run in a sentence, and what ran it."""
    return f"{setup(run)}. {_engines(run)}"


def setup(run: Run) -> str:
    """Describe the run: network, flows, sweep, repetitions."""
    scenes = [run.scenes[c.id] for c in run.configurations if c.id in run.scenes]
    plan = run.plan
    flows = _flows(run, scenes)
    network = _several([_network(s) for s in scenes], _ranges(scenes))
    ends = plan.precision
    most = counted(plan.repeat, "repetition")
    size = [f"{ends.least} to {most}" if ends else most]
    if plan.axes:
        size.insert(0, counted(plan.configurations, "configuration"))
    number = _numbered({len(s.flows) for s in scenes}, "flow")
    cells = f"{counted(plan.compared, 'cell')} {'at most' if ends else 'in all'}"
    if plan.baselines:
        cells += f", beside {counted(plan.baselines, 'baseline')} without other flows"
    text = f"{number} over {network}: {flows}. {listed(size)}, {cells}"
    if plan.excluded:
        text += f" ({plan.excluded} excluded)"
    there = sum(len(c.outcomes) for c in run.configurations)
    if there < plan.compared:
        text += f", of which {counted(there, 'cell')} {'has' if there == 1 else 'have'} been run"
    swept = [f"{one_line(a.name)} ({listed([*map(one_line, a.values)])})" for a in plan.axes]
    return f"{text}. Swept: {'; '.join(swept)}" if swept else text


def _engines(run: Run) -> str:
    """Name the engine of the cells, and what in the file required it instead of a faster one.

    The engine's own summary distinguishes measured from invented results.
    """
    summaries = {kind.name: kind.summary for kind in ENGINES}
    used = [name for (name,) in run.rows("SELECT DISTINCT engine FROM cells ORDER BY ALL")]
    described = [f"{name} ({summaries[name]})" if name in summaries else name for name in used]
    reasons = [one_line(reason) for reason in run.plan.engine_reasons]
    why = [f" {reason[:1].upper()}{reason[1:]}." for reason in reasons[:SHOWN_REASONS]]
    if (hidden := len(reasons) - SHOWN_REASONS) > 0:
        why.append(f" And {hidden} more, in plan.json.")
    engines = f"Engine: {listed(described)}." if described else f"Engine: {run.plan.engine}."
    return f"{engines}{''.join(why)}"


def _several(texts: Iterable[str], otherwise: str) -> str:
    """Return the text when all configurations share it."""
    distinct = set(texts)
    return distinct.pop() if len(distinct) == 1 else otherwise


def _alternatives(texts: Iterable[str]) -> str:
    """Return what configurations have in place of each other: `CCA bbr or CCA cubic`."""
    distinct = list(dict.fromkeys(texts))
    if len(distinct) > SHOWN_ALTERNATIVES:
        return f"{distinct[0]} or {len(distinct) - 1} others, by configuration"
    return " or ".join(distinct)


def _numbered(numbers: set[int], noun: str) -> str:
    """Return how many there are: `1 flow`, `2 to 20 flows`."""
    text = between(sorted(numbers)) if numbers else "0"
    return f"{text} {noun}" if text == "1" else f"{text} {noun}s"


def _flows(run: Run, scenes: list[Cell]) -> str:
    """Describe the flows of each statement; if configurations change them, say so."""
    found: dict[str, list[list[Flow]]] = {}
    for scene in scenes:
        own: dict[str, list[Flow]] = {}
        for flow in scene.flows:
            own.setdefault(statement_of(label_of(flow)), []).append(flow)
        for name, flows in own.items():
            found.setdefault(name, []).append(flows)
    parts = []
    for name, of in found.items():
        each = [f for flows in of for f in flows]
        what = f"{_alternatives(map(_what, each))}, {_alternatives(map(_control, each))}"
        sizes = {len(flows) for flows in of}
        label = label_of(of[0][0]) if sizes == {1} else name
        several = "" if sizes == {1} else f"{_numbered(sizes, 'flow')}: "
        some = "" if len(of) == len(scenes) else "in some configurations: "
        parts.append(f"{one_line(label)} ({some}{several}{what})")
    return listed(parts)


def _what(flow: Flow) -> str:
    """Describe what a flow sends."""
    entry = WORKLOADS[flow.workload.word]
    what = entry.sentence(flow.workload, quantity) if entry.sentence else entry.name
    times = f"{flow.connections} connections, " if flow.connections > 1 else ""
    return f"{times}{what}"


def _control(flow: Flow) -> str:
    """Return what controls a flow's rate: TCP needs no mention."""
    if flow.image is not None:
        cca = f"CCA {one_line(flow.cca)}" if flow.cca else "its own CCA"
        return f"QUIC of the image {one_line(flow.image)}, with {cca}"
    over = "" if flow.transport in ("tcp", "web") else f" over {flow.transport.upper()}"
    return f"CCA {one_line(flow.cca)}{over}" if flow.cca else f"no congestion control{over}"


def _bottleneck(scene: Cell) -> tuple[int | None, Queue | None]:
    """Return the rate and the queue of the first bottleneck."""
    for interface in _bottlenecks(scene).values():
        return interface.shaper.rate_bps if interface.shaper else None, interface.queue
    return None, None


def _bottlenecks(scene: Cell) -> dict[str, Interface]:
    """Return the bottlenecks by `node/interface`."""
    places = interfaces_of(scene).items()
    return {"/".join(place): interface for place, interface in places if interface.bottleneck}


def _losses(scenes: Iterable[Cell]) -> str:
    """Describe the random losses of links that lose packets; empty: there are none."""
    each = [{found.loss for found in _impairments(scene) if found.loss} for scene in scenes]
    losses = sorted(set().union(*(of or {0.0} for of in each)))
    if losses[-1] == 0:
        return ""
    low, high = (quantity(loss * 100, "%") for loss in (losses[0], losses[-1]))
    return f"random loss {low}" if low == high else f"random loss {low} to {high}"


def _impairments(scene: Cell) -> list[Impairment]:
    return [each.impairment for each in interfaces_of(scene).values() if each.impairment]


def _in_bursts(scene: Cell) -> str:
    """Return a note that losses are bursty, if some are."""
    return " (in bursts)" if any(found.bursts for found in _impairments(scene)) else ""


def _queue(queue: Queue | None) -> str:
    if queue is None:
        return ""
    if queue.limit_bytes is not None:
        return f"a {queue.kind} queue of {quantity(queue.limit_bytes, 'B')}"
    return f"a {queue.kind} queue of {queue.limit_packets} packets"


def _network(scene: Cell) -> str:
    rate, queue = _bottleneck(scene)
    link = f"a {quantity(rate, 'bit/s')} bottleneck" if rate else "a link without a rate"
    parts = [f"a base RTT of {_rtts([scene])}", _queue(queue)]
    parts += dict.fromkeys(device.sentence for device in scene.devices if device.sentence)
    headers = sorted({tunnel.header_bytes for tunnel in scene.tunnels})
    if headers:
        parts.append(f"a tunnel of {listed([quantity(each, 'B') for each in headers])} a packet")
    parts.append(_transmission([scene]))
    several = _bottlenecks(scene)
    if len(several) > 1:
        described = {name: _described(interface) for name, interface in several.items()}
        names = [named(scene, name) for name in several]
        if len(set(described.values())) == 1:
            of = next(iter(described.values()))
            link = f"{len(several)} bottlenecks ({listed(names)}), each {of},"
        else:
            each = [f"{name} ({of})" for name, of in zip(names, described.values(), strict=True)]
            link = f"{len(several)} bottlenecks, {listed(each)},"
        parts.remove(_queue(queue))
    if loss := _losses([scene]):
        parts.append(f"{loss}{_in_bursts(scene)}")
    parts += _traits([scene])
    return f"{link} with {listed([p for p in parts if p])}"


def _described(interface: Interface) -> str:
    """Describe one of several bottlenecks."""
    rate = f"of {quantity(interface.shaper.rate_bps, 'bit/s')}" if interface.shaper else ""
    return " with ".join(filter(None, (rate, _queue(interface.queue))))


def _rtts(scenes: Iterable[Cell]) -> str:
    """Describe the base round trips of all paths of flows."""
    flows = [flow for scene in scenes for flow in scene.flows]
    further = [one.base_rtt_ns for flow in flows for one in flow.subflows]
    rtts = sorted({*further, *(flow.base_rtt_ns for flow in flows)})
    low, high = quantity(rtts[0] / 1e9, "s"), quantity(rtts[-1] / 1e9, "s")
    return low if len(rtts) == 1 else f"{low} to {high}"


def _ranges(scenes: list[Cell]) -> str:
    """Describe the bottlenecks of several configurations as ranges."""
    if not scenes:
        return "a network that the plan's cells do not describe"
    every = [i for s in scenes for i in _bottlenecks(s).values()]
    rates = sorted({i.shaper.rate_bps for i in every if i.shaper})
    numbers = sorted({len(_bottlenecks(s)) for s in scenes})
    one = numbers[-1] <= 1
    text = "a bottleneck" if one else f"{between(numbers)} bottlenecks"
    if rates:
        low, high = quantity(rates[0], "bit/s"), quantity(rates[-1], "bit/s")
        text += f" of {low}" if low == high else f" of {low} to {high}"
        text = f"a {low} bottleneck" if one and low == high else text
    parts = [f"a base RTT of {_rtts(scenes)}"]
    queues = list(dict.fromkeys(_queue(i.queue) for i in every))
    parts += queues if len(queues) == 1 else [f"{len(queues)} different queues"]
    parts += [_losses(scenes), _transmission(scenes)]
    parts += _traits(scenes)
    return f"{text} with {listed([p for p in parts if p])}"


def _traits(scenes: list[Cell]) -> list[str]:
    """Return what links do beyond rate, delay, loss and queue, as far as any link does it."""
    interfaces = [each for scene in scenes for each in interfaces_of(scene).values()]
    traits = [text for text, has in _TRAITS.items() if any(map(has, interfaces))]
    effects = (effect.trait for scene in scenes for effect in scene.effects)
    devices = (device.trait for scene in scenes for device in scene.devices if device.trait)
    return [*traits, *dict.fromkeys((*effects, *devices))]


def _ever(attribute: str, interface: Interface) -> set[Any]:
    """Return the values that an attribute of the interface's impairment takes."""
    found = (interface.impairment, *(change.impairment for change in interface.changes))
    return {getattr(each, attribute) for each in found if each is not None}


_TRAITS: Mapping[str, Callable[[Interface], bool]] = {
    "a rate that changes with time": lambda i: any(change.rate_bps for change in i.changes),
    "a delay that changes with time": lambda i: len(_ever("delay_ns", i)) > 1,
    "outages": lambda i: 1 in _ever("loss", i),
    "losses that change with time": lambda i: len(_ever("loss", i) - {1}) > 1,
    "jitter": lambda i: any(_ever("jitter_ns", i)),
    "reordering": lambda i: any(_ever("reorder", i)),
    "duplicates": lambda i: any(_ever("duplicate", i)),
    "packets of a kind that are lost": lambda i: bool(i.arriving_losses),
    "ECN bleached on the way": lambda i: i.arriving_ecn == "bleach",
    "ECN-capable packets marked on the way": lambda i: i.arriving_ecn == "mark",
}


def _transmission(scenes: list[Cell]) -> str:
    """Describe links on which frames take no time; empty: there are none."""
    interfaces = (each for scene in scenes for each in interfaces_of(scene).values())
    shapers = (each.shaper for each in interfaces if each.shaper is not None)
    buckets = any(each.transmitter is None and each.peak_bps is None for each in shapers)
    return "token buckets for links, which pass frames in no time" if buckets else ""


def verdicts(run: Run) -> Sheet:
    """Return how many cells have each verdict."""
    words = [o.verdict_word for c in run.configurations for o in c.outcomes]
    rows = [(verdict, count(words.count(verdict)), VERDICTS[verdict]) for verdict in VERDICTS]
    head = (("verdict", False), ("cells", True), ("meaning", False))
    return section_table("validity", "Cells by verdict", head, rows)


def reasons(run: Run) -> Sheet:
    """Return the reasons of verdicts, those alike as one, with the cells that each concerns."""
    labels = {
        outcome.cell: configuration.label if configuration.bindings else ""
        for configuration in run.configurations
        for outcome in configuration.outcomes
    }
    outcomes = (outcome for each in run.configurations for outcome in each.outcomes)
    rows = []
    for remark in remarks(outcomes):
        cells = "; ".join(
            ", ".join(filter(None, (labels[each.cell], f"repetition {each.repetition}")))
            + f" ({each.cell})"
            for each in remark.outcomes
        )
        rows.append((remark.word, remark.reason, count(len(remark.outcomes)), cells))
    head = (("verdict", False), ("reason", False), ("number", True), ("cells", False))
    return section_table("reasons", "Reasons of verdicts", head, rows)


def flatten(document: object, path: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Return a nested document as (dotted path, value) rows, in its own order."""
    if isinstance(document, dict):
        return [row for k, v in document.items() for row in flatten(v, (*path, str(k)))]
    if isinstance(document, list) and any(isinstance(v, dict | list) for v in document):
        return [row for i, v in enumerate(document, 1) for row in flatten(v, (*path, str(i)))]
    value = ", ".join(map(str, document)) if isinstance(document, list) else str(document)
    return [(".".join(path), value)]

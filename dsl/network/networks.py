"""A topology with its arguments to a network: nodes, and links with both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NoReturn

from fairc.dsl import model
from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label
from fairc.dsl.core.entries import bind
from fairc.dsl.core.kinds import A_QUEUE_SIZE, Kind
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import unknown
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import BDP, DATA, PACKETS, RATE, SHARE, TIME, Dimension
from fairc.dsl.core.values import Applied, Quantity, Symbol, Value, nanoseconds
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.text import syntax
from fairc.dsl.words.keys import LINK, Block
from fairc.dsl.words.network_words import A_THRESHOLD, QUEUES
from fairc.dsl.words.packet_sizes import mtu_of, warn_small

from .dynamics import changes
from .impairments import Impaired, impaired
from .losses import bursts as chain_of
from .losses import loss as loss_of
from .peps import peps
from .policers import place_policers, policer_of
from .traces import load_trace

Report = Callable[[Diagnostic], None]

NODE_LIMIT = 250
"""More nodes than one machine emulates well."""


_SIZE_UNITS: Mapping[Dimension, Literal["B", "pkt", "bdp", "s", "limit"]] = {
    DATA: "B",
    PACKETS: "pkt",
    BDP: "bdp",
    TIME: "s",
    SHARE: "limit",
}


@dataclass
class _Way:
    """What the statements say about one direction of a pair, until both are known."""

    rate: Quantity | None
    delay: Quantity | None
    loss: Fraction | None
    loss_span: Span | None
    both: Fraction | None
    bursts: model.GilbertElliott | None
    impaired: Impaired
    changes: tuple[model.Change, ...]
    trace: model.Trace | None
    queue: model.Queue | None
    mtu: Quantity | None
    policer: model.Policer | None
    statement: Span
    ends: Span


def build_network(body: syntax.Body, scope: Scope, report: Report) -> model.Network:
    """Return the network that a topology's body describes, with names looked up in `scope`.

    Raises CompileError with everything wrong in it; warnings go to `report`.
    """
    gather = Gather()
    nodes = _nodes(body, gather)
    ways: dict[tuple[str, str], _Way] = {}
    for element in body.elements:
        if isinstance(element, syntax.Link):
            _link(element, scope, nodes, ways, gather, report)
    links = () if gather.found else _pair(ways, gather, report)
    devices = [e for e in body.elements if isinstance(e, syntax.Device)]
    proxies = [device for device in devices if device.kind == "pep"]
    made: tuple[model.Pep, ...] = ()
    if not gather.found:
        with gather.attempt():
            made = peps(proxies, nodes, links, scope)
        with gather.attempt():
            policers = [device for device in devices if device.kind == "policer"]
            links = place_policers(policers, nodes, links, made, scope)
    if not nodes:
        with gather.attempt():
            fail("empty-topology", "this topology has no nodes", body.span)
    gather.finish()
    return model.Network(tuple(nodes.values()), links, body.span, made)


def _nodes(body: syntax.Body, gather: Gather) -> dict[str, model.Node]:
    nodes: dict[str, model.Node] = {}
    for element in body.elements:
        if not isinstance(element, syntax.Nodes):
            continue
        for word in element.names:
            with gather.attempt():
                if word.text in nodes:
                    fail(
                        "duplicate-node",
                        f"two nodes are called `{word.text}`",
                        word.span,
                        labels=(Label(nodes[word.text].span, "the first one"),),
                    )
                if len(nodes) == NODE_LIMIT:
                    fail("too-many", f"a topology has at most {NODE_LIMIT} nodes", word.span)
                nodes[word.text] = model.Node(word.text, element.kind, word.span)
    return nodes


def _link(
    link: syntax.Link,
    scope: Scope,
    nodes: Mapping[str, model.Node],
    ways: dict[tuple[str, str], _Way],
    gather: Gather,
    report: Report,
) -> None:
    block = Block(link.span, link.settings.items if link.settings else (), LINK, "a link")
    with gather.attempt():
        block.checked()
    for name in block.settings:
        with gather.attempt():
            block.value(name, scope)
    for ends in link.ends:
        with gather.attempt():
            for word in (ends.left, ends.right):
                if word.text not in nodes:
                    hint = unknown("node", "node", word.text, nodes, word.span)
                    fail(hint.code, hint.message, word.span, hint.note, help=hint.help)
            if ends.left.text == ends.right.text:
                fail("self-link", f"this links `{ends.left.text}` to itself", ends.span)
            pair = (ends.left.text, ends.right.text)
            ordered = {"--": (pair, pair[::-1]), "->": (pair,), "<-": (pair[::-1],)}[ends.arrow]
            for key in ordered:
                if key in ways:
                    fail(
                        "duplicate-link",
                        f"the link from `{key[0]}` to `{key[1]}` is described twice",
                        ends.span,
                        labels=(Label(ways[key].ends, "first here"),),
                        help="two links between one pair of nodes need a router on one of them",
                    )
            if not gather.found:
                dynamic = link.settings.changes if link.settings else ()
                way = _way(block, dynamic, scope, link.span, ends.span)
                ways.update(dict.fromkeys(ordered, way))


def _way(
    block: Block,
    dynamic: Sequence[syntax.Change | syntax.Outage],
    scope: Scope,
    statement: Span,
    ends: Span,
) -> _Way:
    rate = block.value("rate", scope)
    delay = block.value("delay", scope)
    trace = None
    if isinstance(rate, Applied):
        trace, rate = load_trace(rate)
    assert rate is None or isinstance(rate, Quantity)
    assert delay is None or isinstance(delay, Quantity)
    mtu = block.value("mtu", scope)
    assert mtu is None or isinstance(mtu, Quantity)
    loss = block.value("loss", scope)
    own, both = loss_of(loss) if loss else (None, None)
    bursts = chain_of(loss) if loss else None
    queue = block.value("queue", scope)
    made = None
    if queue is not None:
        setting = block.settings["queue"]
        made = _queue(queue, setting.value.span)
        _check_queue(made, rate)
    policed = block.value("policer", scope)
    policer = policer_of(policed, "`policer`") if policed is not None else None
    loss_span = loss.span if loss else None
    more = impaired(block, scope, delay, bursts)
    over_time = changes(dynamic, scope, rate, trace, more)
    return _Way(
        rate,
        delay,
        own,
        loss_span,
        both,
        bursts,
        more,
        over_time,
        trace,
        made,
        mtu,
        policer,
        statement,
        ends,
    )


def _queue(value: Value, at: Span) -> model.Queue:
    use = bind(QUEUES, value, "`queue`", at)
    parameters = use.entry.parameters
    options = {
        p.name: _option(p.kind, use.arguments[p.name])
        for p in parameters
        if p.name in use.arguments
    }
    size = options.pop(parameters[0].name, model.Size(Fraction(1000), "pkt", value.span))
    assert isinstance(size, model.Size)
    return model.Queue(use.entry.name, size, value.span, options)


def _option(kind: Kind, value: Value) -> model.Size | Fraction | bool:
    """Return an argument of a queue as the model has it."""
    if isinstance(value, Symbol):
        return value.name == "on"
    assert isinstance(value, Quantity)
    if kind not in (A_QUEUE_SIZE, A_THRESHOLD):
        return value.number
    amount = value.number / 8 if value.dimension == DATA else value.number
    return model.Size(amount, _SIZE_UNITS[value.dimension], value.span)


def _check_queue(queue: model.Queue, rate: Quantity | None) -> None:
    """Refuse a size that needs a rate where there is none."""
    size = queue.size
    if size.unit in ("bdp", "s") and rate is None:
        fail(
            "queue-without-rate",
            f"a queue in {'BDPs' if size.unit == 'bdp' else 'time'} needs the link's rate, "
            "and this link has none",
            size.span,
            help="give the link a `rate`, or the queue a size in bytes or packets",
        )


def _pair(
    ways: Mapping[tuple[str, str], _Way], gather: Gather, report: Report
) -> tuple[model.Link, ...]:
    """Join the two directions of each pair, in the order of first mention."""
    links = []
    done: set[tuple[str, str]] = set()
    for (a, b), forward in ways.items():
        if (a, b) in done:
            continue
        done |= {(a, b), (b, a)}
        with gather.attempt():
            backward = ways.get((b, a))
            if backward is None:
                fail(
                    "one-way-link",
                    f"there is no way back from `{b}` to `{a}`",
                    forward.ends,
                    note="one direction only",
                    help=f"add `link {b} -> {a} {{ ... }}`, or write `{a} -- {b}`",
                )
            there, back = _direction(forward, backward), _direction(backward, forward)
            for way in (there, back):
                warn_small(way, report)
            links.append(model.Link(a, b, there, back, forward.statement))
    return tuple(links)


def _direction(way: _Way, opposite: _Way) -> model.Direction:
    own = way.loss is not None or way.bursts is not None
    if own and way is not opposite and opposite.both is not None:
        fail(
            "conflicting-loss",
            "this direction has a loss of its own, and the opposite one sets both",
            way.loss_span,
            labels=(Label(opposite.loss_span, "`both` is given here"),)
            if opposite.loss_span
            else (),
            help="keep one of them",
        )
    loss = way.loss if way.loss is not None else way.both
    if loss is None:
        loss = opposite.both if opposite.both is not None else Fraction(0)
    assert way.rate is None or way.rate.dimension == RATE
    queue = way.queue or model.Queue(
        "fifo", model.Size(Fraction(1000), "pkt", way.statement), way.statement
    )
    return model.Direction(
        max(1, round(way.rate.number)) if way.rate else None,
        nanoseconds(way.delay) if way.delay else 0,
        way.bursts.loss if way.bursts else float(loss),
        queue,
        way.statement,
        way.bursts,
        *way.impaired,
        way.changes,
        way.trace,
        mtu_of(way.mtu, opposite.mtu, traced=way.trace is not None),
        way.policer,
    )


def argument_scope(
    topology: syntax.Topology,
    value: Symbol | Applied,
    outer: Scope | None,
) -> Scope:
    """Return the scope of a topology's body: its parameters, then `outer`.

    Raises CompileError for arguments that do not fit its parameters.
    """
    gather = Gather()
    values: dict[str, Value] = {}
    deferred: dict[str, syntax.Expr] = {}
    names: dict[str, syntax.Parameter] = {}
    for parameter in topology.parameters:
        with gather.attempt():
            if parameter.name.text in names:
                fail(
                    "duplicate-parameter",
                    f"two parameters are called `{parameter.name.text}`",
                    parameter.name.span,
                    labels=(Label(names[parameter.name.text].name.span, "the first one"),),
                )
            names[parameter.name.text] = parameter
    order = list(names)
    for argument in value.arguments if isinstance(value, Applied) else ():
        with gather.attempt():
            where = argument.key_span or argument.value.span
            key = argument.key or (order[0] if order else None)
            if key is None:
                fail(
                    "too-many-arguments",
                    f"`{topology.name.text}` takes no more arguments",
                    where,
                    help=f"its parameters: {', '.join(names) or 'none'}",
                )
            if key not in names:
                hint = unknown("argument", "argument", key, names, where)
                fail(
                    hint.code,
                    f"`{topology.name.text}` takes no argument called `{key}`",
                    where,
                    hint.note,
                    labels=(Label(topology.name.span, f"`{topology.name.text}` is defined here"),),
                    help=f"its parameters: {', '.join(names) or 'none'}",
                )
            if key in values:
                fail("duplicate-argument", f"`{key}` is given twice", where)
            values[key] = argument.value
            if key in order:
                order.remove(key)
    for name, parameter in names.items():
        if name in values:
            continue
        if parameter.default is not None:
            deferred[name] = parameter.default
            continue
        with gather.attempt():
            fail(
                "missing-argument",
                f"`{topology.name.text}` needs its argument `{name}`",
                value.span,
                labels=(Label(parameter.span, f"`{name}` has no default"),),
            )
    gather.finish()

    first: list[CompileError] = []

    def circular(circle: tuple[str, ...]) -> NoReturn:
        """Defaults that need each other: one of them must be given. Said once a call."""
        if first:
            raise first[0]
        listed = " or ".join(f"`{name}`" for name in circle)
        needs = tuple(Label(names[name].span, "needs another one") for name in circle)
        message = f"`{topology.name.text}` needs its argument {listed}"
        first.append(
            CompileError([Diagnostic("missing-argument", message, value.span, labels=needs)])
        )
        raise first[0]

    return Scope(values, deferred, outer, circular)

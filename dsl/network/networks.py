"""Networks: nodes, and links with both directions, from a topology and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, NoReturn, cast

from fairc.cell.frames import MTU
from fairc.cell.links import Impairment
from fairc.dsl import model
from fairc.dsl.blocks import Block, Settings
from fairc.dsl.core.diagnostics import Diagnostic, Label
from fairc.dsl.core.entries import Use
from fairc.dsl.core.problems import MOST_FOUND, Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import BDP, SHARE, TIME
from fairc.dsl.core.values import Quantity
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.expressions.instances import label, scopes
from fairc.dsl.model.names import base, indexed
from fairc.dsl.text import syntax
from fairc.mechanisms.devices.registry import DEVICES
from fairc.mechanisms.links.registry import LINKS
from fairc.mechanisms.queues.discipline import queue_of
from fairc.words.blocks import link as keys
from fairc.words.framing import framing_of
from fairc.words.losses import Loss, LossModel, loss_of
from fairc.words.packet_sizes import burst_of, mtu_of, warn_small
from fairc.words.trace import RATES, load_rate, load_recording

from .devices import Layer, refuse_node
from .dynamics import Dynamics, events
from .groups import CLIENT, SERVER
from .impairments import impairment_of, refuse_beside
from .link_devices import place_devices
from .proxies import proxies
from .tunnels import tunnels

Report = Callable[[Diagnostic], None]


@dataclass
class _LinkSide:
    """One direction of a link until the opposite one is known, which may give it a loss or an MTU.

    settings, dynamics: what it is made from, to which a `with` adds.
    loss, mtu: as written.
    ends: where its nodes are written.
    """

    way: model.Direction
    settings: Settings
    dynamics: Dynamics
    loss: Loss | None
    mtu: Quantity | None
    ends: Span


Ways = dict[tuple[str, str], _LinkSide]
"""Directions of links by their ends, origin first."""


def build_network(
    layers: Sequence[Layer], report: Report, has_pairs: bool = False
) -> model.Network:
    """Return the network that a topology's body describes, with the changes of each `with` in turn.

    has_pairs: whether each flow has copies of `client` and `server` as its own hosts, whose links a
    `with` may change. Raises CompileError with everything wrong in it; warnings go to `report`.
    """
    gather = Gather()
    layers = [(body, _with_lets(body, scope, gather)) for body, scope in layers]
    nodes: dict[str, model.Node] = {}
    ways: Ways = {}
    for body, scope in layers:
        before = Before(frozenset(nodes), {}, has_pairs, not gather.found)
        _nodes(body, scope, nodes, gather)
        for element in body.elements:
            if len(gather.found) >= MOST_FOUND:
                break
            if isinstance(element, syntax.Link):
                with gather.attempt():
                    for inner in scopes(element, scope):
                        if len(gather.found) >= MOST_FOUND:
                            break
                        _link(element, inner, nodes, ways, before, gather)
    paired = () if gather.found else _pair(_both_ways(ways), gather, report)
    links = tuple(link for link in paired if {link.a, link.b} <= nodes.keys())
    own = tuple(link for link in paired if link not in links)
    with gather.attempt():
        _refuse_devices(own)
    pairs: tuple[model.Proxies, ...] = ()
    carried: tuple[model.Tunnel, ...] = ()
    if not gather.found:
        with gather.attempt():
            carried = tunnels(layers, nodes)
        with gather.attempt():
            pairs = proxies(layers, nodes, links)
        with gather.attempt():
            links = place_devices(layers, nodes, links, pairs)
    body, _ = layers[0]
    if not nodes:
        with gather.attempt():
            fail("empty-topology", "this topology has no nodes", body.span)
    gather.finish()
    return model.Network(tuple(nodes.values()), links, body.span, pairs, has_pairs, own, carried)


def _refuse_devices(own: Sequence[model.Link]) -> None:
    """Refuse a device on the link of a flow's own host: no other flow is there to compare with."""
    verbs = {entry.noun: entry.does for entry in DEVICES}
    for link in own:
        device = link.forward.device or link.backward.device
        if device is not None:
            fail(
                "impossible-pair",
                f"a {device.noun} is on the link of one flow's own host",
                device.span,
                help=f"{verbs[device.noun]} the link between the routers",
            )


def _device(settings: Settings) -> model.LinkDevice | None:
    """Return what a direction is given in front of its queue."""
    for entry in DEVICES:
        if (use := settings.given(entry.key)) is not None:
            return entry.read(use, "")
    return None


def _general(way: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield a direction, and those of which it is a copy for a flow's own host, up to the
    topology's: `server[f[2]]` to `left`, `server[f]` to `left`, `server` to `left`.
    """
    yield way
    a, b = (_less(end) for end in way)
    if (a, b) != way:
        yield from _general((a, b))


def _less(end: str) -> str:
    """Return the name of a flow's own host without its flow's index, or without its flow."""
    kind, _, rest = end.partition("[")
    if kind not in (CLIENT, SERVER) or not rest:
        return end
    flow = rest[:-1]
    return indexed(kind, [base(flow)]) if "[" in flow else kind


def _known(way: tuple[str, str], ways: Ways) -> _LinkSide | None:
    """Return a direction as it is, or that of which it is to be a copy; None: there is no link."""
    return next((ways[each] for each in _general(way) if each in ways), None)


def _both_ways(ways: Ways) -> Ways:
    """Return the directions, and where a flow's own host has one, the opposite one as well."""
    whole = dict(ways)
    for a, b in ways:
        opposite = _known((b, a), ways)
        if opposite is not None:
            whole[b, a] = opposite
    return whole


class Before(NamedTuple):
    """The network as one layer finds it and has described it so far.

    nodes: those of the layers below.
    described: direction of a link -> where this layer describes it.
    has_pairs: whether flows have hosts of their own.
    is_right: whether nothing is wrong in the layers below.
    """

    nodes: frozenset[str]
    described: dict[tuple[str, str], Span]
    has_pairs: bool
    is_right: bool


def _with_lets(body: syntax.Body, scope: Scope, gather: Gather) -> Scope:
    """Return the scope inside a topology: its `let`s, in any order, then the names around it;
    `gather` collects second ones of a name.
    """
    lets: dict[str, syntax.Let] = {}
    for element in body.elements:
        if isinstance(element, syntax.Let):
            first = lets.setdefault(element.name.text, element)
            if first is not element:
                with gather.attempt():
                    fail(
                        "duplicate-let",
                        f"`let {element.name.text}` is declared twice",
                        element.name.span,
                        labels=(Label(first.name.span, "first occurrence"),),
                        help="rename one of them",
                    )
    return Scope({}, {name: let.value for name, let in lets.items()}, scope) if lets else scope


def _nodes(body: syntax.Body, scope: Scope, nodes: dict[str, model.Node], gather: Gather) -> None:
    for element in body.elements:
        if not isinstance(element, syntax.Nodes):
            continue
        with gather.attempt():
            for inner in scopes(element, scope):
                if len(gather.found) >= MOST_FOUND:
                    break
                for reference in element.names:
                    with gather.attempt():
                        _node(reference, element, inner, nodes)


def _node(
    reference: syntax.Reference,
    element: syntax.Nodes,
    scope: Scope,
    nodes: dict[str, model.Node],
) -> None:
    name = label(reference, scope)
    if name in nodes:
        first = nodes[name].span
        again = first == reference.span
        fail(
            "duplicate-node",
            f"two nodes are called `{name}`",
            reference.span,
            note="the loop repeats it" if again else "",
            labels=() if again else (Label(first, "the first one"),),
            help=_out_of_loop(reference, element) if again else None,
        )
    nodes[name] = model.Node(name, element.kind, reference.span)


def _out_of_loop(reference: syntax.Reference, element: syntax.Nodes) -> str:
    """Return how to declare a node that a loop is not meant for: it is over all names of its
    statement.
    """
    word = element.span.text.split()[0]
    others = [each.span.text for each in element.names if each is not reference]
    loop = " ".join(element.span.text[element.names[-1].span.end - element.span.start :].split())
    if not others:
        return f"an index tells them apart: `{word} {reference.name.text}[i] {loop}`, say"
    alone = f"`{word} {reference.span.text}` and `{word} {', '.join(others)} {loop}`"
    return f"the loop is of every name before it; write {alone}"


def _link(
    link: syntax.Link,
    scope: Scope,
    nodes: Mapping[str, model.Node],
    ways: Ways,
    before: Before,
    gather: Gather,
) -> None:
    block = Block(link.span, link.settings.items if link.settings else (), keys.LINK, "a link")
    with gather.attempt():
        block.checked()
    settings = block.read(scope, gather)
    for ends in link.ends:
        with gather.attempt():
            left, right = (label(end, scope) for end in (ends.left, ends.right))
            below = left, right
            if before.has_pairs and before.nodes:
                *_, below = _general(below)
            for name, one, end in zip((left, right), below, (ends.left, ends.right), strict=True):
                if one not in nodes:
                    refuse_node(name, nodes, end.span)
            if left == right:
                fail("self-link", f"this links `{left}` to itself", ends.span)
            pair = (left, right)
            ordered = {"--": (pair, pair[::-1]), "->": (pair,), "<-": (pair[::-1],)}[ends.arrow]
            if before.is_right and before.nodes >= set(below) and below not in ways:
                _refuse_unlinked(pair, ends.span, ways)
            for key in ordered:
                if key in before.described:
                    fail(
                        "duplicate-link",
                        f"the link from `{key[0]}` to `{key[1]}` is described twice",
                        ends.span,
                        labels=()
                        if before.described[key] == ends.span
                        else (Label(before.described[key], "first here"),),
                        help="write all of one direction in one statement: `a -> b` for one and"
                        " `a <- b` for the other, or `a -- b` for both; two links between one pair"
                        " of nodes need a router on one of them",
                    )
                before.described[key] = ends.span
            if not gather.found:
                written = link.settings.changes if link.settings else ()
                dynamics = tuple((change, scope) for change in written)
                if _known(ordered[0], ways):
                    _change(ways, ordered, settings, dynamics, (link.span, ends.span))
                else:
                    way = _way(settings, dynamics, link.span, ends.span)
                    ways.update(dict.fromkeys(ordered, way))


def _change(
    ways: Ways,
    chosen: Sequence[tuple[str, str]],
    settings: Settings,
    dynamics: Dynamics,
    at: tuple[Span, Span],
) -> None:
    """Change directions of links, with their copies for flows' own hosts.

    at: the statement and the ends that do so, which describe an own host's link from then on.
    """
    copies = [way for way in ways if way not in chosen and {*_general(way)} & {*chosen}]
    made: list[tuple[_LinkSide, _LinkSide]] = []  # directions that are one stay one
    for key in (*chosen, *copies):
        old = _known(key, ways)
        assert old is not None, "a link that is not there is not changed"
        new = next((new for known, new in made if known is old), None)
        if new is None:
            place = (old.way.span, old.ends) if key in ways else at
            new = _changed(old, settings, dynamics, place)
            made.append((old, new))
        ways[key] = new


def _refuse_unlinked(
    pair: tuple[str, str], at: Span, ways: Mapping[tuple[str, str], _LinkSide]
) -> NoReturn:
    """Refuse a `with` for a link that the topology does not have."""
    links: list[tuple[str, str]] = []
    for a, b in ways:
        if (b, a) not in links:
            links.append((a, b))
    near = [f"`{a} -- {b}`" for a, b in links if {a, b} & set(pair)]
    fail(
        "unknown-link",
        f"this topology has no link between `{pair[0]}` and `{pair[1]}`",
        at,
        note=f"did you mean {' or '.join(near[:2])}?" if near else "",
        help=f"links: {', '.join(f'{a} -- {b}' for a, b in links)}; a further one has a node that"
        " this `with` declares",
    )


def _changed(
    old: _LinkSide, settings: Settings, dynamics: Dynamics, place: tuple[Span, Span]
) -> _LinkSide:
    """Return one direction of a link with what a `with` says; place: its statement and ends."""
    return _way(old.settings.amended(settings), (*old.dynamics, *dynamics), *place)


def _way(settings: Settings, dynamics: Dynamics, statement: Span, ends: Span) -> _LinkSide:
    trace, rate = None, settings.given(keys.RATE)
    followed = model.Recordings()
    if isinstance(rate, Use):
        found, rate = load_rate(rate)
        if isinstance(found, model.Recording):
            followed = replace(followed, rate=found)
        else:
            trace = found
    delay = settings[keys.DELAY]
    if isinstance(delay, Use):
        followed = replace(followed, delay=load_recording(delay, keys.DELAY.name, TIME))
        delay = _lowest(followed.delay, delay.span)
    loss, recorded = _loss(settings)
    followed = replace(followed, loss=recorded)
    queue = settings.given(keys.QUEUE)
    chosen = None if queue is None else queue_of(queue, queue.span)
    if chosen is not None:
        _check_queue(chosen, rate)
    bursts = loss.bursts if loss else None
    impairment = impairment_of(settings, delay, bursts)
    bad = () if loss is None or loss.bad is None else (loss.bad,)
    if bad and impairment.repair is not None:
        refuse_beside("bursty losses", bad[0].span, settings.place(_repair_keys(settings)[0]))
    medium = _medium(settings)
    serving = [*(medium.keys if medium else ()), *_repair_keys(settings)]
    for name in serving:
        _check_medium(settings, name, settings.values[name].span, rate)
    if followed.delay is not None:
        impairment = replace(impairment, delay_ns=round(followed.delay.steps[0][1]))
    impairment = replace(impairment, bursts=bursts)
    changing = events(dynamics, rate, trace, impairment, followed)
    given_mtu = settings.given(keys.MTU)
    mtu = MTU if given_mtu is None else round(given_mtu.number / 8)
    way = model.Direction(
        rate_bps=max(1, round(rate.number)) if rate else None,
        impairment=impairment,
        queue=chosen or queue_of(keys.QUEUE.fallback, statement),
        span=statement,
        recordings=followed,
        events=(*bad, *changing),
        trace=trace,
        device=_device(settings),
        transmit=settings[keys.TRANSMIT].entry.transmit,
        burst=burst_of(
            settings[keys.TRANSMIT],
            rate,
            mtu,
            _rate_changes(settings, changing),
            _variation(settings, impairment, changing),
        ),
        ecn=settings[keys.ECN],
        ecn_given=settings.span(keys.ECN),
        dscp=settings.given(keys.DSCP),
        chosen=() if loss is None else loss.chosen,
        medium=medium,
        framing=framing_of(settings[keys.FRAMING], rate, _in_packets(settings, serving, trace)),
    )
    return _LinkSide(way, settings, dynamics, loss, given_mtu, ends)


def _loss(settings: Settings) -> tuple[Loss | None, model.Recording | None]:
    """Return the losses of a link, and the recording that they follow. Raises CompileError."""
    lost, recorded = settings.given(keys.LOSS), None
    if lost is None:
        return None, None
    if isinstance(lost, Use) and lost.entry.name in RATES:
        recorded = load_recording(lost, keys.LOSS.name, SHARE)
        loss = Loss(lost.span, own=Fraction(recorded.steps[0][1]))
    else:
        loss = loss_of(cast("Quantity | Use[LossModel]", lost))
    _check_numbered(settings, loss)
    return loss, recorded


def _in_packets(
    settings: Settings, serving: Sequence[str], trace: model.Trace | None
) -> tuple[str, Span] | None:
    """Return what counts packets or the bytes of Linux on a link, and where it is said; None:
    nothing does.

    serving: the keys that ask for a medium or a repair.
    """
    if settings[keys.TRANSMIT].entry.transmit == "bucket":
        return "a token bucket that transmits", settings.place(keys.TRANSMIT.name)
    if trace is not None:
        return "a trace of packets", settings.place(keys.RATE.name)
    return (f"`{serving[0]}`", settings.place(serving[0])) if serving else None


def _medium(settings: Settings) -> model.LinkMedium | None:
    """Return what transmits in place of a shaper, or None. Raises CompileError for two of them."""
    found = [medium for each in LINKS if (medium := each.medium(settings)) is not None]
    if len(found) > 1:
        one, other = found[:2]
        fail(
            "conflicting-release",
            f"one link cannot have both `{one.keys[0]}` and `{other.keys[0]}`",
            other.span,
            labels=(Label(one.span, f"the `{one.keys[0]}`"),),
            notes=("each of them transmits in place of the other",),
            help="put one of them on a separate link, behind a router",
        )
    return found[0] if found else None


def _repair_keys(settings: Settings) -> list[str]:
    """Return the key that asks for a repair of losses, if one does."""
    repairs = (each.repair(settings) for each in LINKS)
    return [repair[1].name for repair in repairs if repair is not None]


def _check_numbered(settings: Settings, loss: Loss) -> None:
    """Refuse losses by number on a link that changes packets: who passes a count is done."""
    found = {keys.ECN.name: settings[keys.ECN] != "none", keys.DSCP.name: keys.DSCP in settings}
    other = next((name for name, given in found.items() if given), None)
    if other is not None and any(kind.numbers for kind in loss.chosen):
        fail(
            "conflicting-loss",
            f"one link cannot have both `packets` and `{other}`",
            loss.span,
            labels=(Label(settings.place(other), "given here"),),
            help="put one of them on a separate link, behind a router",
        )


def _rate_changes(settings: Settings, events: Sequence[model.Event]) -> Span | None:
    """Return where the rate of a link is said to change; None: it stays."""
    rate = settings.given(keys.RATE)
    if isinstance(rate, Use):
        return settings.span(keys.RATE)
    return next((event.span for event in events if event.rate is not None), None)


def _variation(
    settings: Settings, impairment: Impairment, events: Sequence[model.Event]
) -> Span | None:
    """Return where it is said that a hop does not treat all packets alike, in order; None: it
    does.
    """
    for key, value in (
        (keys.JITTER, impairment.jitter_ns),
        (keys.REORDER, impairment.reorder),
        (keys.DUPLICATE, impairment.duplicate),
    ):
        if value:
            return settings.span(key)
    delay = settings.given(keys.DELAY)
    if isinstance(delay, Use):
        return settings.span(keys.DELAY)
    return next((event.span for event in events), None)


def _check_medium(settings: Settings, name: str, at: Span | None, rate: Quantity | None) -> None:
    """Refuse a medium, and a repair, where packets take no time, or a bucket lets frames pass."""
    if rate is None:
        fail(
            "release-without-rate",
            f"`{name}` needs a link with a rate, but this link has none",
            at,
            notes=("where packets take no time, nothing waits in front of the link, nor is seen",),
            help="give the link a `rate`",
        )
    if settings[keys.TRANSMIT].entry.transmit == "bucket":
        fail(
            "conflicting-release",
            f"one link cannot have both `{name}` and a token bucket that transmits",
            at,
            labels=(Label(settings.place(keys.TRANSMIT.name), "the bucket"),),
            help="leave `transmit` out",
        )


def _lowest(recording: model.Recording | None, span: Span) -> Quantity:
    """Return the lowest delay of a recording."""
    assert recording is not None
    return Quantity(Fraction(min(ns for _, ns in recording.steps)) / 10**9, TIME, span)


def _check_queue(queue: model.Queue, rate: Quantity | None) -> None:
    """Refuse a size that needs a rate if the link has none."""
    size = queue.size
    if size.dimensions & {BDP, TIME} and rate is None:
        fail(
            "queue-without-rate",
            f"a queue in {'BDPs' if BDP in size.dimensions else 'time'} needs the link's rate, but"
            " this link has none",
            size.span,
            help="give the link a `rate`, or the queue a size in bytes or packets",
        )


def _pair(
    ways: Mapping[tuple[str, str], _LinkSide], gather: Gather, report: Report
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
            links.append(model.Link(a, b, there, back, there.span))
    return tuple(links)


def _direction(side: _LinkSide, opposite: _LinkSide) -> model.Direction:
    way, loss, other = side.way, side.loss, opposite.loss
    own = loss is not None and (loss.own is not None or loss.bursts is not None or loss.chosen)
    if own and side is not opposite and other is not None and other.both is not None:
        fail(
            "conflicting-loss",
            "this direction sets its own loss, but the opposite one sets both",
            loss.span if loss else None,
            labels=(Label(other.span, "`both` is given here"),),
            help="keep one of them",
        )
    given = [each for one in (loss,) if one for each in (one.own, one.both)]
    given += [other.both] if other else []
    share = next((each for each in given if each is not None), Fraction(0))
    bursts = way.impairment.bursts
    return replace(
        way,
        impairment=replace(way.impairment, loss=bursts.loss if bursts else float(share)),
        mtu=mtu_of(side.mtu, opposite.mtu, traced=way.trace is not None),
    )

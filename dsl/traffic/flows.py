"""Flows: from the block of a flow to a flow with every name resolved."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields, replace
from typing import TypeVar

from fairc.dsl import model
from fairc.dsl.blocks import Block, Settings
from fairc.dsl.core.diagnostics import Diagnostic, Label
from fairc.dsl.core.entries import Use
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import listed
from fairc.dsl.core.values import Quantity, Symbol
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.text import syntax
from fairc.mechanisms.workloads.workload import WorkloadEntry
from fairc.words.blocks import flow as keys
from fairc.words.blocks.hosts import KERNEL, OVER, RECEIVE_BUFFER, SEND_BUFFER
from fairc.words.distributions import DistributionEntry, distribution

from .transports import (
    bytes_of,
    check_image,
    check_multipath,
    check_workload,
    kernel_stack,
    moved_by_image,
    pacing_stays,
    quic_settings,
    stack_of,
    with_options,
)

T = TypeVar("T", bound=model.Trip)


def build_flow(
    flow: syntax.Flow, scope: Scope, hosts: Settings, report: Callable[[Diagnostic], None]
) -> model.Flow:
    """Return the flow with every name resolved.

    hosts: the settings of `hosts`. report: takes warnings. Raises CompileError with
    everything wrong in it, `not-yet` included.
    """
    gather = Gather()
    block = Block(flow.name.span, flow.settings.items, keys.FLOW, "a flow")
    with gather.attempt():
        block.checked()
    settings = block.read(scope, gather)
    use = settings.given(keys.WORKLOAD)
    workload, stack, complete = None, None, None
    with gather.attempt():
        workload = use.entry.build(use) if use else None
    with gather.attempt():
        stack = _stack(settings, hosts, use, workload)
    with gather.attempt():
        _refuse_two_windows(settings, workload)
    if workload is not None:
        for key, why in workload.senseless.items():
            if key in settings.typed:
                with gather.attempt():
                    what = f"`{key}` does not apply to {workload.noun}"
                    fail("impossible-pair", what, settings.place(key), help=why)
    if stack is not None and use is not None:
        with gather.attempt():
            if stack.image is not None:
                check_image(use, settings)
                over = settings.given(keys.OVER) or hosts.given(OVER)
                if workload is not None:
                    workload = moved_by_image(over, workload, settings.given(keys.CCA))
        with gather.attempt():
            if stack.multipath is not None:
                check_multipath(use.entry, settings, hosts)
        with gather.attempt():
            window = workload.receive_window if workload else None
            complete = with_options(stack, settings, hosts, use.entry, window)
            if (stays := pacing_stays(stack, settings)) is not None:
                report(stays)
        with gather.attempt():
            check_workload(stack, use, settings.given(keys.RATE), flow.name.span)
    with gather.attempt():
        _check_order(flow, settings)
    built = None
    if workload is not None and complete is not None:
        built = _built(flow, settings, hosts, complete, workload)
        for refusal in workload.refused(built, settings.typed.keys()):
            with gather.attempt():
                place = settings.place(refusal.key)
                fail("impossible-pair", refusal.message, place, refusal.note, help=refusal.help)
    gather.finish()
    assert built is not None and workload is not None and use is not None
    for warning in workload.warnings(use.span):
        report(warning)
    return built


def _stack(
    settings: Settings,
    hosts: Settings,
    use: Use[WorkloadEntry] | None,
    workload: model.Workload | None,
) -> model.Stack | None:
    """Return the transport and the CCA, still without options; None where what they follow from is
    wrong. Raises CompileError.
    """
    at, cca = settings.block.span, settings.given(keys.CCA)
    over = settings.given(keys.OVER) or hosts.given(OVER)
    kernel = hosts.given(KERNEL)
    if settings.failed(keys.OVER, keys.CCA):
        return None
    if use is not None and use.entry.only_over_udp and cca is None and keys.OVER not in settings:
        return model.Stack(transport="udp")
    if settings.failed(keys.WORKLOAD) and cca is None and keys.OVER not in settings:
        return None  # a ping needs no CCA, and this may have been meant for one
    if use is None or not use.entry.needs_tcp:
        return stack_of(over, cca, at, kernel)
    if workload is None:
        return None
    stack = kernel_stack("web", cca, at, use.entry.needs_tcp, kernel)
    if not workload.needs_quic:
        return stack
    return replace(stack, quic_parameters=quic_settings(cca, workload.needs_quic))


def _refuse_two_windows(settings: Settings, workload: model.Workload | None) -> None:
    """Refuse a receive window of the workload besides the flow's own."""
    window = workload.receive_window if workload else None
    if window is not None and keys.WINDOW in settings:
        fail(
            "duplicate-key",
            "the receive window is given twice",
            settings.values[keys.WINDOW.name].span,
            labels=(Label(window.span, "given here, too"),),
            help="keep one of them",
        )


def _check_order(flow: syntax.Flow, settings: Settings) -> None:
    """Refuse a flow that stops before it starts."""
    start, stop = settings.given(keys.START), settings.given(keys.STOP)
    begin = start.number if isinstance(start, Quantity) else 0
    if stop is not None and stop.number <= begin:
        fail(
            "out-of-range",
            f"the flow `{flow.name.text}` stops before it starts",
            stop.span,
            note=f"this is {stop.canonical}",
            help="`stop` is counted from the start of the cell, like `start`",
        )


def _built(
    flow: syntax.Flow,
    settings: Settings,
    hosts: Settings,
    stack: model.Stack,
    workload: model.Workload,
) -> model.Flow:
    """Return the flow; a key whose value is wrong has its default."""
    start, stop = settings.given(keys.START), settings.given(keys.STOP)
    rate, users = settings.given(keys.RATE), settings.given(keys.USERS)
    server, client = settings[keys.FROM], settings[keys.TO]
    trip = _trip(flow, server, client, settings[keys.RTT], settings.given(keys.VIA))
    buffers = (SEND_BUFFER, RECEIVE_BUFFER) if stack.image is None else ()
    send, receive = (bytes_of(hosts.given(key)) for key in buffers) if buffers else (None, None)
    return model.Flow(
        name=flow.name.text,
        connections=settings[keys.COUNT].whole,
        workload=workload,
        start_ns=start.ns if isinstance(start, Quantity) else None,
        stop_ns=None if stop is None else stop.ns,
        random_start=distribution(start) if isinstance(start, Use) else None,
        declared=flow.name.text,
        users=None if users is None else users.name,
        send_buffer_bytes=send,
        receive_buffer_bytes=receive,
        rate_bps=None if rate is None else max(1, round(rate.number)),
        ecn_given=settings.span(keys.ECN) or hosts.span(keys.ECN),
        dscp=settings[keys.DSCP],
        way_given=settings.span(keys.VIA),
        **{each.name: getattr(part, each.name) for part in (trip, stack) for each in fields(part)},
    )


def trip_of(flow: syntax.Flow, scope: Scope, hosts: Collection[str]) -> model.Trip | None:
    """Return between which nodes a flow runs, or None if it is absent. Raises CompileError."""
    block = Block(flow.name.span, flow.settings.items, keys.FLOW, "a flow")
    if not block.get(keys.COUNT, scope).number:
        return None
    server, client = (block.get(key, scope) for key in (keys.FROM, keys.TO))
    rtt, via = block.get(keys.RTT, scope), block.given(keys.VIA, scope)
    return named_ends(flow, _trip(flow, server, client, rtt, via), hosts)


def _trip(
    flow: syntax.Flow,
    server: Symbol,
    client: Symbol,
    rtt: Quantity | Use[DistributionEntry],
    via: Symbol | None,
) -> model.Trip:
    return model.Trip(
        server=server.name,
        client=client.name,
        span=flow.name.span,
        extra_rtt_ns=rtt.ns if isinstance(rtt, Quantity) else 0,
        random_rtt=distribution(rtt) if isinstance(rtt, Use) else None,
        via=None if via is None else via.name,
    )


def named_ends(flow: syntax.Flow, trip: T, hosts: Collection[str]) -> T:
    """Return a flow, or its trip, whose `from` and `to` are nodes, even if something else has the
    same name.

    `to = c1` means the node `c1` even if `c1` is also swept, when its value is not a node.
    """
    ends = {"from": trip.server, "to": trip.client}
    for setting in flow.settings.items:
        key, value = setting.key.text, setting.value
        bare = isinstance(value, syntax.Name) and not value.rest and not value.index
        if key in ends and ends[key] not in hosts and bare and value.span.text in hosts:
            ends[key] = value.span.text
    if (ends["from"], ends["to"]) == (trip.server, trip.client):
        return trip
    return replace(trip, server=ends["from"], client=ends["to"])


def check_ends(
    flow: syntax.Flow, built: model.Flow, network: model.Network, hosts: Collection[str]
) -> None:
    """Raise CompileError unless the ends of a flow are two different hosts of the network."""
    gather = Gather()
    for key, default, name in (("from", "server", built.server), ("to", "client", built.client)):
        setting = next((s for s in flow.settings.items if s.key.text == key), None)
        span = setting.value.span if setting else flow.name.span
        with gather.attempt():
            if name in hosts:
                continue
            router = any(node.name == name for node in network.nodes)
            if setting is None:
                fail(
                    "missing-key",
                    f"the flow `{built.name}` needs `{key}`: this topology has no node "
                    f"called `{default}`",
                    span,
                    help=f"nodes: {listed(sorted(hosts))}",
                )
            fail(
                "unknown-node",
                f"`{name}` is a router; flows start and end at nodes"
                if router
                else f"this topology has no node called `{name}`",
                span,
                help=f"nodes: {listed(sorted(hosts))}",
            )
    routers = {node.name for node in network.nodes} - set(hosts)
    if built.via is not None and built.via not in routers:
        with gather.attempt():
            host = built.via in hosts
            fail(
                "unknown-node",
                f"`{built.via}` is a host, which forwards nothing"
                if host
                else f"this topology has no router called `{built.via}`",
                built.way_given,
                help=f"routers: {listed(sorted(routers))}",
            )
    if built.server == built.client and not gather.found:
        with gather.attempt():
            fail(
                "same-ends",
                f"the flow `{built.name}` goes from `{built.server}` to itself",
                flow.name.span,
                note="traffic inside a host takes no time: a virtual clock would stand still",
                help="data that never leaves a host measures no network: give it another `to`",
            )
    gather.finish()

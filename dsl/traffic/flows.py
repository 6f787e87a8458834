"""A flow block to a flow: every key evaluated, checked, and refused where it cannot run yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairc.dsl import model
from fairc.dsl.blocks import Block
from fairc.dsl.core.diagnostics import Diagnostic, Label
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Applied, Quantity, Symbol, Value
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.text import syntax
from fairc.words.blocks import flow as keys

from .images import check_image
from .iperf3 import check_iperf3
from .loads import INITIAL_WINDOW_PACKETS, check_load, control_of_load, remark
from .transports import check_workload, control_of, options_of
from .workloads import random_start, workload_of


def build_flow(
    flow: syntax.Flow,
    scope: Scope,
    hosts: Mapping[str, Value | None] | None = None,
    report: Callable[[Diagnostic], None] = lambda _: None,
) -> model.Flow:
    """Return the flow with every name resolved.

    hosts: the values of the `hosts` block. report: takes warnings. Raises CompileError with
    everything wrong in it, `not-yet` included.
    """
    block = Block(flow.name.span, flow.settings.items, keys.FLOW, "a flow")
    gather = Gather()
    with gather.attempt():
        block.checked()
    settings = block.read(scope, gather)
    values: dict[str, Value | None] = {**settings.values}
    workload, made, window = values.get("workload"), None, None
    if workload is not None:
        with gather.attempt():
            made, window = workload_of(workload)
    load = made if isinstance(made, model.Load) else None
    is_load = isinstance(workload, Symbol | Applied) and workload.name == "load"
    control, quic = None, None
    if not {"over", "cca"} & (block.settings.keys() - values.keys()):
        with gather.attempt():
            if load is not None:
                control, quic = control_of_load(load, values.get("cca"), flow.name.span)
            elif not is_load:
                control = control_of(values.get("over"), values.get("cca"), flow.name.span)
    if load is not None:
        with gather.attempt():
            check_load(load, values, {name: s.span for name, s in block.settings.items()})
    if window is not None:
        with gather.attempt():
            _check_window(values.get("window"), window)
            values["window"] = window
    if control is not None and control.image is not None and workload is not None:
        with gather.attempt():
            check_image(workload, block, values.get("count"))
    options = None
    if control is not None:
        with gather.attempt():
            default = INITIAL_WINDOW_PACKETS if load else 10
            options = options_of(control, values, hosts or {}, default)
        if workload is not None:
            with gather.attempt():
                check_workload(control, workload, values.get("rate"), flow.name.span)
        if isinstance(made, model.Iperf3) and options is not None:
            with gather.attempt():
                places = {name: setting.span for name, setting in block.settings.items()}
                check_iperf3(made, control, options, values, places, flow.name.span)
    with gather.attempt():
        _check_order(flow, values.get("start"), values.get("stop"))
    gather.finish()
    assert control is not None and made is not None and options is not None
    if load is not None and workload is not None:
        remark(load, workload, report)
    count, start, stop = values.get("count"), values.get("start"), values.get("stop")
    rate, rtt = values.get("rate"), values.get("rtt")
    users = settings.given(keys.USERS)
    return model.Flow(
        name=flow.name.text,
        server=settings[keys.FROM].name,
        client=settings[keys.TO].name,
        connections=int(count.number) if isinstance(count, Quantity) else 1,
        cca=control.cca,
        workload=made,
        start_ns=start.ns if isinstance(start, Quantity) else None,
        stop_ns=stop.ns if isinstance(stop, Quantity) else None,
        span=flow.name.span,
        random_start=random_start(start),
        declared=flow.name.text,
        users=users.name if users else None,
        transport=control.transport,
        cca_parameters=control.parameters,
        own_cca=control.own,
        options=options,
        rate_bps=max(1, round(rate.number)) if isinstance(rate, Quantity) else None,
        extra_rtt_ns=rtt.ns if isinstance(rtt, Quantity) else 0,
        quic_parameters=quic or {},
        image=control.image,
        ecn_given=_span_of(values.get("ecn") or (hosts or {}).get("ecn")),
    )


def _span_of(value: Value | None) -> Span | None:
    return value.span if value is not None else None


def _check_window(key: Value | None, argument: Value) -> None:
    """Refuse a receive window that is given by both ways of writing it."""
    if key is not None:
        fail(
            "duplicate-key",
            "the receive window is given twice",
            key.span,
            labels=(Label(argument.span, "given here, too"),),
            help="keep one of them",
        )


def _check_order(flow: syntax.Flow, start: object, stop: object) -> None:
    if isinstance(stop, Quantity):
        begin = start.number if isinstance(start, Quantity) else 0
        if stop.number <= begin:
            fail(
                "out-of-range",
                f"the flow `{flow.name.text}` stops before it starts",
                stop.span,
                note=f"this is {stop.canonical}",
                help="`stop` is counted from the cell's begin, like `start`",
            )


def check_ends(flow: syntax.Flow, made: model.Flow, network: model.Network) -> None:
    """Raise CompileError unless both ends of a flow are different hosts of the network."""
    gather = Gather()
    hosts = {node.name for node in network.nodes if node.kind == "host"}
    for key, default, name in (("from", "server", made.server), ("to", "client", made.client)):
        setting = next((s for s in flow.settings.items if s.key.text == key), None)
        span = setting.value.span if setting else flow.name.span
        with gather.attempt():
            if name in hosts:
                continue
            router = any(node.name == name for node in network.nodes)
            if setting is None:
                fail(
                    "missing-key",
                    f"the flow `{flow.name.text}` needs `{key}`: this topology has no node "
                    f"called `{default}`",
                    span,
                    help=f"nodes: {', '.join(sorted(hosts))}",
                )
            fail(
                "unknown-node",
                f"`{name}` is a router, and flows begin and end at nodes"
                if router
                else f"no node is called `{name}` in this topology",
                span,
                help=f"nodes: {', '.join(sorted(hosts))}",
            )
    if made.server == made.client and not gather.found:
        with gather.attempt():
            fail(
                "same-ends",
                f"the flow `{flow.name.text}` goes from `{made.server}` to itself",
                flow.name.span,
                note="inside a host nothing takes time: a clock in virtual time would stand still",
                help="data that never leaves a host measures no network: give it another `to`",
            )
    gather.finish()

"""A flow block to a flow: every key evaluated, checked, and refused where it cannot run yet."""

from __future__ import annotations

from . import model, syntax
from .entries import bind
from .evaluate import Scope
from .keys import FLOW, Block
from .networks import nanoseconds
from .problems import Gather, fail
from .random_words import DISTRIBUTIONS
from .traffic_words import CCAS, WORKLOADS
from .values import Applied, Quantity, Symbol, Value


def build_flow(flow: syntax.Flow, scope: Scope) -> model.Flow:
    """Return the flow with every name resolved.

    Raises CompileError with everything wrong in it, `not-yet` included.
    """
    block = Block(flow.name.span, flow.settings.items, FLOW, "a flow")
    gather = Gather()
    with gather.attempt():
        block.checked()
    values = {}
    for name in block.settings:
        with gather.attempt():
            values[name] = block.value(name, scope)
    if "cca" not in block.settings and _is_tcp(block):
        with gather.attempt():
            fail(
                "missing-key",
                "a flow over TCP needs `cca`",
                flow.name.span,
                note="`cca` is missing",
                help=f"known: {', '.join(CCAS.names())}",
            )
    with gather.attempt():
        _check_order(flow, values.get("start"), values.get("stop"))
    gather.finish()
    count, start, stop = values.get("count"), values.get("start"), values.get("stop")
    cca, workload = values["cca"], values["workload"]
    assert cca is not None and workload is not None
    return model.Flow(
        name=flow.name.text,
        server=block.word("from", scope, "server"),
        client=block.word("to", scope, "client"),
        connections=int(count.number) if isinstance(count, Quantity) else 1,
        cca=bind(CCAS, cca, "`cca`").entry.name,
        workload=_workload(workload),
        start_ns=nanoseconds(start) if isinstance(start, Quantity) else None,
        stop_ns=nanoseconds(stop) if isinstance(stop, Quantity) else None,
        span=flow.name.span,
        random_start=_distribution(start),
        declared=flow.name.text,
        users=block.word("users", scope, "") or None,
    )


def _distribution(start: Value | None) -> model.Distribution | None:
    """Return the distribution that a start is drawn from, if it is one."""
    if not isinstance(start, Symbol | Applied):
        return None
    use = bind(DISTRIBUTIONS, start, "`start`")
    given = use.arguments.items()
    numbers = {name: value.number for name, value in given if isinstance(value, Quantity)}
    return model.Distribution(use.entry.name, numbers)


def _is_tcp(block: Block) -> bool:
    over = block.settings.get("over")
    return over is None or (isinstance(over.value, syntax.Name) and over.value.text == "tcp")


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


def _workload(value: object) -> model.File | model.Bulk:
    use = bind(WORKLOADS, value, "`workload`")  # type: ignore[arg-type]
    size = use.arguments.get("size")
    if isinstance(size, Quantity):
        number = size.number / 8
        if number < 1:
            fail("out-of-range", "a file has at least one byte", size.span)
        return model.File(round(number))
    return model.Bulk()


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
            )
    gather.finish()
